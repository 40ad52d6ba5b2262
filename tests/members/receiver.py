"""A real server that takes what webhooks are sent, and answers as a test wants."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Got:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Receiver:
    """What arrived, and what is answered: a status, a body, headers, and how slowly (seconds for each byte)."""

    url: str = ""
    got: list[Got] = field(default_factory=list)
    status: int = 200
    body: bytes = b"thanks"
    headers: Mapping[str, str] = field(default_factory=dict)
    slow: float = 0.0
    before: Callable[[], object] | None = None


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a free port of this machine."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            receiver.got.append(Got(self.path, dict(self.headers), self.rfile.read(length)))
            if receiver.before:
                receiver.before()
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            if not receiver.slow:
                self.wfile.write(receiver.body)
                return
            try:
                for byte in receiver.body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(receiver.slow)
            except OSError:
                return

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/in"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
