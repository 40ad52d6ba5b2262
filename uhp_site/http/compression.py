"""Pages go out compressed, unless they could tell a secret by their length."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

PAGES = "/console/"


class PageCompressionMiddleware(GZipMiddleware):
    """Compress the HTML under `/console/` that answers a GET.

    Whoever can have a page asked for again and again with words of their own in it, and sees how long it is, could
    guess at what else it says (BREACH). What is secret in such a page is the token of its forms, which is masked anew
    each time; Django adds a random length beside. Keys and invitations are shown once, in the answer to a POST, and
    what an account shows of its second factor is under `/accounts/`: none of that is compressed, nor is /v1/.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress, or hand on as it is."""
        page = response.headers.get("Content-Type", "").startswith("text/html") and not response.streaming
        if request.method != "GET" or not page or not request.path_info.startswith(PAGES):
            return response
        return super().process_response(request, response)
