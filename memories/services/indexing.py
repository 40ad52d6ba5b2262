"""Keeping the search of large organisations quick, in the background: their vector indexes and their common words."""

from __future__ import annotations

import time

from django.db import connection

from memories.models import Job
from memories.providers import frequencies, indexes
from memories.providers.indexes import Corner
from uhp_site.alone import alone

from . import jobs

KIND = "index_vectors"
TENDING = 0x1DE0
# How long one round takes vectors in before it leaves the rest to the next.
PATIENCE_SECONDS = 45.0


def work(job: Job) -> None:
    """Build the index that a job names."""
    payload = job.payload
    corner = Corner(job.organisation_id, payload["model"], payload["aspect"])
    indexes.build(corner, lambda done: jobs.step(job, done), online=not connection.in_atomic_block)


def tend() -> int:
    """One round: take in what was written since, and begin to build what is missing. Returns how many were taken in.

    Two rounds at once do not get in each other's way: the second does nothing.
    """
    with alone(TENDING) as mine:
        return _round(time.monotonic() + PATIENCE_SECONDS) if mine else 0


def review() -> None:
    """Take down what nobody needs any more, try again what failed, and count the words of large organisations."""
    indexes.retire()
    for job in Job.objects.filter(kind=KIND, state=Job.State.FAILED):
        jobs.retry(job)
    for organisation_id in sorted({corner.organisation_id for corner in indexes.built()}):
        frequencies.count(organisation_id)


def _round(until: float) -> int:
    total = 0
    for corner in indexes.built():
        while time.monotonic() < until and (taken := indexes.take_in(corner)):
            total += taken
    for corner in indexes.crowded():
        begin(corner)
    return total


def begin(corner: Corner) -> Job | None:
    """Have an index built, unless somebody is at it already."""
    payload = {"model": corner.model, "aspect": corner.aspect}
    same = Job.objects.of(corner.organisation_id).filter(kind=KIND, payload=payload)
    if same.unfinished().exists():
        return None
    return jobs.enqueue(KIND, corner.organisation_id, **payload)
