"""Two mounts, /v1/ (no trailing slashes) and /console/, beside sign-in and health; and who answers a failure."""

from __future__ import annotations

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularJSONAPIView

from harnesses import urls as harnesses_urls
from members import urls as members_urls
from members.console import home
from memories import urls as memories_urls

from .discovery import Discovery
from .health import healthz, readyz
from .http import envelope, pages
from .http.version import is_protocol_path
from .styleguide import styleguide

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("v1/uhp", Discovery.as_view(), name="discovery"),
    path("v1/schema", SpectacularJSONAPIView.as_view(), name="schema"),
    path("v1/", include(memories_urls.api)),
    path("v1/", include(harnesses_urls.api)),
    re_path(r"^v1(?:/|$)", envelope.not_found),
    *harnesses_urls.door,
    path("", home, name="home"),
    path("accounts/", include("allauth.urls")),
    path("console/styleguide", styleguide, name="styleguide"),
    path("console/", include(([*members_urls.pages, *memories_urls.pages, *harnesses_urls.pages], "console"))),
]


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """An address that nothing answers."""
    return envelope.not_found(request) if is_protocol_path(request.path_info) else pages.not_found(request)


def handler500(request: HttpRequest, **_: Any) -> HttpResponse:
    """A failure nobody foresaw."""
    if is_protocol_path(request.path_info):
        return envelope.server_error(sys.exc_info()[1])
    return pages.server_error(request)


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that Django itself refuses."""
    if is_protocol_path(request.path_info):
        return envelope.respond(envelope.fold(exception))
    return pages.bad_request(request)
