"""Version negotiation (Lifecycle §1): the outermost middleware, so that every answer under /v1 carries the header."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from .envelope import respond
from .errors import UnsupportedVersion

HEADER = "UHP-Version"
VERSIONS = ("2026-10-19", "2026-10-04")
DEFAULT_VERSION = VERSIONS[0]


def is_protocol_path(path: str) -> bool:
    """Whether a path belongs to the protocol's surface, where the envelope and the version header are owed."""
    return path == "/v1" or path.startswith("/v1/")


class VersionMiddleware:
    """Refuse versions this server does not speak, never substitute one, and stamp the version used."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_protocol_path(request.path_info):
            return self.get_response(request)
        asked = request.headers.get(HEADER, "").strip()
        if asked and asked not in VERSIONS:
            refusal = UnsupportedVersion(param=HEADER, detail={"supported": list(VERSIONS)})
            response: HttpResponse = respond(refusal)
            used = DEFAULT_VERSION
        else:
            response = self.get_response(request)
            used = asked or DEFAULT_VERSION
        response.headers[HEADER] = used
        return response
