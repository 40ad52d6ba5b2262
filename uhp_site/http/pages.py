"""Answering people: a page or one of its fragments, a status message, and the pages for failures."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails


class HtmxRequest(HttpRequest):
    """A request that went through the htmx middleware."""

    htmx: HtmxDetails


def answer(
    request: HttpRequest, template: str, context: dict[str, Any], *, fragment: str | None = None, status: int = 200
) -> HttpResponse:
    """Render a page, or for htmx the one fragment of it; the server picks which, never the client."""
    htmx = getattr(request, "htmx", None)
    partial = fragment and htmx and not htmx.boosted and not htmx.history_restore_request
    response = render(request, f"{template}#{fragment}" if partial else template, context, status=status)
    if fragment:
        patch_vary_headers(response, ["HX-Request"])
    return response


def _failure(request: HttpRequest, status: int, title: str, message: str) -> HttpResponse:
    return render(request, "error.html", {"status": status, "title": title, "message": message}, status=status)


def not_found(request: HttpRequest) -> HttpResponse:
    """The page for an address that is not there, or not there for this person."""
    return _failure(request, 404, "Not found", "There is nothing here, or nothing that you may see.")


def forbidden(request: HttpRequest, message: str) -> HttpResponse:
    """The page for something a person may see but not do."""
    return _failure(request, 403, "Not allowed", message)


def bad_request(request: HttpRequest) -> HttpResponse:
    """The page for a request that could not be read."""
    return _failure(request, 400, "That did not work", "The request could not be read. Go back and try again.")


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for a failure nobody foresaw; it asks nothing of the database."""
    return HttpResponse(
        "<!doctype html><meta charset='utf-8'><title>Something went wrong</title>"
        "<h1>Something went wrong</h1><p>The failure was logged. Go back and try again.</p>",
        status=500,
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form whose protection token is missing or old."""
    return forbidden(request, "This form was open too long, or cookies are blocked. Go back, reload, and try again.")
