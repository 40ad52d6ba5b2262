"""The MCP servers of a harness: where they are, and the secrets that go with them. Pure (Harnesses §3.4)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from uhp_site.http.fields import MISSING, Missing
from uhp_site.http.text import flaw

from .errors import HarnessInvalid, UnsupportedTransport

TRANSPORTS = ("http", "sse")
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9_-])?")
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,120}")
LONGEST_URL = 2_000
LONGEST_SECRET = 8_000
MOST_SERVERS = 100
MOST_HEADERS = 50


@dataclass(frozen=True)
class RemoteDraft:
    """A server as written. `auth` and `headers` are MISSING when they were not sent: then those that are kept stay."""

    name: str
    url: str
    transport: str = "http"
    enabled: bool = True
    auth: str | Missing = field(default=MISSING, repr=False)
    headers: dict[str, str] | Missing = field(default=MISSING, repr=False)

    @property
    def origin(self) -> tuple[str, str, int | None]:
        """Who is on the other end."""
        return origin(self.url)


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of an address."""
    parts = urlsplit(url)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port


def read_servers(value: Any, at: str = "mcp_servers") -> tuple[RemoteDraft, ...]:
    """The servers of a harness. Raises HarnessInvalid and UnsupportedTransport, naming the place."""
    if not isinstance(value, list) or len(value) > MOST_SERVERS:
        raise HarnessInvalid(f"This must be a list of at most {MOST_SERVERS} servers.", param=at)
    drafts = tuple(_server(one, f"{at}.{index}") for index, one in enumerate(value))
    if len({draft.name for draft in drafts}) < len(drafts):
        raise HarnessInvalid("Two servers of one harness have different names.", param=at)
    return drafts


def _server(value: Any, at: str) -> RemoteDraft:
    if not isinstance(value, dict):
        raise HarnessInvalid("A server is an object.", param=at)
    name, transport, enabled = value.get("name"), value.get("transport") or "http", value.get("enabled")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise HarnessInvalid(
            "A server's name has 1 to 64 letters, digits, spaces, dots, dashes and underscores.", param=f"{at}.name"
        )
    if transport not in TRANSPORTS:
        raise UnsupportedTransport(param=f"{at}.transport", detail={"transport": str(transport)[:80]})
    enabled = True if enabled is None else enabled
    if not isinstance(enabled, bool):
        raise HarnessInvalid("This must be true or false.", param=f"{at}.enabled")
    return RemoteDraft(
        name=name,
        url=_url(value.get("url"), f"{at}.url"),
        transport=str(transport),
        enabled=enabled,
        auth=_auth(value.get("auth", MISSING), f"{at}.auth"),
        headers=_headers(value.get("headers", MISSING), f"{at}.headers"),
    )


def _url(value: Any, at: str) -> str:
    problem = HarnessInvalid(
        f"This must be an http or https address of at most {LONGEST_URL} characters, without a user and a fragment.",
        param=at,
    )
    if not isinstance(value, str) or len(value) > LONGEST_URL or not value.isprintable() or " " in value:
        raise problem
    try:
        parts: SplitResult = urlsplit(value)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        raise problem from None
    plain = parts.username is None and parts.password is None and not parts.fragment
    if parts.scheme.lower() not in {"http", "https"} or not parts.hostname or not plain or not port_is_one:
        raise problem
    return value


def _auth(value: Any, at: str) -> str | Missing:
    if isinstance(value, Missing):
        return value
    return "" if value is None else _secret(value, at)


def _headers(value: Any, at: str) -> dict[str, str] | Missing:
    if isinstance(value, Missing):
        return value
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MOST_HEADERS:
        raise HarnessInvalid(f"This must be an object of at most {MOST_HEADERS} headers.", param=at)
    for name in value:
        if not HEADER.fullmatch(name):
            raise HarnessInvalid("A name of a header is letters, digits and dashes.", param=at)
    return {name: _secret(one, f"{at}.{name}") for name, one in value.items()}


def _secret(value: Any, at: str) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_SECRET or flaw(value) or "\n" in value or "\r" in value:
        raise HarnessInvalid(f"This must be one line of at most {LONGEST_SECRET} characters.", param=at)
    return value
