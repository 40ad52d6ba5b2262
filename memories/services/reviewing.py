"""The inbox: everything that a reviewer may decide, across memories, and one item as a person looks at it.

Who reviews: a person who holds both read and delete on the memory; for what they wrote themselves, or had written on
their behalf, somebody else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, Count, Exists, F, Func, Min, OuterRef, Q, QuerySet, Value

from members.callers import Caller
from memories.access import Privilege
from memories.content import Reference
from memories.models import Held, Memory, ReviewItem
from memories.providers import registry
from memories.providers.base import Question, RecordVersion, View
from memories.signals.base import Signal
from memories.signals.context import Difference, differences
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound

from . import comparing, held
from .comparing import said_by
from .records import provider_of
from .sight import Place, look

REVIEWS = Privilege.READ | Privilege.DELETE
NEAREST = 5
ORDERS = ("oldest", "strongest")
State = ReviewItem.State


@dataclass(frozen=True)
class Filters:
    """What of the inbox is shown; empty is all of it."""

    memory_id: str = ""
    kinds: tuple[str, ...] = ()
    writer: str = ""
    type: str = ""
    signal: str = ""
    standing: bool | None = None
    held: bool | None = None


@dataclass(frozen=True)
class Page:
    """Some items, how many there are in all, and where the next page begins."""

    items: tuple[ReviewItem, ...]
    total: int
    next: tuple[str, str] | None


@dataclass(frozen=True)
class Near:
    """An existing record near an item, and in what the two differ."""

    version: RecordVersion
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Looked:
    """An item as it is now. `version` is what is looked at, `before` what was there before it, `head` what is current.

    `fingerprint` says all that a decision depends on: one that was made of another is refreshed, not done.
    """

    item: ReviewItem
    place: Place
    version: RecordVersion | None
    before: RecordVersion | None
    head: RecordVersion | None
    fingerprint: str

    @property
    def waits(self) -> bool:
        """Whether it is readable by nobody else before somebody decides."""
        return self.item.held_id is not None


# So many memories are named in a statement.
MOST_HERE = 500

_items = ReviewItem.objects.filter(memory=OuterRef("pk"))


def may_review(caller: Caller, place: Place) -> bool:
    """Whether the caller reviews here at all: a person, with read and delete."""
    return caller.member.type == "human" and REVIEWS in place.privileges


def inbox(
    caller: Caller,
    filters: Filters | None = None,
    *,
    order: str = "oldest",
    limit: int = 50,
    after: tuple[str, str] | None = None,
    among: QuerySet[ReviewItem] | None = None,
) -> Page:
    """What the caller may decide, oldest or strongest first; empty for an agent. `among` is a `desk` of theirs."""
    if caller.member.type != "human":
        return Page((), 0, None)
    found = filtered(open_for(caller) if among is None else among, filters or Filters())
    total = found.count()
    if order == "strongest":
        if after:
            weight, item_id = float(after[0]), after[1]
            found = found.filter(Q(weight__lt=weight) | Q(weight=weight, id__gt=item_id))
        rows = list(found.order_by("-weight", "id").select_related("memory", "held")[: limit + 1])
    else:
        if after:
            moment, item_id = datetime.fromisoformat(after[0]), after[1]
            found = found.filter(Q(created_at__gt=moment) | Q(created_at=moment, id__gt=item_id))
        rows = list(found.order_by("created_at", "id").select_related("memory", "held")[: limit + 1])
    page = tuple(rows[:limit])
    if len(rows) <= limit:
        return Page(page, total, None)
    last = page[-1]
    return Page(page, total, (str(last.weight) if order == "strongest" else last.created_at.isoformat(), last.id))


def waiting(caller: Caller, among: QuerySet[ReviewItem] | None = None) -> tuple[int, datetime | None]:
    """How much the caller may decide, and since when the oldest of it waits; nothing for an agent."""
    if caller.member.type != "human":
        return 0, None
    found = (open_for(caller) if among is None else among).aggregate(count=Count("pk"), oldest=Min("created_at"))
    return found["count"], found["oldest"]


def desk(caller: Caller) -> QuerySet[ReviewItem]:
    """`open_for` for a page that asks several questions of it: where the caller reviews is asked once, now."""
    return open_for(caller, asked_once(reviewable(caller, Q(state=State.OPEN))))


def asked_once(memories: QuerySet[Memory]) -> Collection[str] | QuerySet[Memory]:
    """Memories for a condition in several statements: their ids, or the query itself where they are very many."""
    ids = list(memories.values_list("pk", flat=True)[: MOST_HERE + 1])
    return ids if len(ids) <= MOST_HERE else memories


def open_for(caller: Caller, here: Collection[str] | QuerySet[Memory] | None = None) -> QuerySet[ReviewItem]:
    """The open items that the caller may decide: not those about what they wrote themselves.

    `here` is where the caller reviews, when that is known already.
    """
    mine = caller.member.principal
    return (
        ReviewItem.objects.filter(organisation_id=caller.organisation_id, state=State.OPEN)
        .filter(memory__in=reviewable(caller, Q(state=State.OPEN)) if here is None else here)
        .exclude(writer=mine)
        .exclude(on_behalf_of=mine)
    )


def reviewable(caller: Caller, with_items: Q | None = None) -> QuerySet[Memory]:
    """The memories where the caller reviews; with a condition on items, those alone that have one like it.

    Few have: asking of these what the caller holds is much less than asking of all that the caller reaches.
    """
    memories = Memory.objects.of(caller.organisation_id).held_by(caller.principals, REVIEWS)
    return memories if with_items is None else memories.filter(Exists(_items.filter(with_items)))


def find(caller: Caller, item_id: str) -> Looked:
    """An item with what it is about. Raises MemoryNotFound, alike for unknown, unseen and not theirs to review."""
    item = ReviewItem.objects.filter(organisation_id=caller.organisation_id, pk=item_id).first()
    if item is None:
        raise MemoryNotFound()
    place = look(caller, item.memory_id)
    if not may_review(caller, place):
        raise MemoryNotFound()
    return looked(place, item)


def looked(place: Place, item: ReviewItem) -> Looked:
    """An item as it is now."""
    provider, at = provider_of(place), (place.memory.id, item.record_id)
    head = provider.get(*at) if item.record_id else None
    version: RecordVersion | None
    kept: Held | None
    if item.held_id:
        kept = Held.objects.get(pk=item.held_id)
        version = held.version_of(kept)
        before = provider.numbered(*at, {kept.base}).get(kept.base) if head and kept.base else None
    else:
        kept = None
        number = item.version or (head.number if head else 0)
        found = provider.numbered(*at, {number, number - 1}) if head else {}
        version, before = found.get(number, head), found.get(number - 1)
    return Looked(item, place, version, before, head, _fingerprint(item, kept, head))


def glance(caller: Caller, item_ids: Iterable[str]) -> Mapping[str, tuple[ReviewItem, str]]:
    """Those of some items that the caller reviews, each with its fingerprint; as many queries for one as for many."""
    if caller.member.type != "human":
        return {}
    found = ReviewItem.objects.filter(organisation_id=caller.organisation_id, pk__in=list(item_ids))
    items = list(found.filter(memory__in=reviewable(caller, Q())).select_related("memory", "held"))
    heads: dict[tuple[str, str], RecordVersion] = {}
    for provider in {one.memory.provider for one in items}:
        here = [one for one in items if one.memory.provider == provider and one.record_id]
        heads |= registry.get(provider).heads(Reference(one.record_id, memory_id=one.memory_id) for one in here)
    return {one.id: (one, _fingerprint(one, one.held, heads.get((one.memory_id, one.record_id)))) for one in items}


def _fingerprint(item: ReviewItem, kept: Held | None, head: RecordVersion | None) -> str:
    state = kept.state + str(hashlib.sha256(repr(kept.draft).encode()).hexdigest()) if kept else ""
    parts = [
        item.id,
        item.state,
        item.version,
        item.times,
        state,
        head.number if head else 0,
        head.status if head else "",
    ]
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]


def require_theirs(caller: Caller, item: ReviewItem) -> None:
    """Raise MemoryForbidden for what the caller wrote, or had written on their behalf: nobody approves their own."""
    if caller.member.principal in (item.writer, item.on_behalf_of):
        raise MemoryForbidden("Somebody else has to decide about what you wrote.")


def nearest(seen: Looked, words: str = "") -> list[Near]:
    """The current records of the same memory that are nearest to an item, with what they say otherwise.

    With `words` those that are nearest to these.
    """
    if seen.version is None:
        return []
    said = said_by(seen.version.draft)
    provider = provider_of(seen.place)
    found = provider.candidates([seen.place.memory.id], Question(query=(words or said)[:2000], limit=NEAREST + 1))
    best = sorted(found.candidates, key=lambda one: -max(one.scores.values(), default=0.0))[: NEAREST * 2]
    opened = provider.open([one.key for one in best], View())
    versions = [opened[one.key] for one in best if one.key in opened]
    others = [one for one in versions if one.id != seen.item.record_id][:NEAREST]
    return [Near(one, differences(said, said_by(one.draft))) for one in others]


def compared(seen: Looked, near: Sequence[Near]) -> tuple[Signal, ...]:
    """That an item says what another record says already, or says otherwise than one; told of what is near it now."""
    version, item = seen.version, seen.item
    if version is None:
        return ()
    others, before = [one.version for one in near], None if seen.waits else version.written_at
    return comparing.reasons(version.draft, others, but=[item.record_id, *item.also], before=before)


def named(seen: Looked) -> Mapping[str, RecordVersion]:
    """The records that the reasons of an item name, by their ids; those that are forgotten or erased are absent."""
    ids = {record_id for one in seen.item.signals for record_id in one.get("records", ())}
    if not ids:
        return {}
    heads = provider_of(seen.place).heads(Reference(one, memory_id=seen.place.memory.id) for one in ids)
    return {version.id: version for version in heads.values() if version.status == "active"}


def filtered(found: QuerySet[ReviewItem], filters: Filters) -> QuerySet[ReviewItem]:
    """The items that filters let through."""
    exact: dict[str, Any] = {"memory_id": filters.memory_id, "writer": filters.writer, "type": filters.type}
    found = found.filter(**{name: value for name, value in exact.items() if value})
    if filters.kinds:
        found = found.filter(kind__in=filters.kinds)
    if filters.signal:
        # A name, or all of a kind: `secret` is every name that begins with `secret.`.
        kind = Value(f'$[*].name ? (@ starts with "{filters.signal}.")')
        shape = "%(function)s(%(expressions)s::jsonpath)"
        of_kind = Func(F("signals"), kind, function="jsonb_path_exists", template=shape, output_field=BooleanField())
        found = found.filter(of_kind if filters.signal.isalpha() else Q(signals__contains=[{"name": filters.signal}]))
    if filters.standing is not None:
        found = found.filter(standing=filters.standing)
    if filters.held is not None:
        found = found.filter(held__isnull=not filters.held)
    return found


def recent(caller: Caller, limit: int = 20) -> Sequence[ReviewItem]:
    """The last decisions of the caller that can be taken back, newest first."""
    mine = ReviewItem.objects.filter(organisation_id=caller.organisation_id, reviewer=caller.member.principal)
    return list(mine.exclude(undo=None).order_by("-decided_at", "-id")[:limit])
