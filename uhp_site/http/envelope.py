"""Turns every failure under /v1/ into the one error envelope; the only place that builds it for an answer."""

from __future__ import annotations

import uuid
from typing import Any

import structlog
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.settings import api_settings

from . import errors

# As DRF writes it, so that the same refusal has the same bytes wherever it was decided.
COMPACT = {"separators": (",", ":"), "ensure_ascii": False}

log = structlog.get_logger(__name__)


def respond(error: errors.UHPError) -> JsonResponse:
    """Answer with an error's envelope, for code that stands outside DRF."""
    response = JsonResponse(error.body(), status=error.status, json_dumps_params=COMPACT)
    if isinstance(error, errors.MissingCredential | errors.InvalidCredential):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def handle(exception: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: fold whatever was raised into the envelope. Nothing is re-raised."""
    error = fold(exception)
    if error.status >= 500 and not isinstance(exception, errors.UHPError):
        error = unexpected(exception)
    response = Response(error.body(), status=error.status)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def unexpected(exception: BaseException | None) -> errors.ServerError:
    """Log a failure nobody foresaw under a correlation id, and give back only that id."""
    correlation = uuid.uuid4().hex
    log.error("unexpected_failure", correlation_id=correlation, exc_info=exception)
    return errors.ServerError(detail={"correlation_id": correlation})


def fold(exception: Exception) -> errors.UHPError:
    """The protocol's error for an exception of ours, of DRF or of Django."""
    match exception:
        case errors.UHPError():
            return exception
        case exceptions.ValidationError():
            param, message = first_problem(exception.detail)
            return errors.MemoryInvalid(message, param=param)
        case exceptions.ParseError():
            return errors.InvalidInput()
        case exceptions.NotAuthenticated():
            return errors.MissingCredential()
        case exceptions.AuthenticationFailed():
            return errors.InvalidCredential()
        case exceptions.MethodNotAllowed():
            return errors.MethodNotAllowed()
        case Http404() | exceptions.NotFound():
            return errors.RouteNotFound()
        case RequestDataTooBig():
            return errors.FileTooLarge()
        case SuspiciousOperation():
            return errors.InvalidInput("The request could not be read.")
        case _:
            return errors.ServerError()


def first_problem(detail: Any, path: tuple[str, ...] = ()) -> tuple[str | None, str]:
    """The first problem in a serializer's errors, as a dotted path (`content.1.text`) and one sentence."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            if value:
                step = () if key == api_settings.NON_FIELD_ERRORS_KEY else (str(key),)
                return first_problem(value, (*path, *step))
    if isinstance(detail, list):
        for index, value in enumerate(detail):
            if isinstance(value, dict | list) and value:
                return first_problem(value, (*path, str(index)))
            if value and not isinstance(value, dict | list):
                return ".".join(path) or None, str(value)
    return ".".join(path) or None, str(detail) or "The value is not valid."


@csrf_exempt
def not_found(request: HttpRequest) -> JsonResponse:
    """An address under /v1 that no route matches."""
    return respond(errors.RouteNotFound())


def server_error(exception: BaseException | None = None) -> JsonResponse:
    """A failure outside DRF under /v1."""
    return respond(unexpected(exception))
