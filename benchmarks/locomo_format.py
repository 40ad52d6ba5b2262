"""Reads the LoCoMo file (ten long conversations with questions and the turns that answer them)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.corpus import Conversation, Question, Turn

_SESSION = re.compile(r"session_(\d+)")
# "D8:6", "D30:05" and "D:11:26"; several may share one string, whatever stands between them.
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_DATE = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def load(path: Path) -> list[Conversation]:
    """Read every conversation of a file. Raises OSError, or ValueError when it is not a LoCoMo file."""
    try:
        return [conversation(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a LoCoMo file ({type(error).__name__}: {error})") from error


def conversation(entry: Mapping[str, Any]) -> Conversation:
    """Read one entry of the file. Raises KeyError or ValueError when it has another shape."""
    spoken = entry["conversation"]
    numbers = sorted(int(match[1]) for key in spoken if (match := _SESSION.fullmatch(key)))
    turns = tuple(
        Turn(turn["dia_id"], number, turn["speaker"], _text(turn), said_at)
        for number in numbers
        for said_at in [parse_date(spoken[f"session_{number}_date_time"])]
        for turn in spoken[f"session_{number}"]
    )
    known = {turn.id for turn in turns}
    questions = (
        Question(asked["question"], asked["category"], normalise_evidence(asked["evidence"], known))
        for asked in entry["qa"]
    )
    return Conversation(entry["sample_id"], turns, tuple(questions))


def normalise_evidence(raw: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return the turn ids that the raw strings name, each once, without those that are not among `known`."""
    found = (f"D{int(session)}:{int(turn)}" for text in raw for session, turn in _EVIDENCE.findall(text))
    known = set(known)
    return tuple(dict.fromkeys(turn for turn in found if turn in known))


def parse_date(text: str) -> datetime:
    """Parse a date like "1:56 pm on 8 May, 2023" as UTC, for the file names no zone. Raises ValueError."""
    match = _DATE.fullmatch(text.strip())
    month = match[5][:3].lower() if match else ""
    if not match or month not in _MONTHS or not 1 <= int(match[1]) <= 12:
        raise ValueError(f"not a date of a session: {text!r}")
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    return datetime(int(match[6]), _MONTHS.index(month) + 1, int(match[4]), hour, int(match[2]), tzinfo=UTC)


def _text(turn: Mapping[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['text']} [image: {caption}]" if caption else turn["text"]
