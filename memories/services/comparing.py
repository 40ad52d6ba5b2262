"""What is written beside what its memory says already: the same, or otherwise. Kept as reasons of the item about it.

Nobody who writes waits for it, but where a rule of the memory asks: an item is completed a moment later. Always within
one memory, with what was there before, and never with what waits. Of another record nothing is kept but its id.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet

from members.callers import caller_for
from members.models import Member
from memories.access import Privilege
from memories.content import Draft, Reference, words_of
from memories.models import Memory, ReviewItem
from memories.providers import registry
from memories.providers.base import RecordVersion, Writer
from memories.signals.base import Signal
from memories.signals.context import COMPARED, Nearby, conflict, near_duplicate
from uhp_site.alone import alone

from . import held

# With so many of those that share most words a text is compared, and so many are named in one reason.
NEAREST = 20
NAMED = 5
BATCH = 20
# How long one round of the sweep works before it leaves the rest to the next, in seconds.
PATIENCE_SECONDS = 20.0
COMPARING = 0xA11CE
# Of so many records one query looks for the reasons that name them.
TOGETHER = 50
EPISODE, PROVIDER, HELD = "episode", "provider", "held"
State = ReviewItem.State

log = structlog.get_logger(__name__)


def said_by(draft: Draft) -> str:
    """The title and the words of a draft."""
    return words_of(draft.title, draft.content, {})


def reasons(
    draft: Draft, others: Iterable[RecordVersion], *, but: Collection[str] = (), before: datetime | None = None
) -> tuple[Signal, ...]:
    """That a draft says what another record says already, or says otherwise than one, each with the ids of those.

    It is not compared with episodes, with what it was derived from, and with what was written after `before`.
    """
    if draft.type == EPISODE:
        return ()
    said = said_by(draft)
    passed = {*but, *(one.record_id for one in draft.references if one.rel == held.DERIVED)}
    nearby = [
        Nearby(one.id, said_by(one.draft))
        for one in others
        if one.id not in passed
        and one.status == "active"
        and one.draft.type != EPISODE
        and (before is None or one.written_at < before)
    ]
    same, other = near_duplicate(said, nearby), conflict(said, nearby)
    found = (same, other[0] if other else None)
    return tuple(replace(one, records=one.records[:NAMED]) for one in found if one)


def at_write(memory: Memory, draft: Draft, writer: Writer, record_id: str = "") -> tuple[Signal, ...]:
    """The reasons before anything is written, for a rule that asks; none for a writer who does not read here.

    They name no record: one could be erased before this is committed. The sweep does, a moment later.
    """
    if draft.type == EPISODE or not reads(memory, writer):
        return ()
    found = registry.get(memory.provider).alike(memory.id, said_by(draft), NEAREST)
    return tuple(replace(one, records=()) for one in reasons(draft, found, but=[record_id]))


def reads(memory: Memory, writer: Writer) -> bool:
    """Whether a writer may read what a memory says; a provider is at work inside it."""
    if writer.kind == PROVIDER:
        return True
    if HELD in memory.__dict__:
        # It was found with what the one who writes now holds there.
        return Privilege.READ in Privilege(memory.held)
    member = Member.objects.of(memory.organisation_id).active().filter(pk=writer.id).first()
    if writer.kind != "member" or member is None:
        return False
    here = Memory.objects.of(memory.organisation_id).filter(pk=memory.id)
    return here.held_by(caller_for(member).principals, Privilege.READ).exists()


def sweep() -> int:
    """Compare what is still to be compared, some of each organisation in turn; returns how many items were completed.

    Two rounds at once do not get in each other's way: the second does nothing.
    """
    with alone(COMPARING) as mine:
        return _round(time.monotonic() + PATIENCE_SECONDS) if mine else 0


def _round(until: float) -> int:
    done, passed = 0, set[str]()
    turns = list(_waiting().order_by().values_list("organisation_id", flat=True).distinct())
    while turns and time.monotonic() < until:
        for organisation_id in list(turns):
            batch = _waiting().filter(organisation_id=organisation_id).exclude(pk__in=passed)
            items = list(batch.select_related("memory", "held").order_by("created_at")[:BATCH])
            for item in items:
                if not _completed(item):
                    # It changed just now, or failed: the next round looks at it again.
                    passed.add(item.id)
                else:
                    done += 1
            if not items or time.monotonic() >= until:
                turns.remove(organisation_id)
    return done


def _waiting() -> QuerySet[ReviewItem]:
    return ReviewItem.objects.filter(state=State.OPEN, to_compare=True, memory__deletion=None)


def _completed(item: ReviewItem) -> bool:
    try:
        return complete(item, found_for(item))
    except Exception as failure:
        log.error("comparing_failed", item_id=item.id, memory_id=item.memory_id, failure=type(failure).__name__)
        return False


def found_for(item: ReviewItem) -> tuple[Signal, ...]:
    """The reasons of an item that come from what its memory says otherwise; none where its writer may not read it."""
    provider = registry.get(item.memory.provider)
    before: datetime | None = None
    if item.held is not None:
        if not reads(item.memory, held.writer_of(item.held)):
            return ()
        draft = held.read_line(item.held.draft or {})
    else:
        number = item.version or 0
        version = provider.numbered(item.memory_id, item.record_id, {number}).get(number)
        if version is None:
            return ()
        draft, before = version.draft, version.written_at
    if draft.type == EPISODE:
        return ()
    others = provider.alike(item.memory_id, said_by(draft), NEAREST)
    return reasons(draft, others, but=[item.record_id, *item.also], before=before)


@transaction.atomic
def complete(item: ReviewItem, found: Sequence[Signal]) -> bool:
    """Keep these reasons with an item in place of what it was told before; false when it, or a record, is another now.

    Whoever decided meanwhile is left alone.
    """
    provider = registry.get(item.memory.provider)
    # From here on none of the records is erased, and one that was is not named.
    provider.derive(item.organisation_id)
    named = [Reference(one, memory_id=item.memory_id) for signal in found for one in signal.records]
    there = provider.existing(named) if named else {}
    if any((item.memory_id, one.record_id) not in there for one in named):
        return False
    signals = [one for one in item.signals if one["name"] not in COMPARED] + [kept(one) for one in found]
    same = ReviewItem.objects.filter(pk=item.pk, state=State.OPEN, to_compare=True)
    # Each time somebody writes at it, it counts one more.
    same = same.filter(times=item.times, version=item.version)
    return bool(same.update(signals=signals, weight=weight(signals), to_compare=False))


def kept(signal: Signal) -> dict[str, Any]:
    """A signal as an item keeps it."""
    row: dict[str, Any] = {"name": signal.name, "weight": signal.weight, "reason": signal.reason}
    return {**row, "records": list(signal.records)} if signal.records else row


def weight(signals: Iterable[Mapping[str, Any]]) -> float:
    """The weight of the strongest of the signals that an item keeps; 0 without any."""
    return max((float(one["weight"]) for one in signals), default=0.0)


def erase(organisation_id: str, erased: Collection[tuple[str, str]]) -> int:
    """Take these records, by (memory id, record id), out of the reasons that name them; how many items named one.

    A reason goes with the last record that it names.
    """
    gone = {record_id for _, record_id in erased}
    items = [item for some in _naming(organisation_id, erased) for item in some.select_for_update().order_by("pk")]
    for item in items:
        item.signals = [left for one in item.signals if (left := _without(one, gone)) is not None]
        ReviewItem.objects.filter(pk=item.pk).update(signals=item.signals, weight=weight(item.signals))
    return len({item.id for item in items})


def left(organisation_id: str, erased: Collection[tuple[str, str]]) -> int:
    """How many items still name one of these records in a reason."""
    return sum(some.count() for some in _naming(organisation_id, erased))


def _without(signal: Mapping[str, Any], gone: Collection[str]) -> dict[str, Any] | None:
    if "records" not in signal:
        return dict(signal)
    records = [one for one in signal["records"] if one not in gone]
    return {**signal, "records": records} if records else None


def _naming(organisation_id: str, erased: Collection[tuple[str, str]]) -> Iterable[QuerySet[ReviewItem]]:
    pairs = sorted(erased)
    for start in range(0, len(pairs), TOGETHER):
        some = pairs[start : start + TOGETHER]
        named = Q()
        for _, record_id in some:
            named |= Q(signals__contains=[{"records": [record_id]}])
        memories = {memory_id for memory_id, _ in some}
        yield ReviewItem.objects.filter(named, organisation_id=organisation_id, memory_id__in=memories)
