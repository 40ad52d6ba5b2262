"""An embedding endpoint on a real socket that does as it is told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from memories.embedders.hashing import DIMENSIONS, HashingEmbedder
from memories.embedders.openai import OpenAIEmbedder

Answer = tuple[int, Any, dict[str, str]]
KEY = "sk-very-secret"  # pragma: allowlist secret


def vectors(body: dict[str, Any]) -> Answer:
    """The vectors of what was sent, in another order than it was sent."""
    rows = [
        {"object": "embedding", "index": index, "embedding": [float(one) * 3 for one in vector]}
        for index, vector in enumerate(HashingEmbedder().embed(body["input"]))
    ]
    return 200, {"object": "list", "data": rows[::-1], "model": body["model"]}, {}


class Endpoint:
    """What it was sent, and what it answers next: the script first, then vectors."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.script: list[Answer | Callable[[dict[str, Any]], Answer]] = []
        self.always: Callable[[dict[str, Any]], Answer] = vectors
        self.seconds = 0.0
        self.url = ""
        self.asked_by: list[OpenAIEmbedder] = []

    def answer(self, body: dict[str, Any], key: str | None) -> Answer:
        """Take a request."""
        self.requests.append(body)
        self.keys.append(key)
        time.sleep(self.seconds)
        following = self.script.pop(0) if self.script else self.always
        return following(body) if callable(following) else following

    def embedder(self, dimensions: int = DIMENSIONS, key: str = KEY) -> OpenAIEmbedder:
        """An embedder that asks it."""
        self.asked_by.append(OpenAIEmbedder(self.url, key, "tiny", dimensions))
        return self.asked_by[-1]


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Serve until the end of the block."""
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.path == "/v1/embeddings"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said, headers = state.answer(body, self.headers.get("Authorization"))
            raw = said if isinstance(said, bytes) else json.dumps(said).encode()
            try:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)
            except OSError:
                # Whoever asked has gone.
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        for one in state.asked_by:
            one.close()
        server.shutdown()
        server.server_close()
        thread.join()
