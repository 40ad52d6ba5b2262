"""The notify program of Codex: sends the turn it is told of. See docs/connect.md."""

from __future__ import annotations

import json
import sys

import heartwood

FINISHED = "agent-turn-complete"


def main() -> int:
    """Read the notification, which is the last argument."""
    try:
        event = json.loads(sys.argv[-1])
        if event.get("type") != FINISHED:
            return 0
        asked = event.get("input-messages") or []
        user = "\n".join(str(one) for one in asked)
        session, turn = str(event.get("thread-id", "")), str(event.get("turn-id", ""))
        heartwood.send(user, str(event.get("last-assistant-message") or ""), session, turn)
    except (ValueError, AttributeError):
        print("heartwood: that was no notification", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
