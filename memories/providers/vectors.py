"""Making vectors: which words of a version are embedded, alone and with what was said just before, in batches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import OuterRef, Subquery

from members.models import Member
from memories.content import Draft
from memories.embedders.base import Embedder
from memories.models import Embedding, Version

# What of a long text is embedded, in characters; the model itself reads 256 word pieces.
EMBEDDED = 4_000
# What of the turn before is embedded with a turn: its end, short enough that the turn itself is read, too.
PRECEDING = 400
# How many texts one call of the embedder is given.
TOGETHER = 256
EPISODE = "episode"
# Attributes that say who spoke, in this order; they are fields to ask for, and no part of what was said.
SPEAKERS = ("speaker", "author")
MAX_SPEAKER = 120
TECHNICAL = frozenset({*SPEAKERS, "id", "session", "role", "revision_reason"})
# "Ada: hello", as logs of conversations have it.
SAID_BY = re.compile(r"\s*([^\W\d_][^:\n]{0,118}?)\s*:\s+")


@dataclass(frozen=True)
class Written:
    """A version that is stored, and what it says."""

    row: Version
    draft: Draft


def speaker_of(draft: Draft) -> str:
    """Who said it, where the record tells: the attribute `speaker`, or else `author`."""
    attributes = draft.attributes or {}
    named = next((value for key in SPEAKERS if isinstance(value := attributes.get(key), str) and value.strip()), "")
    return " ".join(named.split())[:MAX_SPEAKER]


def own_words(draft: Draft, names: Iterable[str] = ()) -> str:
    """What is embedded of a draft: its words, without who is named as speaking them and without technical attributes.

    A turn that begins with the name of its speaker matches every question that has the name, whatever it says.
    """
    kept = telling_attributes(draft.attributes or {})
    spoken = {name.casefold() for name in (speaker_of(draft), *names) if name}
    return replace(draft, attributes=kept, content=_unprefixed(draft.content, spoken)).text[:EMBEDDED]


def telling_attributes(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes that say something: no ids, and nothing about how the record came to be."""
    return {name: value for name, value in attributes.items() if not _technical(name)}


def with_preceding(preceding: str, own: str) -> str:
    """A turn after the end of the one before it."""
    return f"{preceding[-PRECEDING:]}\n{own}"[:EMBEDDED]


def write(written: Sequence[Written], embedder: Embedder) -> None:
    """Embed versions and keep the vectors. Raises EmbedderUnavailable, and keeps none."""
    Embedding.objects.bulk_create(made(written, embedder), batch_size=TOGETHER)


def made(written: Sequence[Written], embedder: Embedder, *, apart: bool = False) -> list[Embedding]:
    """The vectors of versions, not kept yet: one of each alone, one of each episode with the one before it.

    `apart` says that others may lie between them. Raises EmbedderUnavailable.
    """
    names = _names_of_writers(written)
    own = [own_words(one.draft, names.get(one.row.writer_id, ())) for one in written]
    said = {one.row.pk: words for one, words in zip(written, own, strict=True)}
    before = _preceding(written, said, apart)
    pairs = [(one.row, before.get(one.row.pk)) for one in written]
    texts = [*own, *(with_preceding(found.words, said[row.pk]) for row, found in pairs if found)]
    rows = [_embedding(row, Embedding.Aspect.OWN) for row, _ in pairs]
    rows += [_embedding(row, Embedding.Aspect.CONTEXT, found.version) for row, found in pairs if found]
    for start in range(0, len(rows), TOGETHER):
        vectors = embedder.embed(texts[start : start + TOGETHER])
        for row, vector in zip(rows[start : start + TOGETHER], vectors, strict=True):
            row.model, row.vector = embedder.name, vector
    return rows


@dataclass(frozen=True)
class _Before:
    version: int
    words: str


def _embedding(row: Version, aspect: Embedding.Aspect, preceding: int | None = None) -> Embedding:
    return Embedding(
        organisation_id=row.organisation_id,
        memory_id=row.memory_id,
        version=row,
        aspect=aspect,
        current=row.invalidated_at is None,
        preceding=preceding,
    )


def _preceding(written: Sequence[Written], said: Mapping[int, str], apart: bool) -> Mapping[int, _Before]:
    # What precedes each episode in its conversation, among these and among what was there before them.
    found: dict[int, _Before] = {}
    latest: dict[tuple[str, str], Version] = {}
    first: list[int] = []
    for one in sorted(written, key=lambda one: _place(one.row)):
        row = one.row
        if row.type != EPISODE or not row.session:
            continue
        key = (row.memory_id, row.session)
        if key in latest:
            found[row.pk] = _Before(latest[key].pk, said[latest[key].pk])
        else:
            first.append(row.pk)
        if row.invalidated_at is None and not apart:
            latest[key] = row
    return found | _stored_before(first)


def _stored_before(keys: Sequence[int]) -> dict[int, _Before]:
    if not keys:
        return {}
    same = {field: OuterRef(field) for field in ("memory_id", "session", "type")}
    turns = Version.objects.current().filter(**same, written_at__lte=OuterRef("written_at"))
    earlier = turns.exclude(written_at=OuterRef("written_at"), record_id__gte=OuterRef("record_id"))
    nearest = earlier.order_by("-written_at", "-record_id").values("pk")[:1]
    found = Version.objects.filter(pk__in=keys).annotate(before=Subquery(nearest)).exclude(before=None)
    before = dict(found.values_list("pk", "before"))
    turn = Version.objects.in_bulk(before.values())
    return {key: _Before(pk, own_words(_draft(turn[pk]))) for key, pk in before.items() if pk in turn}


def _place(row: Version) -> tuple[Any, str]:
    return row.written_at, row.record_id


def _draft(version: Version) -> Draft:
    return Draft(type=version.type, title=version.title, content=tuple(version.content), attributes=version.attributes)


def _names_of_writers(written: Sequence[Written]) -> Mapping[str, Sequence[str]]:
    # Asked only where some text begins as if it named who speaks.
    wanted = {
        one.row.writer_id
        for one in written
        if one.row.writer_kind == "member" and any(_prefix(part) for part in one.draft.content)
    }
    if not wanted:
        return {}
    return {member_id: (name,) for member_id, name in Member.objects.filter(pk__in=wanted).values_list("id", "name")}


def _prefix(part: Mapping[str, Any]) -> re.Match[str] | None:
    text = part.get("text")
    return SAID_BY.match(text) if isinstance(text, str) else None


def _unprefixed(content: Sequence[Mapping[str, Any]], spoken: set[str]) -> tuple[Mapping[str, Any], ...]:
    parts: list[Mapping[str, Any]] = []
    for part in content:
        found = _prefix(part)
        names_speaker = found is not None and found[1].casefold() in spoken
        rest = part["text"][found.end() :] if found and names_speaker else ""
        parts.append({**part, "text": rest} if rest.strip() else part)
    return tuple(parts)


def _technical(name: str) -> bool:
    return name in TECHNICAL or name.endswith(("_id", "_ids"))
