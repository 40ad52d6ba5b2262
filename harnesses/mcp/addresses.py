"""Asking an address of the protocol from inside, as a caller that is already known.

A tool is a request of the protocol under another name: the endpoint that answers the one answers the other, so that
sight, privilege, validation, idempotency and shape cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.urls import resolve
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from members.callers import Caller
from uhp_site.http.errors import UHPError


@dataclass(frozen=True)
class Asked:
    """A request of the protocol: the steps of its path below /v1, and what goes with it."""

    method: str
    steps: tuple[str, ...]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    key: str | None = None

    @property
    def path(self) -> str:
        """The path as routes see it: a slash inside an id is no step."""
        return "/".join(["/v1", *(step.replace("/", "%2F") for step in self.steps)])


@dataclass(frozen=True)
class Answered:
    """What the endpoint said: JSON, as data."""

    status: int
    body: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300


class Known(BaseAuthentication):
    """The caller of the outer request, whose credential was accepted a moment ago."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        """Give the caller back."""
        return self.caller, None


def ask(
    caller: Caller, outer: HttpRequest, asked: Asked, *, instead: Mapping[type, type] | None = None, **given: Any
) -> Answered:
    """Ask, and get the answer or the refusal. Nothing is raised for what a client can cause.

    With `instead`, what stands there for an endpoint answers for it, and gets what is `given`; no other endpoint does.
    """
    raw = b"" if asked.body is None else json.dumps(asked.body).encode()
    environ: dict[str, Any] = {
        "REQUEST_METHOD": asked.method,
        "QUERY_STRING": urlencode(asked.query),
        "CONTENT_LENGTH": str(len(raw)),
        "CONTENT_TYPE": "application/json",
        "wsgi.input": BytesIO(raw),
        **{name: outer.META[name] for name in ("REMOTE_ADDR", "SERVER_NAME", "SERVER_PORT") if name in outer.META},
    }
    if asked.key is not None:
        environ["HTTP_IDEMPOTENCY_KEY"] = asked.key
    request = WSGIRequest(environ)
    # Not by PATH_INFO: a server's environment has its bytes in another encoding.
    request.path = request.path_info = asked.path
    found = resolve(asked.path)
    endpoint: Any = found.func
    answering: Any = endpoint.cls if instead is None else instead[endpoint.cls]
    view = answering.as_view(**endpoint.initkwargs, **given, authentication_classes=[partial(Known, caller)])
    response = view(request, **found.kwargs)
    assert isinstance(response, Response)
    return Answered(response.status_code, response.data)


def refused(error: UHPError) -> Answered:
    """A refusal that comes before any endpoint, in the same envelope."""
    return Answered(error.status, error.body())
