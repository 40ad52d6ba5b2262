"""POST /mcp: Streamable HTTP without sessions. Every request brings its credential, and any worker can answer it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from members.authentication import BearerAuthentication
from members.callers import Caller
from uhp_site.http.envelope import fold, respond, server_error
from uhp_site.http.errors import InvalidInput, MethodNotAllowed, UHPError

from .server import build

Message = MutableMapping[str, Any]

# It says when each exchange begins and ends; the log has a line for each request already.
logging.getLogger("mcp").setLevel(logging.WARNING)


class ForeignOrigin(UHPError):
    """A page of another site may not call this server."""

    status = 403
    code = "heartwood_foreign_origin"


@csrf_exempt
def mcp(request: HttpRequest) -> HttpResponse:
    """One message of an MCP client, and its answer. There are no sessions to open by GET or to end by DELETE."""
    try:
        require_own_site(request)
        if request.method != "POST":
            refusal = respond(MethodNotAllowed("Messages are sent by POST; there are no sessions here."))
            refusal.headers["Allow"] = "POST"
            return refusal
        caller, _ = BearerAuthentication().authenticate(request)  # type: ignore[arg-type]
        body = request.body
    except (UHPError, RequestDataTooBig) as refused:
        return respond(fold(refused))
    except UnreadablePostError:
        return respond(InvalidInput("The request ended early."))
    try:
        return asyncio.run(exchange(caller, request, body))
    except Exception as failure:
        return server_error(failure)


def require_own_site(request: HttpRequest) -> None:
    """Raise for a Host that is not this server's, and for an Origin that is neither it nor trusted."""
    try:
        host = request.get_host()
    except DisallowedHost:
        raise InvalidInput("This server has another name.") from None
    origin = request.headers.get("Origin")
    if origin is None or origin in settings.CSRF_TRUSTED_ORIGINS:
        return
    try:
        own = urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        own = False
    if not own:
        raise ForeignOrigin()


async def exchange(caller: Caller, request: HttpRequest, body: bytes) -> HttpResponse:
    """Hand one request to the SDK's transport, which knows the rules of every version of MCP, and take its answer."""
    incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    status, headers, pieces = 500, [], list[bytes]()

    async def receive() -> Message:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = int(message["status"]), message["headers"]
        else:
            pieces.append(message.get("body", b""))

    manager = StreamableHTTPSessionManager(
        build(caller, request),
        json_response=True,
        stateless=True,
        # One limit for all bodies, which Django has enforced.
        max_request_body_size=max(len(body), 1),
    )
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": request.scheme or "http",
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "headers": [
            (name.lower().encode(), value.encode("latin-1", "replace")) for name, value in request.headers.items()
        ],
    }
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    response = HttpResponse(b"".join(pieces), status=status)
    del response.headers["Content-Type"]
    for name, value in headers:
        response.headers[name.decode("latin-1")] = value.decode("latin-1")
    return response
