"""Ids that hold a slash: an encoded one stays part of its segment instead of becoming a step of the path."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from django.http import HttpRequest, HttpResponse

from .version import is_protocol_path


class EncodedSlashMiddleware:
    """Route /v1/ by the path as it was sent: servers hand on a decoded one, in which `a%2Fb` is two segments."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = str(request.META.get("RAW_URI", "")).partition("?")[0]
        if "%2f" in sent.lower() and is_protocol_path(request.path_info):
            request.path_info = request.path = keep_slashes(sent)
        return self.get_response(request)


def keep_slashes(path: str) -> str:
    """Decode a path segment by segment; a slash inside one stays written as `%2F`."""
    return "/".join(unquote(segment).replace("/", "%2F") for segment in path.split("/"))
