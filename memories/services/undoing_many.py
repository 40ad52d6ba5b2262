"""Taking back what is too much for one request: a job does it in batches, each a transaction of its own.

Killed anywhere, nothing of a batch has happened, or all of it, and whoever goes on does so below the last one. While it
is unfinished, no run of its memory begins.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from members.events import Actor, Origin
from memories.access import Privilege
from memories.models import Job, Memory, Run
from memories.providers import registry
from memories.providers.base import Writer
from uhp_site.http.errors import MemoryBusy, MemoryNotFound, MemoryUnavailable

from . import jobs, reverting
from .records import writer
from .reverting import REVERT, Extent, Hands, Taken
from .sight import Place

# What is taken back within the request that asks for it: so many changes.
AT_ONCE = 300
# How long a request waits for what it began, or for another that is at it.
PATIENCE_SECONDS = 50.0
LOOK_AGAIN_SECONDS = 0.1
COUNTED = ("restored", "forgotten", "skipped")


@transaction.atomic
def begin(
    place: Place, run_id: str, change_ids: Collection[str] | None = None, *, rest: bool = False, later: bool = False
) -> Run | Job:
    """Take a run back at once when that is little, or begin a job that does; who asks for the same joins the job.

    `later` leaves the job to a worker. Raises what `reverting.revert` raises, and MemoryBusy while something else is
    taken back in the memory.
    """
    place.require(Privilege.DELETE)
    memory = alone(place.memory)
    run = Run.objects.filter(memory_id=place.memory.id, pk=run_id).first() if memory else None
    if run is None:
        raise MemoryNotFound()
    extent = reverting.extent_of(run, change_ids, rest=rest)
    if at_it := reverting.undoing(place.memory):
        if at_it.payload["run"] == run.id and covers(extent_in(at_it), extent):
            return at_it
        raise MemoryBusy(reverting.UNDOING)
    reverting.require_over(run, place.memory.id)
    total = reverting.changes_in(run, extent).count()
    if total <= AT_ONCE:
        return reverting.revert(place, run_id, change_ids, rest=rest)
    caller = place.caller
    payload: dict[str, Any] = {
        "run": run.id,
        "changes": None if extent.chosen is None else sorted(extent.chosen),
        "rest": extent.rest,
        "by": asdict(writer(place)),
        "via": caller.origin.via,
        "address": caller.origin.address,
    }
    job = Job.objects.create(
        organisation_id=caller.organisation_id,
        kind=REVERT,
        memory_id=place.memory.id,
        actor=caller.member.principal,
        payload=payload,
        total=total,
    )
    place.used(wrote=True)
    if later:
        transaction.on_commit(partial(jobs.send, job.id))
    return job


def finish(place: Place, job_id: str) -> Run:
    """Do a job as long as a request may last, or wait for whoever does it; the run once all of it is taken back.

    Raises MemoryUnavailable while it is not: a worker goes on with it.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        jobs.run(job_id, {REVERT: partial(work, until=until)})
        job = find(place, job_id)
        if job.state == Job.State.COMPLETED:
            return Run.objects.get(pk=job.payload["run"])
        over = job.state in (Job.State.FAILED, Job.State.CANCELLED)
        if job.error or over or time.monotonic() > until:
            if not over:
                jobs.send(job.id)
            raise MemoryUnavailable("It is not all taken back yet; ask its job.", detail={"job": job_id})
        time.sleep(LOOK_AGAIN_SECONDS)


def find(place: Place, job_id: str) -> Job:
    """A job of a memory that takes a run back. Raises MemoryForbidden without read or delete, MemoryNotFound."""
    place.require(Privilege.READ, Privilege.DELETE)
    found = Job.objects.of(place.caller.organisation_id).filter(pk=job_id, memory_id=place.memory.id, kind=REVERT)
    job = found.first()
    if job is None:
        raise MemoryNotFound()
    return job


def alone(memory: Memory) -> Memory | None:
    """Lock a memory against the beginning of a run and of another taking back; None when it is gone."""
    return Memory.objects.select_for_update(no_key=True, of=("self",)).only("pk").filter(pk=memory.pk).first()


def extent_in(job: Job) -> Extent:
    """Which changes a job takes back."""
    chosen = job.payload["changes"]
    return Extent(None if chosen is None else frozenset(chosen), job.payload["rest"])


def covers(one: Extent, other: Extent) -> bool:
    """Whether taking back the first takes back all of the second."""
    if one == other or one == Extent():
        return True
    return one.chosen is not None and other.chosen is not None and one.rest <= other.rest and other.chosen <= one.chosen


def work(job: Job, *, until: float | None = None, between: Callable[[], None] = lambda: None) -> None:
    """Take back a run, or the rest of it. Raises jobs.Later at `until`, MemoryBusy when a run was begun meanwhile."""
    while batch(job):
        between()
        if until is not None and time.monotonic() > until:
            raise jobs.Later


@transaction.atomic
def batch(job: Job) -> bool:
    """Take back some changes, and say how far it is, in one transaction; false when there are none left."""
    memory = Memory.objects.filter(pk=job.memory_id).first()
    run = Run.objects.select_for_update(of=("self",)).filter(pk=job.payload["run"]).first()
    if memory is None or run is None:
        # It was deleted meanwhile, and everything with it.
        return False
    reverting.require_over(run, memory.id)
    provider = registry.get(memory.provider)
    provider.derive(job.organisation_id)
    told = {"below": None, **dict.fromkeys(COUNTED, 0), **job.result}
    group = reverting.planned(provider, run, extent_in(job), told["below"])
    hands, actor = (
        Hands(memory, Writer(**job.payload["by"])),
        Actor(job.actor, Origin(job.payload["via"], job.payload["address"])),
    )
    if group is None:
        if not told.get("over"):
            reverting.note(run, hands, actor, news=False, **{name: told[name] for name in COUNTED})
            job.result = {**told, "over": True}
            jobs.step(job, done=job.total or job.done)
        return False
    taken = Taken()
    for step in group.steps:
        reverting.take_back(hands, provider, step, taken)
    if taken.news:
        run.reverted_at = timezone.now()
        run.save(update_fields=["reverted_at"])
    counts = {name: told[name] + len(getattr(taken, name)) for name in COUNTED}
    job.result = {**told, **counts, "below": group.below}
    if job.attempts > 1:
        # What comes forward has not failed, however often its worker was lost.
        job.attempts = 1
        job.save(update_fields=["attempts"])
    jobs.step(job, done=min(job.done + group.changes, job.total or 0))
    return True
