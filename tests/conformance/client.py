"""A small HTTP client that holds every answer to the rules all answers share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

import httpx

from .schemas import validate

JSON = dict[str, Any]
Files = Mapping[str, tuple[str, bytes, str]]

TIMEOUT_SECONDS = 300.0
# What a message for a person never contains: a stack, or a path on the server.
INTERNALS = re.compile(r'Traceback|File "/|\n {2}at |\nFile|site-packages')


class NoBody:
    """The body of a request that has none; None is the JSON value null."""


NO_BODY = NoBody()


@dataclass(frozen=True)
class Reply:
    """One answer, already held to the common rules."""

    request: str
    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode(errors="replace")

    @property
    def body(self) -> JSON:
        """The body as a JSON object; raises AssertionError when it is none."""
        try:
            value = json.loads(self.content)
        except ValueError:
            raise AssertionError(f"{self.request} answered {self.status} without JSON: {self.text[:300]!r}") from None
        assert isinstance(value, dict), f"{self.request} answered JSON that is not an object: {self.text[:300]}"
        return value

    @property
    def data(self) -> list[JSON]:
        """The items of a list answer."""
        items: list[JSON] = self.body["data"]
        return items

    @property
    def code(self) -> str:
        """The error code, or the empty string for an answer that is no error."""
        return str(self.body["error"]["code"]) if self.status >= 400 else ""

    @property
    def param(self) -> str | None:
        """The field that the error names."""
        param: str | None = self.body["error"]["param"]
        return param

    def valid(self, name: str) -> JSON:
        """The body, after checking that it is the named object."""
        validate(name, self.body)
        return self.body

    def __str__(self) -> str:
        return f"{self.request} -> {self.status} {self.text[:600]}"


class Client:
    """One caller of one server; without a key, a caller nobody knows.

    Paths go out exactly as written (nothing is normalised), so callers quote what they put into one with `path`.
    """

    def __init__(self, base_url: str, key: str | None = None, *, name: str = "caller", principal: str = "") -> None:
        root = urlsplit(base_url.rstrip("/"))
        self.base_url = base_url
        self.key = key
        self.name = name
        self.principal = principal
        self._origin = f"{root.scheme}://{root.netloc}/"
        self._prefix = root.path
        # No proxy, no cookie jar left over from the environment, no redirect followed.
        self._http = httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False, follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        body: object = NO_BODY,
        raw: bytes | None = None,
        files: Files | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str | None] | None = None,
        expect: int | None = None,
    ) -> Reply:
        """Send one request and check its answer; `expect` is the one status that is right here.

        `body` becomes JSON, `raw` goes out as it is (both as application/json). A header of None is not sent at all.
        """
        sent: dict[str, str | None] = {"Accept": "application/json"}
        if self.key is not None:
            sent["Authorization"] = f"Bearer {self.key}"
        if not isinstance(body, NoBody):
            raw = json.dumps(body).encode()
        if raw is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        target = self._prefix + path + (f"?{urlencode(params)}" if params else "")
        request = self._http.build_request(
            method,
            self._origin,
            headers={name: value for name, value in sent.items() if value is not None},
            content=raw,
            files=dict(files) if files else None,
            extensions={"target": target.encode("ascii")},
        )
        if "Accept" in sent and sent["Accept"] is None:
            del request.headers["Accept"]
        response = self._http.send(request)
        reply = Reply(f"{self.name}: {method} {path}", response.status_code, response.headers, response.content)
        check(reply, self.key)
        if expect is not None:
            assert reply.status == expect, f"expected {expect}: {reply}"
        return reply

    def get(self, path: str, *, expect: int | None = 200, **params: str) -> Reply:
        """GET with query parameters."""
        return self.send("GET", path, params=params, expect=expect)

    def post(self, path: str, body: object = NO_BODY, *, expect: int | None = 200) -> Reply:
        """POST a JSON body."""
        return self.send("POST", path, body=body, expect=expect)

    def put(self, path: str, body: object, *, expect: int | None = 200) -> Reply:
        """PUT a JSON body."""
        return self.send("PUT", path, body=body, expect=expect)

    def patch(self, path: str, body: object, *, expect: int | None = 200) -> Reply:
        """PATCH with a JSON body."""
        return self.send("PATCH", path, body=body, expect=expect)

    def delete(self, path: str, *, expect: int | None = 200) -> Reply:
        """DELETE."""
        return self.send("DELETE", path, expect=expect)

    def pages(self, path: str, name: str, **params: str) -> Iterator[JSON]:
        """Every item of a list answer, following `next` to the end."""
        while True:
            page = self.send("GET", path, params=params, expect=200).valid(name)
            yield from page["data"]
            if not page.get("next"):
                return
            params = {**params, "cursor": page["next"]}


def check(reply: Reply, key: str | None) -> None:
    """What is true of every answer, whatever was asked; raises AssertionError when it is not."""
    version = reply.headers.get("UHP-Version", "")
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", version), f"UHP-Version is {version!r}: {reply}"
    assert reply.status < 500, f"the server failed: {reply}"
    assert not 300 <= reply.status < 400, f"a redirect to {reply.headers.get('Location')!r}: {reply}"
    assert reply.status not in {201, 204}, f"creates and deletes answer 200 with a body: {reply}"
    assert reply.status != 406, f"content negotiation refused the request: {reply}"
    assert not key or key not in reply.text, f"the answer to {reply.request} contains the credential"
    if reply.status < 400:
        return
    assert reply.headers.get("Content-Type", "").startswith("application/json"), f"an error that is not JSON: {reply}"
    error = reply.valid("Error")["error"]
    assert error["type"] == type_of(reply.status), f"the wrong error type for its status: {reply}"
    assert not INTERNALS.search(error["message"]), f"the message shows the server's inside: {reply}"


def type_of(status: int) -> str:
    """The error type that belongs to an HTTP status."""
    known = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    return known.get(status, "server_error" if status >= 500 else "invalid_request_error")


def path(*segments: str) -> str:
    """A path under /v1/memories with every segment quoted, a slash inside one included."""
    return "/".join(["/v1/memories", *(quote(segment, safe="") for segment in segments)])
