"""Conflicts: two records that differ in what matters, or of which a member wrote one. A person decides, once.

A decision can be taken back with the others of the inbox (`undoing`): what was forgotten is written anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from members import events
from memories.access import Privilege
from memories.content import Draft
from memories.models import Conflict
from memories.providers.base import RecordVersion
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound, VersionConflict

from . import gate, records, refusals
from .judging import CHANGED, Step
from .records import provider_of
from .sight import Place

Decision = Conflict.Decision


@dataclass(frozen=True)
class Pair:
    """A conflict that can still be decided: both records, as they are now."""

    conflict: Conflict
    this: RecordVersion
    that: RecordVersion | None


def listed(place: Place, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Pair]:
    """The open conflicts of a memory, newest first, but for those of which a record is gone. Needs read."""
    return pairs(place, opened(place, limit, before))


def opened(place: Place, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Conflict]:
    """The rows of the open conflicts of a memory, newest first; of some a record may be gone. Needs read."""
    place.require(Privilege.READ)
    found = Conflict.objects.filter(memory_id=place.memory.id, state=Conflict.State.OPEN)
    if before:
        moment, conflict_id = before
        found = found.filter(Q(created_at__lt=moment) | Q(created_at=moment, id__lt=conflict_id))
    return list(found.order_by("-created_at", "-id")[:limit])


def pairs(place: Place, conflicts: Sequence[Conflict]) -> list[Pair]:
    """Conflicts with their records; those of which one is forgotten or erased are left out."""
    ids = {one for conflict in conflicts for one in (conflict.this_id, conflict.that_id) if one}
    heads = {one: versions[-1] for one, versions in provider_of(place).histories(place.memory.id, ids).items()}
    current = {one: head for one, head in heads.items() if head.status == "active"}
    return [
        Pair(conflict, current[conflict.this_id], current.get(conflict.that_id or ""))
        for conflict in conflicts
        if conflict.this_id in current and (conflict.that_id is None or conflict.that_id in current)
    ]


def find(place: Place, conflict_id: str) -> Pair:
    """An open conflict of a memory. Raises MemoryForbidden without read, and MemoryNotFound."""
    place.require(Privilege.READ)
    found = list(Conflict.objects.filter(memory_id=place.memory.id, pk=conflict_id, state=Conflict.State.OPEN))
    shown = pairs(place, found)
    if not shown:
        raise MemoryNotFound()
    return shown[0]


@transaction.atomic
def decide(place: Place, conflict_id: str, decision: Decision, draft: Draft | None = None) -> Conflict:
    """Decide a conflict: keep `this`, keep `that`, keep `both`, or write a `new` record in place of both.

    What is not kept is forgotten, and no run writes it again. Raises MemoryForbidden without read and write,
    MemoryNotFound for one that is decided or whose records are gone, MemoryInvalid.
    """
    place.require(Privilege.READ | Privilege.WRITE)
    conflict = Conflict.objects.select_for_update().filter(memory_id=place.memory.id, pk=conflict_id).first()
    if conflict is None or conflict.state != Conflict.State.OPEN:
        raise MemoryNotFound()
    pair = find(place, conflict_id)
    if (decision == Decision.NEW) is (draft is None):
        raise MemoryInvalid("A new record, and nothing else, says what it says.", param="content")
    if pair.that is None and decision == Decision.BOTH:
        raise MemoryInvalid("There is one record to decide about.", param="decision")
    keeps_this = decision in (Decision.THIS, Decision.BOTH)
    keeps_that = decision in (Decision.THAT, Decision.BOTH)
    steps, waits = list[Step](), ""
    for version, keeps in ((pair.this, keeps_this), (pair.that, keeps_that)):
        if version is not None and not keeps:
            records.forget(place, version.id, records.Expected(frozenset({version.number})))
            steps.append(Step(place.memory.id, version.id, version.number, version.number))
    if draft is not None:
        written = records.remember(place, draft)
        refusals.accept(place.memory.id, [refusals.content_hash(place.memory.id, draft)])
        if written.review:
            waits = written.id
        else:
            steps.append(Step(place.memory.id, written.id, written.number))
    conflict.state, conflict.decision = Conflict.State.DECIDED, decision
    conflict.decided_by, conflict.decided_at = place.caller.member.principal, timezone.now()
    conflict.save(update_fields=["state", "decision", "decided_by", "decided_at"])
    undo = {"steps": [vars(step) for step in steps], "conflict": conflict.id, "waits": waits}
    gate.decided(place.memory.id, conflict.id, place.caller.member.principal, undo)
    caller = place.caller
    events.record(
        caller.organisation_id,
        caller.actor,
        "conflict.decided",
        memory_id=place.memory.id,
        subject=conflict.id,
        decision=decision.value,
    )
    return conflict


def reopen(place: Place, undo: Mapping[str, Any]) -> None:
    """Open a conflict again whose decision was taken back, after its steps were; in that transaction.

    Raises MemoryForbidden without read and write, VersionConflict when one of its records is not there any more, or
    when somebody let through what was written in place of both.
    """
    place.require(Privilege.READ | Privilege.WRITE)
    conflict = Conflict.objects.select_for_update().filter(memory_id=place.memory.id, pk=undo["conflict"]).first()
    if conflict is None or conflict.state != Conflict.State.DECIDED:
        raise VersionConflict(CHANGED)
    if undo["waits"] and gate.withdraw(place, undo["waits"], records.writer(place)) is None:
        raise VersionConflict(CHANGED)
    conflict.state, conflict.decision, conflict.decided_by, conflict.decided_at = Conflict.State.OPEN, "", "", None
    conflict.save(update_fields=["state", "decision", "decided_by", "decided_at"])
    try:
        pair = find(place, conflict.id)
    except MemoryNotFound:
        raise VersionConflict(CHANGED) from None
    # Forgetting said that this is not wanted; now it is asked again.
    back = [one for one in (pair.this, pair.that) if one and one.id in {step["record_id"] for step in undo["steps"]}]
    refusals.accept(place.memory.id, [refusals.content_hash(place.memory.id, one.draft) for one in back])
