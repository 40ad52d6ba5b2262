"""How a statement is kept as a record, and how the sentences of a kept record are read again.

What the engine knows of a statement stands in `attributes.statement`, one level down, so that it is not searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from memories.consolidation.base import Kept
from memories.consolidation.claims import Said, Span
from memories.consolidation.gather import Claim, Statement
from memories.consolidation.times import read_times, without_added
from memories.consolidation.turns import moment
from memories.consolidation.words import LONGEST_SENTENCE, sentences
from memories.content import MAX_REFERENCES, Draft, Reference

ABOUT = "statement"


@dataclass(frozen=True)
class Line:
    """One sentence of a record: as it stands in the text, and as it was said."""

    text: str
    said: Said


def draft_of(statement: Statement, references: Sequence[Reference], by: str) -> Draft:
    """The record that a statement would be; `by` is the principal whose episode it is, for whom no name is known."""
    turn = statement.turn
    times = [read_times(_as_said(claim), claim.turn.at) for claim in statement.claims]
    valid_from = next((one.valid_from for one in times if one.valid_from), turn.at)
    valid_to = next((one.valid_to for one in times if one.valid_to), None)
    if valid_to and valid_to < valid_from:
        valid_from = min(valid_from, turn.at) if turn.at <= valid_to else valid_to
    told: dict[str, Any] = {
        "sort": statement.sort.value,
        "speaker": statement.speaker,
        "by": by,
        "said_at": _instant(turn.at),
        "dates": [
            {"words": one.words, "from": one.start.isoformat(), "to": one.end.isoformat(), "name": one.name}
            for claim in statement.claims
            for one in claim.dates
        ],
    }
    return Draft(
        type="fact",
        content=({"type": "text", "text": statement.text},),
        attributes={ABOUT: told},
        references=tuple(references),
        valid_from=valid_from,
        valid_to=valid_to,
    )


def said_by(claim: Claim, by: str) -> Said:
    """A new sentence, as it compares with others."""
    return said(_as_said(claim), claim.turn.speaker or by, claim.turn.at.date())


def lines_of(kept: Kept) -> list[Line]:
    """The sentences of a record, as they compare with new ones; of one that a person wrote as well."""
    told = _told(kept.draft.attributes)
    speaker, dates = str(told.get("speaker") or ""), _dates(told)
    who = speaker or str(told.get("by") or "") or f"{kept.writer.kind}:{kept.writer.id}"
    on = _day(told.get("said_at")) or moment(kept).date()
    text = " ".join(str(part.get("text") or "") for part in kept.draft.content) or kept.draft.title
    return [
        Line(sentence, _read(sentence, speaker, who, on, dates))
        for sentence in sentences(text)
        if len(sentence) <= LONGEST_SENTENCE
    ]


def with_sources(draft: Draft, sources: Iterable[str]) -> Draft | None:
    """The draft resting on more sources, or None when it rests on them all already or has no room for more."""
    has = {one.record_id for one in draft.references if one.rel == "derived_from" and not one.memory_id}
    room = MAX_REFERENCES - len(draft.references)
    added = tuple(Reference(id, "derived_from") for id in dict.fromkeys(sources) if id not in has)[:room]
    return replace(draft, references=(*draft.references, *added)) if added else None


def replaced(old: Draft, line: str, new: Draft, claim: Claim) -> Draft:
    """The older record saying the newer sentence in the place of one of its own; what it rested on stays with it."""
    speaker = claim.turn.speaker
    text = f"{speaker}: {claim.text}" if speaker and line.startswith(f"{speaker}: ") else claim.text
    content = tuple(
        {**part, "text": str(part["text"]).replace(line, text, 1)} if line in str(part.get("text")) else part
        for part in old.content
    )
    kept = {(one.record_id, one.rel) for one in old.references}
    single = {one.rel for one in old.references if one.rel in ("subject", "object")}
    added = [one for one in new.references if (one.record_id, one.rel) not in kept and one.rel not in single]
    told, fresh = _told(old.attributes), _told(new.attributes)
    gone = [one for one in _dates(told) if str(one.get("words")) not in line]
    attributes = {**(old.attributes or {}), ABOUT: {**told, **fresh, "dates": [*gone, *_dates(fresh)]}}
    return replace(
        old,
        content=content,
        attributes=attributes,
        references=(*old.references, *added)[:MAX_REFERENCES],
        valid_from=new.valid_from,
        valid_to=new.valid_to,
    )


def _read(sentence: str, speaker: str, who: str, on: date, dates: Sequence[Mapping[str, Any]]) -> Said:
    there = [one for one in dates if f"{one.get('words')} ({one.get('name')})" in sentence]
    plain = without_added(sentence, (str(one["name"]) for one in there))
    if speaker and plain.startswith(f"{speaker}: "):
        plain = plain.removeprefix(f"{speaker}: ")
    spans = [(start, end) for one in there if (start := _day(one.get("from"))) and (end := _day(one.get("to")))]
    return said(plain, who, on, tuple(dict.fromkeys(spans)) if there else None)


@lru_cache(maxsize=8192)
def said(text: str, who: str, on: date, meant: tuple[Span, ...] | None = None) -> Said:
    """One sentence to compare; what was worked out about it is kept, for the same records are met again and again."""
    return Said(text, who, on, meant)


def _as_said(claim: Claim) -> str:
    return without_added(claim.text, (one.name for one in claim.dates))


def _told(attributes: Mapping[str, Any] | None) -> Mapping[str, Any]:
    told = (attributes or {}).get(ABOUT)
    return told if isinstance(told, Mapping) else {}


def _dates(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    dates = told.get("dates")
    return [one for one in dates if isinstance(one, Mapping)] if isinstance(dates, list) else []


def _day(value: object) -> date | None:
    try:
        return datetime.fromisoformat(str(value)).date()
    except ValueError:
        return None


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
