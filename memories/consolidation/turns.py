"""What was said, by whom and when: the episodes of a memory read as turns of a conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from memories.consolidation.base import Kept
from memories.consolidation.words import bag

Strip = Callable[[str], str]
"""Takes out of a text what the server itself put there: recalled and primed records inside their fence."""

LONGEST = 20_000
"""Characters of a turn that are read; what is longer is a document rather than something said."""

SILENT = frozenset({"system", "tool"})
_LABEL = re.compile(r"(?P<name>[A-Z][\w.'\u2019-]{0,30}(?: [A-Z][\w.'\u2019-]{0,30}){0,2}): +(?=\S)")
# Words before a colon that announce something, rather than somebody who speaks.
_ANNOUNCING = bag(
    "note todo update edit warning error info important reminder remember fact question answer summary result "
    "results subject date time re fwd from to cc ps tip example goal plan decision action status correction name "
    "address email phone today tomorrow yesterday also"
)
_CODE = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"^[ \t]*>.*$", re.MULTILINE)


@dataclass(frozen=True)
class Turn:
    """Words of one speaker in one episode. `speaker` is a name, or empty where nobody is named."""

    episode: str
    speaker: str
    role: str
    text: str
    at: datetime
    session: str = ""


def turns_of(episodes: Sequence[Kept], strip: Strip) -> list[Turn]:
    """The turns of the episodes in order; what systems and tools say, code, and quoted lines are left out."""
    return [turn for episode in episodes for turn in _turns(episode, strip)]


def moment(episode: Kept) -> datetime:
    """When it was said: what the episode says of itself, or else when it was written."""
    at = episode.draft.valid_from or episode.written_at
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _turns(episode: Kept, strip: Strip) -> Iterator[Turn]:
    attributes = episode.draft.attributes or {}
    named, session = _word(attributes, "speaker"), _word(attributes, "session_id")
    spoken = [part for part in episode.draft.content if part.get("role") not in SILENT and _words(part)]
    roles = {str(part.get("role") or "user") for part in spoken}
    for part in spoken:
        role = str(part.get("role") or "user")
        # A name on an exchange of several roles is that of the person, not of the assistant.
        speaker = named if len(roles) == 1 or role == "user" else ""
        base = Turn(episode.id, speaker, role, "", moment(episode), session)
        yield from _spoken(base, _plain(_words(part)[:LONGEST], strip))


def _spoken(base: Turn, text: str) -> Iterator[Turn]:
    """A transcript with names before its lines is as many turns; anything else is one."""
    lines: list[str] = []
    speaker = base.speaker
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label and label["name"].casefold() not in _ANNOUNCING and len(line) > label.end():
            if said := "\n".join(lines).strip():
                yield replace(base, speaker=speaker, text=said)
            speaker, lines = label["name"], [line[label.end() :]]
        else:
            lines.append(line)
    if said := "\n".join(lines).strip():
        yield replace(base, speaker=speaker, text=said)


def _plain(text: str, strip: Strip) -> str:
    return _QUOTED.sub("", _CODE.sub("", strip(text)))


def _words(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    if not isinstance(text, str) or not text.strip():
        return ""
    # The words that stand for a file are what it shows, not what somebody says.
    return f"[{text.strip()}]" if part.get("type") == "file" else text


def _word(attributes: Mapping[str, Any], name: str) -> str:
    value = attributes.get(name)
    return " ".join(value.split())[:120] if isinstance(value, str) else ""
