"""Erasing records so that it can be trusted: a job removes them in one transaction, then looks for what is left.

Killed before that transaction commits, nothing has happened; killed after, only the looking is done again: the report
is the same. What a provider derived from an erased record goes with it; what a member wrote is named as unreachable.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from members import events, idempotency
from members.events import Actor, Origin
from memories.access import Privilege
from memories.content import Reference
from memories.models import File, Job, Memory
from memories.models.files import release, remove_bytes, store
from memories.providers import registry
from memories.providers.base import Provider
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound, MemoryUnavailable, OnHold, RecordNotFound

from . import comparing, derivatives, golden, held, holds, jobs, leftovers
from .records import provider_of
from .sight import Place

KIND = "erase"
# How long a request waits for another process that is at its job.
PATIENCE_SECONDS = 50.0
LOOK_AGAIN_SECONDS = 0.1
HIDDEN = "hidden"
GIVEN_UP = {Job.State.FAILED, Job.State.CANCELLED}


@dataclass(frozen=True)
class Report:
    """What one reader is told of an erasure: ids only of what it may read, counts of everything.

    `hidden` says that something else that the reader may not see is unreachable, too.
    """

    job_id: str
    erased: tuple[str, ...]
    unreachable: tuple[str, ...]
    hidden: bool
    removed: dict[str, int]


@transaction.atomic
def begin(place: Place, record_ids: Sequence[str], *, later: bool = False) -> Job:
    """Begin erasing records of a memory; unknown ids are skipped (contract A-12). `later` leaves it to a worker.

    Raises MemoryForbidden without delete, RecordNotFound when none of the ids is here, OnHold.
    """
    place.require(Privilege.DELETE)
    memory, caller = place.memory, place.caller
    asked = [Reference(record_id, memory_id=memory.id) for record_id in dict.fromkeys(record_ids)]
    there = provider_of(place).existing(asked)
    known = [one.record_id for one in asked if (one.memory_id, one.record_id) in there]
    known += held.waiting(memory, {one.record_id for one in asked} - set(known))
    if not known:
        raise RecordNotFound()
    holds.require_free(caller, memory, known)
    payload: dict[str, Any] = {
        "record_ids": known,
        "provider": memory.provider,
        "via": caller.origin.via,
        "address": caller.origin.address,
    }
    about: dict[str, str] = {"memory_id": memory.id, "actor": caller.member.principal}
    if later:
        return jobs.enqueue(KIND, caller.organisation_id, **about, **payload)
    # Without a message: the request itself runs it, and the sweep finds it should the request die.
    return Job.objects.create(organisation_id=caller.organisation_id, kind=KIND, payload=payload, **about)


def finish(place: Place, job_id: str) -> Report:
    """Run an erasure, or wait for whoever runs it. Raises OnHold, and MemoryUnavailable while it is not done."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        jobs.run(job_id, {KIND: work})
        job = find(place, job_id)
        if job.state == Job.State.COMPLETED:
            return report(place, job)
        if job.state == Job.State.FAILED and job.result.get("held"):
            holds.require_free(place.caller, place.memory, job.payload["record_ids"])
            raise OnHold(job.error)
        # An error on an unfinished job means that it failed, and is tried again in a while.
        if job.error or job.state in GIVEN_UP or time.monotonic() > until:
            raise MemoryUnavailable("The erasure is not finished yet; ask its job.", detail={"job": job_id})
        time.sleep(LOOK_AGAIN_SECONDS)


def find(place: Place, job_id: str) -> Job:
    """A job of a memory. Raises MemoryNotFound when it is none of this memory's."""
    job = Job.objects.of(place.caller.organisation_id).filter(pk=job_id, memory_id=place.memory.id).first()
    if job is None:
        raise MemoryNotFound()
    return job


def readable(place: Place, job_id: str) -> Job:
    """A job of a memory that its reader asks about; what takes `delete` is also for those who hold that alone.

    Raises MemoryForbidden, and MemoryNotFound when it is none of this memory's.
    """
    if Privilege.READ in place.privileges:
        return find(place, job_id)
    place.require(Privilege.DELETE)
    theirs = Job.objects.of(place.caller.organisation_id).filter(memory_id=place.memory.id, kind__in=(KIND, "revert"))
    job = theirs.filter(pk=job_id).first()
    if job is None:
        raise MemoryForbidden()
    return job


