"""What somebody names is asked only where it may be: the address that is looked at is the one that is connected to."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from tests.members.receiver import Receiver, receiving
from uhp_site.http import outbound

INSIDE = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),  # noqa: S104
    *("169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.255", "100.100.100.200", "168.63.129.16"),
    *("192.0.0.170", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1"),
    *("239.255.255.255", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%lo", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1"),
    *("::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2001::1", "2001:db8::1", "2002:7f00:1::"),
    *("3fff::1", "100::1", "5f00::1", "2001:10::1", "4000::1"),
    *("", "localhost", "1.2.3", "0x7f.1", "2130706433"),
]
OUTSIDE = ["8.8.8.8", "93.184.215.14", "172.15.0.1", "172.32.0.1", "100.63.255.255", "2606:4700::1111", "2a00:1450::1"]


def leading(*addresses: str) -> outbound.Resolve:
    return lambda host, port: addresses


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_refused(address: str) -> None:
    assert not outbound.is_outside(address)
    with pytest.raises(outbound.Refused):
        outbound.check("https://example.com/", resolver=leading(address))
    with pytest.raises(outbound.Refused):
        outbound.post("https://example.com/", b"", {}, resolver=leading(address))


@pytest.mark.parametrize("address", OUTSIDE)
def test_an_address_outside_is_allowed(address: str) -> None:
    assert outbound.is_outside(address)
    outbound.check("https://example.com/", resolver=leading(address))


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_that_python_calls_local_is_outside(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    local = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    if local or address.is_reserved or address.is_unspecified:
        assert not outbound.is_outside(str(address))


@given(st.ip_addresses(v=4))
def test_no_way_to_write_an_ipv4_address_as_ipv6_is_outside(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    for prefix in ("::ffff:0:0", "::", "64:ff9b::"):
        assert not outbound.is_outside(str(ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) + number)))
    six_to_four = (0x2002 << 112) + (number << 80)
    assert not outbound.is_outside(str(ipaddress.IPv6Address(six_to_four)))


def test_one_address_inside_among_others_is_enough_to_refuse() -> None:
    with pytest.raises(outbound.Refused, match="public internet"):
        outbound.check("https://example.com/", resolver=leading("93.184.215.14", "127.0.0.1"))


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "//example.com/"),
        *("https://", "https://user@example.com/", "https://user:word@example.com/", "https://example.com/#part"),
        *("https://example.com:0/", "https://exa mple.com/", "https://example.com/\n", "https://[::1/", "", "example"),
        f"https://example.com/{'x' * 2000}",
    ],
)
def test_what_is_no_https_address_is_refused(url: str) -> None:
    with pytest.raises(outbound.Refused):
        outbound.check(url, resolver=leading("93.184.215.14"))


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://localhost/", "https://2130706433/", "https://[::1]/"])
def test_this_machine_is_refused_however_it_is_written(url: str) -> None:
    with pytest.raises(outbound.Refused):
        outbound.check(url)
    with pytest.raises(outbound.Refused):
        outbound.post(url, b"", {})


def test_a_name_that_nobody_knows_is_refused() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror

    with pytest.raises(outbound.Refused, match="not known"):
        outbound.check("https://example.com/", resolver=unknown)


def test_a_name_that_leads_inside_only_when_it_is_asked_again_reaches_nobody() -> None:
    answers = [["93.184.215.14"], ["127.0.0.1"]]
    with receiving() as receiver:
        port = urlsplit(receiver.url).port
        url = f"https://rebinding.example:{port}/in"
        outbound.check(url, resolver=lambda host, port: answers[0])
        with pytest.raises(outbound.Refused):
            outbound.post(url, b"", {}, resolver=lambda host, port: answers[1])
        assert not receiver.got


def test_the_name_is_resolved_once_and_connected_to_is_what_was_looked_at() -> None:
    asked: list[str] = []

    def changing(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.99"]

    with receiving() as receiver:
        port = urlsplit(receiver.url).port
        reply = outbound.post(f"http://hooks.example:{port}/in", b"{}", {}, inside=True, resolver=changing)
        assert reply.status == 200
        assert asked == ["hooks.example"]
        assert receiver.got[0].headers["Host"] == f"hooks.example:{port}"


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with receiving() as receiver:
        assert outbound.post(receiver.url, b"{}", {}, inside=True).status == 200


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with receiving() as receiver:
        receiver.status, receiver.headers = 302, {"Location": receiver.url}
        assert outbound.post(receiver.url, b"{}", {}, inside=True).status == 302
        assert len(receiver.got) == 1


def test_an_answer_that_never_ends_is_read_no_further_than_its_beginning() -> None:
    with receiving() as receiver:
        receiver.body = b"x" * 3_000_000
        began = time.monotonic()
        reply = outbound.post(receiver.url, b"{}", {}, inside=True)
        assert reply.excerpt == "x" * outbound.EXCERPT
        assert time.monotonic() - began < 5


def test_an_answer_that_comes_byte_by_byte_is_given_up() -> None:
    with receiving() as receiver:
        receiver.slow, receiver.body = 0.2, b"x" * 100
        began = time.monotonic()
        with pytest.raises(outbound.Unanswered, match="in time"):
            outbound.post(receiver.url, b"{}", {}, inside=True, seconds=1.0)
        assert time.monotonic() - began < 3


@contextmanager
def tls_server(name: str, folder: Path) -> Iterator[tuple[int, Path, list[str]]]:
    """A server with a certificate for a name: its port, the authority to trust, and the names it is asked by."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority, private = folder / "ca.pem", folder / "key.pem"
    authority.write_bytes(made.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, private)
    asked: list[str] = []
    context.sni_callback = lambda socket, server, context: asked.append(server or "")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    # A client that does not trust it breaks off.
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], authority, asked
    finally:
        server.shutdown()
        server.server_close()


def test_the_certificate_has_to_be_for_the_name_although_an_address_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tls_server("hooks.example", tmp_path) as (port, authority, asked):
        here = leading("127.0.0.1")

        def post(name: str) -> outbound.Reply:
            return outbound.post(f"https://{name}:{port}/", b"{}", {}, inside=True, resolver=here)

        outbound._tls.cache_clear()
        with pytest.raises(outbound.Unanswered, match="certificate"):
            post("hooks.example")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        outbound._tls.cache_clear()
        try:
            assert post("hooks.example").status == 204
            with pytest.raises(outbound.Unanswered, match="certificate"):
                post("other.example")
        finally:
            outbound._tls.cache_clear()
    assert asked == ["hooks.example", "hooks.example", "other.example"]


def test_where_nobody_listens_is_said_in_a_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(outbound.Unanswered, match="cannot be reached"):
        outbound.post(f"http://127.0.0.1:{port}/", b"", {}, inside=True)


def test_what_does_not_speak_http_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(outbound.Unanswered):
            outbound.post(url, b"", {}, inside=True, seconds=1.0)


def test_an_excerpt_holds_nothing_invisible_and_no_id_of_a_record() -> None:
    raw = b"<b>\x00\xff\x1b[31m hrec_" + b"0" * 32 + "\u202e\u200bend".encode()
    said = outbound.excerpt(raw)
    assert said == "<b>\ufffd[31m hrec_…end"


def test_an_answer_through_a_name_with_letters_of_all_alphabets_is_had(receiver: Receiver) -> None:
    port = urlsplit(receiver.url).port
    reply = outbound.post(f"http://münchen.example:{port}/", b"", {}, inside=True, resolver=leading("127.0.0.1"))
    assert reply.status == 200
    assert receiver.got[0].headers["Host"] == f"xn--mnchen-3ya.example:{port}"
