"""A chat endpoint that answers what a test wrote down for it, over a real socket."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from memories.consolidation.chat import LlmSettings

KEY = "sk-canary-1f9d"


@dataclass
class Script:
    """What to answer, in order, the last one for ever, and what was asked."""

    answers: list[tuple[int, bytes, dict[str, str]]]
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    delay: float = 0.0
    url: str = ""

    def settings(self, **changes: Any) -> LlmSettings:
        """Settings for this endpoint, that do not wait."""
        return LlmSettings(
            **{"url": self.url, "model": "scripted", "key": KEY, "pause": 0.001, "timeout": 5.0, **changes}
        )


def said(
    statements: Sequence[dict[str, Any]], usage: dict[str, int] | None = None
) -> tuple[int, bytes, dict[str, str]]:
    """An answer of a model with these statements."""
    return words(json.dumps({"statements": statements}), usage)


def words(text: str, usage: dict[str, int] | None = None) -> tuple[int, bytes, dict[str, str]]:
    """An answer of a model with these words."""
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    if usage is not None:
        body["usage"] = usage
    return 200, json.dumps(body).encode(), {}


def statement(text: str, *sources: str, **changes: Any) -> dict[str, Any]:
    """One statement of a model."""
    plain = {"text": text, "sort": "fact", "sources": list(sources), "names": [], "known": None, "relation": "new"}
    return {**plain, **changes}


@contextmanager
def serving(*answers: tuple[int, bytes, dict[str, str]], delay: float = 0.0) -> Iterator[Script]:
    """An endpoint that answers so."""
    script = Script(list(answers), delay=delay)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            script.asked.append(asked)
            script.keys.append(self.headers.get("authorization", ""))
            script.paths.append(self.path)
            status, body, headers = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            time.sleep(script.delay)
            try:
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                return  # it did not wait for the answer

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