def report(place: Place, job: Job) -> Report:
    """The report of a finished erasure with the reader's eyes (contract A-14)."""
    erased, holders = ([tuple(pair) for pair in job.result.get(name, ())] for name in ("erased", "unreachable"))
    readable = {
        place.memory.id,
        *Memory.objects.of(place.caller.organisation_id)
        .filter(pk__in={memory_id for memory_id, _ in holders + erased})
        .held_by(place.caller.principals, Privilege.READ)
        .values_list("id", flat=True),
    }
    return Report(
        job_id=job.id,
        erased=tuple(record_id for memory_id, record_id in erased if memory_id in readable),
        unreachable=tuple(record_id for memory_id, record_id in holders if memory_id in readable),
        hidden=any(memory_id not in readable for memory_id, _ in holders),
        removed=dict(job.result.get("removed", {})),
    )


def work(job: Job) -> None:
    """Do an erasure, or the rest of one. Raises OnHold for good when a hold came first."""
    provider = registry.get(job.payload["provider"])
    if "erased" not in job.result:
        try:
            _remove(job, provider)
        except OnHold:
            # Trying again is of no use until somebody lifts the hold, and then somebody may ask again.
            job.result, job.attempts = {"held": True}, jobs.MOST_ATTEMPTS
            raise
    remove_bytes(job.result["bytes"])
    _verify(job, provider)


@transaction.atomic
def _remove(job: Job, provider: Provider) -> None:
    asked = [(job.memory_id, record_id) for record_id in job.payload["record_ids"]]
    if holds.held(job.organisation_id, asked):
        raise OnHold()
    provider.settle(job.organisation_id)
    # What is derived and on hold stays, and is reported as unreachable.
    derived = derivatives.around(job.organisation_id, provider, [record_id for _, record_id in asked]).along
    erased = [*asked, *((one.memory_id, one.record_id) for one in derived)]
    ids = [record_id for _, record_id in erased]
    removed = provider.erase(ids)
    drafts = held.erase(job.organisation_id, ids)
    questions = golden.erase(job.organisation_id, ids)
    reasons = comparing.erase(job.organisation_id, erased)
    named = {*removed.file_ids, *drafts.file_ids}
    names = release(named)
    files = named - set(File.objects.filter(pk__in=named).values_list("id", flat=True))
    # After the records: whoever still revises one is waited for, and its answer is kept by then.
    answers = idempotency.burn(job.organisation_id, [*ids, *files])
    actor = Actor(job.actor, Origin(job.payload["via"], job.payload["address"]))
    for memory_id, record_id in erased:
        events.record(
            job.organisation_id, actor, "record.erased", memory_id=memory_id, subject=record_id, job_id=job.id
        )
    job.result = {
        "erased": erased,
        "before": {
            **removed.counts,
            **drafts.counts,
            **({"golden": questions} if questions else {}),
            **({"reasons": reasons} if reasons else {}),
            "answers": answers,
            "files": len(names),
        },
        "bytes": names,
    }
    jobs.step(job, done=1, total=2)


def _verify(job: Job, provider: Provider) -> None:
    erased = [(memory_id, record_id) for memory_id, record_id in job.result["erased"]]
    ids = [record_id for _, record_id in erased]
    left = {
        **provider.left(ids),
        "held": held.left(job.organisation_id, ids),
        "golden": golden.left(job.organisation_id, ids),
        "reasons": comparing.left(job.organisation_id, erased),
        "answers": idempotency.kept(job.organisation_id, ids),
        "files": sum(store().exists(name) for name in job.result["bytes"]),
    }
    if any(left.values()):
        raise RuntimeError("something of an erased record is still there")
    job.result |= {
        "removed": {kind: count - left[kind] for kind, count in job.result["before"].items()},
        "unreachable": [
            (one.memory_id, one.record_id)
            for one in provider.holders(job.organisation_id, ids)
            if one.record_id not in set(ids)
        ],
        # Where the ids themselves are still named: events, reports, pointers of others. Counts only.
        "named": dict(leftovers.naming(ids)),
    }
    jobs.step(job, done=2)
