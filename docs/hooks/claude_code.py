"""The Stop hook of Claude Code: sends the turn that just ended, read from the transcript. See docs/connect.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import heartwood


def main() -> int:
    """Read what Claude Code hands to the hook, and send the last turn of its transcript."""
    try:
        event = json.load(sys.stdin)
        user, assistant, turn = last_turn(Path(event["transcript_path"]))
    except (OSError, ValueError, KeyError, TypeError):
        print("heartwood: there is no transcript to read", file=sys.stderr)
        return 0
    heartwood.send(user, assistant, str(event.get("session_id", "")), turn)
    return 0


def last_turn(transcript: Path) -> tuple[str, str, str]:
    """What was asked last, what was answered since, and the id of the question."""
    user, answers, turn = "", [], ""
    for entry in entries(transcript):
        text = words(entry)
        if entry.get("isMeta") or entry.get("isSidechain") or not text:
            continue
        if entry.get("type") == "user":
            user, answers, turn = text, [], str(entry.get("uuid", ""))
        elif entry.get("type") == "assistant":
            answers.append(text)
    return user, "\n\n".join(answers), turn


def entries(transcript: Path) -> Iterator[dict[str, Any]]:
    """The lines of a transcript that are objects."""
    with transcript.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry


def words(entry: dict[str, Any]) -> str:
    """The text of a message; calls of tools and what they returned are left out."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts).strip()


if __name__ == "__main__":
    sys.exit(main())
