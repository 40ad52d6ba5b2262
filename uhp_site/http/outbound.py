"""Asking a server that somebody else named: never one inside our own network, never for long, and never for much.

A name is resolved once, and what is connected to is the very address that was looked at; TLS still checks the name.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import httpcore
import httpx

LONGEST_URL = 2_000
CONNECT_SECONDS = 5.0
# From the first packet to the last.
TOTAL_SECONDS = 15.0
MOST_BYTES = 16 * 1024
EXCERPT = 500
# Of the addresses of a name so many are tried.
MOST_ADDRESSES = 4
RECORD_ID = re.compile(r"hrec_[0-9a-f]{32}")
HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

# IPv4: what is not on the public internet, and what answers for the machine itself in the networks of large providers.
INSIDE_4 = tuple(
    IPv4Network(one)
    for one in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
    )
)
# IPv6: global unicast is all that is allowed, so that mapped, translated, local and multicast addresses never are;
# of it not what is set aside for protocols and tunnels, and documentation.
OUTSIDE_6 = IPv6Network("2000::/3")
INSIDE_6 = tuple(IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))


class Refused(Exception):
    """Nothing is sent there; the message is one sentence for a person."""


class Unanswered(Exception):
    """It was sent, or could not be, and nothing came back; the message is one sentence for a person."""


@dataclass(frozen=True)
class Reply:
    """What came back: the status, and the beginning of the body as text without anything invisible."""

    status: int
    excerpt: str


Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, as the system knows them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_outside(address: str) -> bool:
    """Whether an address is one of the public internet."""
    try:
        found: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv4Address):
        return not any(found in network for network in INSIDE_4)
    return found.scope_id is None and found in OUTSIDE_6 and not any(found in network for network in INSIDE_6)


def read(url: str, *, inside: bool = False) -> httpx.URL:
    """An https address without a user and a fragment; with `inside` also http. Raises Refused."""
    schemes = ("https", "http") if inside else ("https",)
    problem = Refused(
        f"This must be an {' or '.join(schemes)} address of at most {LONGEST_URL} characters, "
        "without a user and a fragment."
    )
    if len(url) > LONGEST_URL or not url.isprintable() or " " in url:
        raise problem
    try:
        parsed = httpx.URL(url)
        parsed.raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError, UnicodeError):
        raise problem from None
    if parsed.scheme not in schemes or not parsed.host or parsed.userinfo or parsed.fragment or parsed.port == 0:
        raise problem
    return parsed


def check(url: str, *, inside: bool = False, resolver: Resolve | None = None) -> None:
    """Look at an address, and at where its name leads now. Raises Refused."""
    parsed = read(url, inside=inside)
    host, port = parsed.raw_host.decode("ascii"), parsed.port or (443 if parsed.scheme == "https" else 80)
    _addresses(host, port, inside=inside, resolver=resolver or resolve)


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    inside: bool = False,
    resolver: Resolve | None = None,
    seconds: float = TOTAL_SECONDS,
) -> Reply:
    """Send a body, follow nothing, and read no more than the beginning of the answer. Raises Refused, Unanswered.

    With `inside` addresses of our own network are allowed, and http.
    """
    parsed = read(url, inside=inside)
    deadline = time.monotonic() + seconds
    backend = _Looking(deadline, inside=inside, resolver=resolver or resolve)
    target = httpcore.URL(
        scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path or b"/"
    )
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), CONNECT_SECONDS) | {"read": seconds}
    pool = httpcore.ConnectionPool(ssl_context=_tls(), max_connections=1, retries=0, network_backend=backend)
    try:
        with closing(pool):
            sent = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
            asked = pool.stream("POST", target, headers=sent, content=body, extensions={"timeout": timeout})
            with asked as response:
                return Reply(response.status, excerpt(_beginning(response.iter_stream())))
    except httpcore.TimeoutException:
        raise Unanswered("It did not answer in time.") from None
    except httpcore.ConnectError as failure:
        cause = "Its certificate is not valid." if "CERTIFICATE" in str(failure).upper() else "It cannot be reached."
        raise Unanswered(cause) from None
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError):
        raise Unanswered("The connection broke off.") from None


def excerpt(raw: bytes) -> str:
    """The beginning of an answer as text, without what cannot be seen and without ids of records."""
    text = HIDDEN.sub("", raw.decode("utf-8", "replace"))
    return RECORD_ID.sub("hrec_…", text)[:EXCERPT]


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    # Reading the authorities takes longer than most answers.
    return httpx.create_ssl_context()


def _beginning(chunks: Iterable[bytes]) -> bytes:
    found = b""
    for chunk in chunks:
        found += chunk
        if len(found) >= MOST_BYTES:
            break
    return found[:MOST_BYTES]


def _addresses(host: str, port: int, *, inside: bool, resolver: Resolve) -> Sequence[str]:
    try:
        found = resolver(host, port)
    except (OSError, UnicodeError):
        raise Refused("This name is not known.") from None
    if not found:
        raise Refused("This name is not known.")
    # One address inside is enough: which of them is asked would be a matter of chance.
    if not inside and not all(map(is_outside, found)):
        raise Refused("This address is not one of the public internet.")
    return found[:MOST_ADDRESSES]


class _Looking(httpcore.NetworkBackend):
    """Connects to the addresses it has looked at, and to nothing else."""

    def __init__(self, deadline: float, *, inside: bool, resolver: Resolve) -> None:
        self.deadline, self.inside, self.resolver = deadline, inside, resolver

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Resolve, look, connect."""
        last: Exception = httpcore.ConnectError("no address")
        for address in _addresses(host, port, inside=self.inside, resolver=self.resolver):
            try:
                stream = httpcore.SyncBackend().connect_tcp(address, port, _left(self.deadline, timeout), local_address)
                return _Timed(stream, self.deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failure:
                last = failure
        raise last

    def connect_unix_socket(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        """Never."""
        raise httpcore.ConnectError("not by a socket of this machine")


class _Timed(httpcore.NetworkStream):
    """A stream that ends at an instant, however slowly the other side speaks."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self.stream, self.deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read some."""
        return self.stream.read(max_bytes, _left(self.deadline, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all."""
        self.stream.write(buffer, _left(self.deadline, timeout))

    def close(self) -> None:
        """Let go."""
        self.stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Begin TLS; the name is what the certificate has to be for."""
        inner = self.stream.start_tls(ssl_context, server_hostname, _left(self.deadline, timeout))
        return _Timed(inner, self.deadline)

    def get_extra_info(self, info: str) -> Any:
        """What the stream knows of itself."""
        return self.stream.get_extra_info(info)


def _left(deadline: float, timeout: float | None) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("out of time")
    return left if timeout is None else min(left, timeout)
