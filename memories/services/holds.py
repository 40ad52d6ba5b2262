"""The verbs on holds, and the question every removal asks: may this go?

A hold on a memory covers everything below it. It forbids removing, not working: what is revised or forgotten is still
there in its history. Removals and holds wait for each other, so that a hold either stops one or comes after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from members import events
from members.callers import Caller
from memories.access import Privilege
from memories.content import Reference
from memories.models import Hold, Memory, Reach
from uhp_site.http.errors import MemoryNotFound, OnHold, RecordNotFound

from .records import provider_of
from .sight import Place, look

LOCK = 0x401D


@transaction.atomic
def place_hold(place: Place, reason: str, record_id: str | None = None) -> Hold:
    """Put a memory, or one record of it, on hold. Raises MemoryForbidden without delete, and RecordNotFound."""
    _lock(place.caller.organisation_id, alone=True)
    place = place.again()
    place.require(Privilege.DELETE)
    memory, caller = place.memory, place.caller
    if record_id is not None and not provider_of(place).existing([Reference(record_id, memory_id=memory.id)]):
        raise RecordNotFound()
    hold = Hold.objects.create(
        organisation_id=caller.organisation_id,
        memory_id=memory.id,
        record_id=record_id,
        reason=reason,
        placed_by=caller.member.principal,
        placed_at=timezone.now(),
    )
    detail = {"record_id": record_id} if record_id else {}
    events.record(caller.organisation_id, caller.actor, "hold.placed", memory_id=memory.id, subject=hold.id, **detail)
    return hold


def find(caller: Caller, hold_id: str) -> tuple[Place, Hold]:
    """A hold and its memory. Raises MemoryNotFound, alike for an unknown one and one on a memory that is not seen."""
    hold = Hold.objects.of(caller.organisation_id).filter(pk=hold_id).first()
    if hold is None:
        raise MemoryNotFound()
    return look(caller, hold.memory_id), hold


@transaction.atomic
def lift(caller: Caller, hold_id: str) -> Hold:
    """End a hold; its row stays. Raises MemoryForbidden without delete, and MemoryNotFound, also when it was lifted."""
    _lock(caller.organisation_id, alone=True)
    place, hold = find(caller, hold_id)
    place.require(Privilege.DELETE)
    if hold.lifted_at is not None:
        raise MemoryNotFound()
    hold.lifted_at, hold.lifted_by = timezone.now(), caller.member.principal
    hold.save(update_fields=["lifted_at", "lifted_by"])
    events.record(caller.organisation_id, caller.actor, "hold.lifted", memory_id=hold.memory_id, subject=hold.id)
    return hold


def listed(place: Place, limit: int, *, lifted: bool = False, before: tuple[Any, str] | None = None) -> Sequence[Hold]:
    """Holds that sit on a memory and on its records, newest first. Raises MemoryForbidden without delete."""
    place.require(Privilege.DELETE)
    found = Hold.objects.filter(memory_id=place.memory.id)
    if not lifted:
        found = found.standing()
    if before:
        moment, hold_id = before
        found = found.filter(Q(placed_at__lt=moment) | Q(placed_at=moment, id__lt=hold_id))
    return list(found.order_by("-placed_at", "-id")[:limit])


def require_free(caller: Caller, memory: Memory, record_ids: Collection[str] | None = None) -> None:
    """Raise OnHold when something of what is to be removed must be kept: these records, or else the whole branch.

    Called in the transaction that removes, and before it locks any row: new holds wait until that transaction ends.
    """
    _lock(caller.organisation_id)
    standing = Hold.objects.of(caller.organisation_id).standing()
    over = standing.over([memory.id])
    within = standing.inside(memory.id) if record_ids is None else standing.filter(record_id__in=record_ids)
    if found := {hold.id: hold for hold in [*over, *within]}:
        raise refusal(caller, found.values())


def require_free_to_move(caller: Caller, memory: Memory, target_id: str | None) -> None:
    """Raise OnHold when moving a memory would take it out from under a hold on a memory above it."""
    _lock(caller.organisation_id)
    over = Hold.objects.of(caller.organisation_id).standing().over([memory.id]).exclude(memory_id=memory.id)
    kept = set(Reach.objects.filter(descendant=target_id).values_list("ancestor_id", flat=True)) if target_id else set()
    if left := [hold for hold in over if hold.memory_id not in kept]:
        raise refusal(caller, left)


def held(organisation_id: str, records: Collection[tuple[str, str]]) -> set[str]:
    """Which of these records, named with their memories, must be kept; new holds wait as for `require_free`."""
    _lock(organisation_id)
    standing = Hold.objects.of(organisation_id).standing()
    single = set(
        standing.filter(record_id__in={record_id for _, record_id in records}).values_list("record_id", flat=True)
    )
    memory_ids = {memory_id for memory_id, _ in records}
    covering = Reach.objects.filter(
        descendant__in=memory_ids, ancestor__in=standing.over(memory_ids).values("memory_id")
    )
    whole = set(covering.values_list("descendant_id", flat=True))
    return {record_id for memory_id, record_id in records if record_id in single or memory_id in whole}


def refusal(caller: Caller, holds: Iterable[Hold]) -> OnHold:
    """The refusal, with the holds on memories that the caller sees; of others it says only that there are some."""
    found = sorted(holds, key=lambda hold: hold.id)
    seen = set(
        Memory.objects.of(caller.organisation_id)
        .filter(pk__in={hold.memory_id for hold in found})
        .held_by(caller.principals)
        .values_list("id", flat=True)
    )
    shown = [
        {"id": hold.id, "memory_id": hold.memory_id, "record_id": hold.record_id, "reason": hold.reason}
        for hold in found
        if hold.memory_id in seen
    ]
    why = f"On hold: {shown[0]['reason']}" if shown else ""
    return OnHold(why, detail={"holds": shown, "hidden": len(shown) < len(found)})


def _lock(organisation_id: str, *, alone: bool = False) -> None:
    function = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, hashtext(%s))", [LOCK, organisation_id])
