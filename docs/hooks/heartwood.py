"""Sends one finished turn of a conversation to an agent's default memory. Needs nothing but Python 3.9.

    echo '{"user": "What was asked", "assistant": "What was answered"}' | python3 heartwood.py

It reads HEARTWOOD_URL, HEARTWOOD_HARNESS (the id of the harness, chrn_...) and HEARTWOOD_KEY (a key of its agent). It
sends nothing while the harness says not to observe or has no default memory, and it never stops the agent: whatever
goes wrong is one line on standard error.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

SECONDS = 10
LONGEST = 100_000


def send(user: str, assistant: str, session: str = "", turn: str = "") -> bool:
    """Send a turn; whether it was kept. The same turn of the same session, sent again, is kept once."""
    said = [("user", user), ("assistant", assistant)]
    content = [{"type": "text", "role": role, "text": text[:LONGEST]} for role, text in said if text.strip()]
    if not content:
        return False
    try:
        memory_id = default_memory()
        if memory_id is None:
            return False
        episode: dict[str, Any] = {"content": content}
        if session:
            episode["attributes"] = {"session_id": session[:160]}
        key = hashlib.sha256("\0".join((session, turn, user, assistant)).encode("utf-8", "replace")).hexdigest()
        call("POST", f"/v1/memories/{memory_id}/observe", {"episodes": [episode]}, key if session or turn else None)
    except (OSError, ValueError, KeyError, http.client.HTTPException) as failure:
        print(f"heartwood: the turn was not kept: {failure}", file=sys.stderr)
        return False
    return True


def default_memory() -> str | None:
    """Where turns go, or None when they are not to be sent."""
    settings = call("GET", f"/v1/harnesses/{os.environ['HEARTWOOD_HARNESS']}/memories")
    memory_id = settings["default_memory_id"]
    return str(memory_id) if memory_id and settings["observe"] else None


def call(method: str, path: str, body: object = None, key: str | None = None) -> dict[str, Any]:
    """Ask the server. Raises ValueError for a refusal."""
    server = urlsplit(os.environ["HEARTWOOD_URL"])
    secure = server.scheme == "https"
    link_type = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    link = link_type(server.netloc, timeout=SECONDS)
    headers = {"Authorization": f"Bearer {os.environ['HEARTWOOD_KEY']}", "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    try:
        raw = None if body is None else json.dumps(body)
        link.request(method, server.path.rstrip("/") + path, raw, headers)
        response = link.getresponse()
        answer = json.loads(response.read() or b"{}")
    finally:
        link.close()
    if response.status >= 300 or not isinstance(answer, dict):
        raise ValueError(f"{method} {path.split('/')[-1]} answered {response.status}")
    return answer


def main() -> int:
    """Read one turn from standard input."""
    try:
        turn = json.load(sys.stdin)
        send(str(turn.get("user", "")), str(turn.get("assistant", "")), str(turn.get("session", "")))
    except (ValueError, AttributeError):
        print("heartwood: a turn is a JSON object with user and assistant", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
