"""What runs in the background, for those it concerns: list it, try it again, cancel what may be cancelled.

A job of a memory is seen by who may do what it does there, by who looks after that memory, and by who asked for it; the
rest, such as removing what a deleted memory held, by the owners of the organisation. Of a job elsewhere nobody learns
that there is one, but for owners, who can be told that something runs, and nothing about where.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from members import events
from members.callers import Caller
from memories.access import Privilege
from memories.models import Job, Memory, Run
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound

from . import erasure, fairness, jobs, observing, runs
from .sight import Place, look
from .tree import CONSOLIDATION

# What it takes to see and to command the jobs of a memory, by kind; of other kinds owners alone.
NEEDED: Mapping[str, Privilege] = {
    CONSOLIDATION: Privilege.WRITE,
    erasure.KIND: Privilege.DELETE,
    observing.KIND: Privilege.WRITE,
}


@dataclass(frozen=True)
class Shown:
    """A job with what the caller is told of it: nothing but its kind and state unless `open`.

    `memory` is None where the caller does not see it, `commands` whether the caller may try again or cancel.
    """

    job: Job
    open: bool
    commands: bool
    memory: Memory | None


def listed(
    caller: Caller,
    limit: int,
    before: tuple[datetime, str] | None = None,
    memory: Memory | None = None,
    states: Collection[str] = (),
    *,
    every: bool = False,
) -> Sequence[Job]:
    """The jobs that a caller may see, newest first; those of one memory, or in some states, when that is named.

    With `every`, an owner gets those of the whole organisation, to be shown as `shown` says.
    """
    found = Job.objects.of(caller.organisation_id)
    if states:
        found = found.filter(state__in=states)
    if memory is not None:
        found = found.filter(memory_id=memory.id)
    if not (every and caller.member.is_owner):
        # Jobs name memories by their public id in a column of text; only of those that one names it is asked.
        named = list(found.filter(kind__in=list(NEEDED)).order_by().values_list("memory_id", flat=True).distinct())
        held = Memory.objects.of(caller.organisation_id).filter(pk__in=named)
        kept = list(held.held_by(caller.principals, Privilege.DELETE).values_list("id", flat=True))
        written = list(held.held_by(caller.principals, Privilege.WRITE).values_list("id", flat=True))
        writing = [kind for kind, needed in NEEDED.items() if needed == Privilege.WRITE]
        seen = Q(kind__in=list(NEEDED), memory_id__in=kept) | Q(kind__in=writing, memory_id__in=written)
        seen |= Q(actor=caller.member.principal)
        found = found.filter(seen | ~Q(kind__in=list(NEEDED)) if caller.member.is_owner else seen)
    if before:
        moment, job_id = before
        found = found.filter(Q(created_at__lt=moment) | Q(created_at=moment, id__lt=job_id))
    return list(found.order_by("-created_at", "-id")[:limit])


def shown(caller: Caller, found: Sequence[Job]) -> list[Shown]:
    """What a caller is told of each of these jobs, in a constant number of queries."""
    near = Memory.objects.of(caller.organisation_id).filter(pk__in={job.memory_id for job in found if job.memory_id})
    places = {one.id: one for one in near.held_by(caller.principals).with_privileges(caller.principals)}
    rows = []
    for job in found:
        memory, needed = places.get(job.memory_id), NEEDED.get(job.kind)
        held = Privilege(memory.held) if memory else Privilege.NONE
        owns = needed is None and caller.member.is_owner
        commands = owns or (needed is not None and needed in held)
        # What a memory held that is deleted, how much it was included, an owner need not have been told either.
        told = (commands and not (owns and job.memory_id)) or Privilege.DELETE in held
        told = told or job.actor == caller.member.principal
        rows.append(Shown(job, told, commands, memory if told else None))
    return rows


def find(caller: Caller, job_id: str) -> tuple[Job, Place | None]:
    """A job that the caller may see and command, and its memory. Raises MemoryNotFound, alike for every other."""
    job = Job.objects.of(caller.organisation_id).filter(pk=job_id).first()
    if job is None:
        raise MemoryNotFound()
    needed = NEEDED.get(job.kind)
    if needed is None:
        if not caller.member.is_owner:
            raise MemoryNotFound()
        return job, None
    try:
        place = look(caller, job.memory_id)
        place.require(needed)
    except MemoryForbidden:
        raise MemoryNotFound() from None
    return job, place


@transaction.atomic
def cancel(caller: Caller, job_id: str) -> Job:
    """Cancel a consolidation: one that waits at once, one that runs after its batch.

    Raises MemoryNotFound, and MemoryInvalid for what was promised to be done, such as an erasure.
    """
    job, place = find(caller, job_id)
    if job.kind != CONSOLIDATION or place is None:
        raise MemoryInvalid("This is done to its end once it is accepted.", param="job")
    run = Run.objects.filter(job_id=job.id).first()
    if run is not None:
        runs.stop(place, run.id)
    job.refresh_from_db()
    return job


@transaction.atomic
def retry(caller: Caller, job_id: str) -> Job:
    """Try a failed job once more. Raises MemoryNotFound, and MemoryInvalid for one that has not failed."""
    job, _ = find(caller, job_id)
    if job.state != Job.State.FAILED:
        raise MemoryInvalid("Only what failed is tried again.", param="job")
    jobs.retry(job)
    if job.kind in jobs.IN_TURNS:
        transaction.on_commit(fairness.send)
    events.record(caller.organisation_id, caller.actor, "job.retried", memory_id=job.memory_id, subject=job.id)
    job.refresh_from_db()
    return job
