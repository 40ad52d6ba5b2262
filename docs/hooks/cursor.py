"""Two hooks of Cursor: beforeSubmitPrompt notes the question, afterAgentResponse sends it with the answer.

See docs/connect.md. The question waits in a private file of the user's, and is gone once it was sent.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

import heartwood


def main() -> int:
    """Read the event from standard input; for a prompt, let Cursor go on."""
    try:
        event = json.load(sys.stdin)
        session = str(event["conversation_id"])
        name = event.get("hook_event_name")
    except (ValueError, KeyError, TypeError):
        print("heartwood: that was no event of a conversation", file=sys.stderr)
        return 0
    waiting = place(session)
    if name == "beforeSubmitPrompt":
        with os.fdopen(os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(str(event.get("prompt", "")))
        print(json.dumps({"continue": True}))
    elif name == "afterAgentResponse":
        user = waiting.read_text(encoding="utf-8") if waiting.exists() else ""
        if heartwood.send(user, str(event.get("text", "")), session, str(event.get("generation_id", ""))):
            waiting.unlink(missing_ok=True)
    return 0


def place(session: str) -> Path:
    """Where the question of a conversation waits: in a directory that only its user may read."""
    directory = Path(tempfile.gettempdir()) / f"heartwood-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.stat().st_uid != os.getuid() or directory.stat().st_mode & 0o077:
        raise SystemExit(f"heartwood: {directory} is not private")
    return directory / hashlib.sha256(session.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
