"""The base endpoint: authenticate first, then whatever a subclass looks at before it reads a body (Memories §4.5).

Every write takes an Idempotency-Key (Memories §4.19), here and not in the endpoints, so that none can forget it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from .errors import MemoryInvalid, UHPError
from .fields import Fields

# Called with the caller, the request and what does it; a string, because who calls is known one floor up.
ONCE = "members.idempotency.once"
KEY = "Idempotency-Key"
LONGEST_KEY = 255
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True)
class Begun:
    """What a handler began and `resume` brings to an end, after commit, and again when the request is repeated."""

    body: dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A write as its key knows it; `record_ids` are those in the address."""

    method: str
    path: str
    key: str
    record_ids: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What a write answers: JSON with a status, or what was begun; `repeated` when it was not done now."""

    status: int
    body: dict[str, Any]
    begun: bool = False
    repeated: bool = False
    request_digest: bytes | None = None


class Endpoint(APIView):
    """An address of the protocol. Handlers return what the answer's JSON is; every success is 200 with a body.

    A handler whose work cannot be one transaction returns Begun. `asks_only` is for what is asked by POST and changes
    nothing. `gone`, set by `initial`, lets only a kept answer through: the address was removed.
    """

    asks_only: ClassVar[bool] = False
    gone: UHPError | None = None
    sent: dict[str, Any] | None = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Like APIView's, with what a key asks for around the handler."""
        self.args, self.kwargs = args, kwargs
        self.request = asked = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            self.initial(asked, *args, **kwargs)
            method = str(asked.method).lower()
            known = method in self.http_method_names
            handler = getattr(self, method, self.http_method_not_allowed) if known else self.http_method_not_allowed
            response = self.answer(asked, handler)
        except Exception as failure:
            response = self.handle_exception(failure)
        self.response = self.finalize_response(asked, response, *args, **kwargs)
        return self.response

    def answer(self, request: Request, handler: Callable[..., Any]) -> Any:
        """Do what is asked, once for each key."""
        key = None if self.asks_only or request.method not in WRITES else read_key(request)
        if key is None:
            if self.gone:
                raise self.gone
            response = handler(request, *self.args, **self.kwargs)
            return self.resume(response.body) if isinstance(response, Begun) else response
        record_ids = (str(self.kwargs["record_id"]),) if "record_id" in self.kwargs else ()
        asked = Asked(str(request.method), request.path, key, record_ids)

        def act() -> Outcome:
            response = handler(request, *self.args, **self.kwargs)
            digest = hashlib.sha256(json.dumps(self.sent, sort_keys=True).encode()).digest() if self.sent else None
            if isinstance(response, Begun):
                return Outcome(200, response.body, begun=True, request_digest=digest)
            if isinstance(response, Response):
                return Outcome(response.status_code, response.data, request_digest=digest)
            return Outcome(200, response, request_digest=digest)

        outcome: Outcome = import_string(ONCE)(request.user, asked, act, self.gone)
        response = self.resume(outcome.body) if outcome.begun else Response(outcome.body, status=outcome.status)
        if outcome.repeated:
            response = response if isinstance(response, Response) else Response(response)
            response["Idempotent-Replayed"] = "true"
        return response

    def resume(self, begun: dict[str, Any]) -> Any:
        """The answer to something begun, once it is finished; for handlers that return Begun."""
        raise NotImplementedError

    def query(self, request: Request) -> Fields:
        """The query string, read like a body."""
        return Fields(request.query_params.dict())

    def body(self, request: Request) -> Fields:
        """The JSON object that was sent. Raises InvalidInput for anything else."""
        data = request.data
        assert isinstance(data, dict)
        self.sent = data
        return Fields(data)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        if isinstance(response, dict):
            response = Response(response)
        return super().finalize_response(request, response, *args, **kwargs)


def read_key(request: Request) -> str | None:
    """The Idempotency-Key, or None without one. Raises MemoryInvalid for a blank or long one."""
    key = request.headers.get(KEY)
    if key is None:
        return None
    if not key.strip() or len(key) > LONGEST_KEY:
        raise MemoryInvalid(f"A key has 1 to {LONGEST_KEY} characters.", param=KEY)
    return key
