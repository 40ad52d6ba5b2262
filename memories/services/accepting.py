"""Looking through a run: a person accepts its changes one by one, or all that are left; who and when is kept.

To accept is to decide, so that it takes what deciding in the inbox takes: a person who reads and deletes here, and for
what was written on somebody's behalf somebody else. An item of the inbox about the record is decided with it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from members import events
from memories.models import ReviewItem, Run, RunChange
from memories.providers.base import RecordVersion
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound, VersionConflict

from . import gate, judging, reverting, reviewing
from .looked_at import UNDONE
from .records import provider_of
from .sight import Place

TOGETHER = 200
OWN = "Somebody else has to decide about what was written on your behalf."
KIND, State = RunChange.Kind, ReviewItem.State


@dataclass(frozen=True)
class Accepted:
    """How many changes were accepted now, and how many were left to somebody else because they are one's own."""

    accepted: int
    own: int


@dataclass(frozen=True)
class Progress:
    """How many changes of a run there are to look at, and at how many of them somebody has."""

    total: int
    looked_at: int


def may_accept(place: Place) -> bool:
    """Whether the caller decides here at all."""
    return reviewing.may_review(place.caller, place)


def accept(place: Place, run_id: str, change_ids: Collection[str] | None = None) -> Accepted:
    """Agree to changes of a run, or to all that nobody has looked at; again it changes nothing.

    Raises MemoryForbidden, also for a chosen change that is one's own, MemoryNotFound, MemoryInvalid for changes of
    another run, MemoryBusy before the run is over, VersionConflict when somebody else decided about a chosen one.
    """
    if not may_accept(place):
        raise MemoryForbidden()
    run = Run.objects.filter(memory_id=place.memory.id, pk=run_id).first()
    if run is None:
        raise MemoryNotFound()
    reverting.require_over(run, place.memory.id)
    if change_ids is not None:
        return _chosen(place, run, set(change_ids))
    accepted = own = after = 0
    while rows := list(open_in(run).filter(position__gt=after).order_by("position")[:TOGETHER]):
        after = rows[-1].position
        done = _accept(place, run, rows)
        accepted, own = accepted + done.accepted, own + done.own
    with transaction.atomic():
        gate.settled(place.memory.id, ReviewItem.Kind.RUN, run.id, place.caller.member.principal)
    return Accepted(accepted, own)


def to_look_at(*runs: Run) -> QuerySet[RunChange]:
    """The changes of runs that wrote or closed something."""
    return RunChange.objects.filter(run__in=runs).exclude(kind=KIND.SUPPORTED, after=None)


def open_in(run: Run) -> QuerySet[RunChange]:
    """The changes that nobody has accepted or taken back."""
    return to_look_at(run).filter(accepted_at=None).exclude(outcome__in=UNDONE)


def progress(runs: Sequence[Run]) -> dict[str, Progress]:
    """How far each run was looked through; one query however many."""
    looked_at = ~Q(accepted_by="") | Q(outcome__in=UNDONE)
    counted = to_look_at(*runs).order_by().values("run").annotate(total=Count("pk"), seen=Count("pk", filter=looked_at))
    return {row["run"]: Progress(row["total"], row["seen"]) for row in counted}


@transaction.atomic
def _chosen(place: Place, run: Run, change_ids: Collection[str]) -> Accepted:
    rows = list(RunChange.objects.select_for_update(of=("self",)).filter(run=run, pk__in=change_ids))
    if len(rows) < len(change_ids):
        raise MemoryInvalid("There is no such change in this run.", param="changes")
    principal = place.caller.member.principal
    if any(row.outcome in UNDONE or row.accepted_by not in ("", principal) for row in rows):
        raise VersionConflict(judging.CHANGED)
    done = _accept(place, run, [row for row in rows if row.accepted_at is None])
    if done.own:
        raise MemoryForbidden(OWN)
    if not open_in(run).exists():
        gate.settled(place.memory.id, ReviewItem.Kind.RUN, run.id, principal)
    return done


@transaction.atomic
def _accept(place: Place, run: Run, rows: Sequence[RunChange]) -> Accepted:
    histories = provider_of(place).histories(place.memory.id, {row.record_id for row in rows})
    numbered = {(one.id, one.number): one for versions in histories.values() for one in versions}
    theirs = [row for row in rows if not _own(place, row, numbered.get((row.record_id, row.after or 0)))]
    now, principal = timezone.now(), place.caller.member.principal
    waiting = RunChange.objects.filter(pk__in=[row.pk for row in theirs], accepted_at=None).exclude(outcome__in=UNDONE)
    accepted = waiting.update(accepted_by=principal, accepted_at=now)
    versions = {(row.record_id, row.after) for row in theirs}
    items = ReviewItem.objects.select_for_update(of=("self",)).filter(
        memory_id=place.memory.id,
        record_id__in={row.record_id for row in theirs},
        kind__in=[ReviewItem.Kind.NEW, ReviewItem.Kind.REVISED],
        held=None,
        state=State.OPEN,
    )
    for item in items:
        if (item.record_id, item.version) in versions:
            judging.settle(item, place.caller, State.KEPT, "review.kept", now)
    if accepted:
        _happened(place, run, accepted)
    return Accepted(accepted, len(rows) - len(theirs))


def _own(place: Place, row: RunChange, version: RecordVersion | None) -> bool:
    if row.kind == KIND.FORGOTTEN or version is None:
        return False
    principal = place.caller.member.principal
    return principal in (f"{version.writer.kind}:{version.writer.id}", version.writer.on_behalf_of)


def _happened(place: Place, run: Run, accepted: int) -> None:
    caller = place.caller
    events.record(
        caller.organisation_id,
        caller.actor,
        "consolidation.accepted",
        memory_id=place.memory.id,
        subject=run.id,
        changes=accepted,
    )
