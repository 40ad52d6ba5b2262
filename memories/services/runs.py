"""The verbs on consolidation runs: start, stop, list and read; what happens inside one is in `consolidating`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from members import events
from members.callers import Caller
from members.events import SYSTEM, Actor
from memories.access import Privilege
from memories.models import Job, Memory, Run, RunChange
from memories.providers import registry
from memories.providers.base import Provider, RecordVersion
from uhp_site.http.errors import MemoryBusy, MemoryNotFound, MemoryUnsupported

from . import fairness, jobs, reverting, schedules, telling, undoing_many
from .records import provider_of
from .sight import Place
from .steady import lock_tree, steady
from .tree import CONSOLIDATION

BUSY = "A consolidation of this memory is waiting or running already."


@dataclass(frozen=True)
class Budget:
    """How much one run may use: of tokens, or of episodes."""

    limit: int
    unit: str = Run.Unit.TOKENS


@dataclass(frozen=True)
class Changed:
    """A change of a run with the versions before and after it, those that are still kept."""

    change: RunChange
    before: RecordVersion | None
    after: RecordVersion | None

    @property
    def shown(self) -> RecordVersion:
        """The version that the change is about: what the run wrote, or else what it closed."""
        version = self.after or self.before
        assert version is not None
        return version


@steady
def start(place: Place, budget: Budget | None = None) -> Run:
    """Start a run of a memory. Raises MemoryForbidden without write, MemoryBusy, MemoryUnsupported."""
    # Moving and deleting have this lock alone: either they see the run, or it begins after them.
    lock_tree(place.caller.organisation_id, shared=True)
    place = place.again()
    place.require(Privilege.WRITE)
    require_runs(provider_of(place))
    return begin(place.memory, Run.Trigger.REQUEST, place.caller.actor, budget)


@steady
def start_by_itself(memory_id: str, organisation_id: str, trigger: Run.Trigger) -> Run | None:
    """Start a run in nobody's name; None when the memory is gone. Raises MemoryBusy, MemoryUnsupported."""
    lock_tree(organisation_id, shared=True)
    memory = Memory.objects.of(organisation_id).filter(pk=memory_id).first()
    if memory is None:
        return None
    require_runs(registry.get(memory.provider))
    return begin(memory, trigger, SYSTEM, None)


def begin(memory: Memory, trigger: Run.Trigger, actor: Actor, budget: Budget | None) -> Run:
    """Add a run to the current transaction, which holds the tree; it goes on where the one before it ended."""
    if undoing_many.alone(memory) and reverting.undoing(memory):
        raise MemoryBusy(reverting.UNDOING)
    last = Run.objects.of_memory(memory.id).first()
    job = Job.objects.create(
        organisation_id=memory.organisation_id, kind=CONSOLIDATION, memory_id=memory.id, actor=actor.principal
    )
    try:
        with transaction.atomic():
            run = Run.objects.create(
                organisation_id=memory.organisation_id,
                memory=memory,
                job_id=job.id,
                trigger=trigger,
                actor=actor.principal,
                engine=schedules.engine_of(memory).name,
                budget_limit=budget.limit if budget else None,
                budget_unit=budget.unit if budget else "",
                through_at=last.through_at if last else None,
                through_id=last.through_id if last else "",
            )
    except IntegrityError:
        raise MemoryBusy(BUSY) from None
    job.payload = {"run": run.id}
    job.save(update_fields=["payload"])
    events.record(
        memory.organisation_id, actor, "consolidation.started", memory_id=memory.id, subject=run.id, trigger=run.trigger
    )
    transaction.on_commit(fairness.send)
    return run


@transaction.atomic
def stop(place: Place, run_id: str) -> Run:
    """Stop a run: one that waits at once, one that runs after the batch it is at; what it did stays.

    Raises MemoryForbidden without write, MemoryNotFound. A run that is over stays as it is.
    """
    place.require(Privilege.WRITE)
    run = Run.objects.select_for_update().filter(memory_id=place.memory.id, pk=run_id).first()
    if run is None:
        raise MemoryNotFound()
    if not run.is_active or run.stop_asked:
        return run
    run.stop_asked = True
    if run.state == Run.State.QUEUED:
        run.state, run.finished_at = Run.State.STOPPED, timezone.now()
        for job in Job.objects.filter(pk=run.job_id):
            jobs.cancel(job)
    run.save(update_fields=["stop_asked", "state", "finished_at"])
    if run.state == Run.State.STOPPED:
        telling.finished(run)
    caller = place.caller
    events.record(
        caller.organisation_id, caller.actor, "consolidation.stopped", memory_id=place.memory.id, subject=run.id
    )
    return run


def listed(place: Place, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Run]:
    """The runs of a memory, newest first. Raises MemoryForbidden without read, MemoryUnsupported."""
    place.require(Privilege.READ)
    require_runs(provider_of(place))
    found = Run.objects.of_memory(place.memory.id)
    if before:
        moment, run_id = before
        found = found.filter(Q(created_at__lt=moment) | Q(created_at=moment, id__lt=run_id))
    return list(found[:limit])


def find(place: Place, run_id: str) -> Run:
    """A run of a memory. Raises MemoryForbidden without read or delete, MemoryNotFound."""
    place.require(Privilege.READ, Privilege.DELETE)
    run = Run.objects.filter(memory_id=place.memory.id, pk=run_id).first()
    if run is None:
        raise MemoryNotFound()
    return run


def everywhere(caller: Caller, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Run]:
    """The runs of all memories that a caller reads, newest first, with their memories."""
    readable = Memory.objects.of(caller.organisation_id).held_by(caller.principals, Privilege.READ)
    found = Run.objects.filter(organisation_id=caller.organisation_id, memory__in=readable).select_related("memory")
    if before:
        moment, run_id = before
        found = found.filter(Q(created_at__lt=moment) | Q(created_at=moment, id__lt=run_id))
    return list(found.order_by("-created_at", "-id")[:limit])


def changes(place: Place, run: Run, limit: int, after: int = 0, kind: str = "") -> tuple[Sequence[Changed], int | None]:
    """The changes of a run after a position, in its order, and the position after which there are more.

    With a `kind`, those of that kind only. Of a record that was erased nothing is left to show. Raises MemoryForbidden
    without read.
    """
    place.require(Privilege.READ)
    found = RunChange.objects.filter(run=run, position__gt=after)
    found = found.filter(kind=kind) if kind else found
    rows = list(found.order_by("position")[: limit + 1])
    page = rows[:limit]
    return with_versions(place, page), page[-1].position if len(rows) > limit else None


def with_versions(place: Place, rows: Sequence[RunChange]) -> list[Changed]:
    """Changes with the versions they name, without those of erased records."""
    found = provider_of(place).histories(place.memory.id, {row.record_id for row in rows})
    numbered = {(one.id, one.number): one for versions in found.values() for one in versions}
    changed = [
        Changed(row, numbered.get((row.record_id, row.before or 0)), numbered.get((row.record_id, row.after or 0)))
        for row in rows
    ]
    return [one for one in changed if one.before or one.after]


def require_runs(provider: Provider) -> None:
    """Raise MemoryUnsupported for a provider whose memories are not consolidated here."""
    if provider.capabilities().get("consolidate") != "runs":
        raise MemoryUnsupported()
