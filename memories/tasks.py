"""The bodies of the background messages: look at row N, find what was lost."""

from __future__ import annotations

from celery import shared_task

from memories.providers import late
from memories.services import (
    comparing,
    consolidating,
    digests,
    erasure,
    fairness,
    files,
    golden,
    indexing,
    jobs,
    language,
    purge,
    reembed,
    reverting,
    starting,
    tree,
    undoing,
    undoing_many,
)

KINDS: dict[str, jobs.Work] = {
    erasure.KIND: erasure.work,
    tree.PURGE: purge.purge,
    tree.CONSOLIDATION: consolidating.work,
    indexing.KIND: indexing.work,
    language.KIND: language.work,
    reembed.KIND: reembed.work,
    golden.KIND: golden.work,
    reverting.REVERT: undoing_many.work,
}


@shared_task(name=jobs.RUN)
def run_job(job_id: str) -> None:
    """Do the job with this id."""
    jobs.run(job_id, KINDS)


@shared_task(name="memories.sweep_jobs")
def sweep_jobs() -> None:
    """Take up jobs whose message or worker was lost."""
    jobs.sweep()


@shared_task(name=fairness.TURN)
def take_turn() -> None:
    """Work on the consolidation whose turn it is."""
    fairness.take_turn(KINDS)


@shared_task(name="memories.sweep_runs")
def sweep_runs() -> None:
    """Start the consolidations that are due, and go on with those whose message or worker was lost."""
    starting.sweep()


@shared_task(name="memories.sweep_files")
def sweep_files() -> None:
    """Remove files that nobody names, and bytes that nothing knows."""
    files.sweep()


@shared_task(name="memories.tend_indexes")
def tend_indexes() -> None:
    """Take new vectors into the indexes of large organisations, and begin to build what is missing."""
    indexing.tend()


@shared_task(name="memories.review_indexes")
def review_indexes() -> None:
    """Take down indexes that nobody needs any more, and count the words of large organisations."""
    indexing.review()


@shared_task(name="memories.make_vectors")
def make_vectors() -> None:
    """Make the vectors that could not be made, or whose message was lost."""
    reembed.sweep()


@shared_task(name=late.MAKE)
def make_awaited_vectors() -> None:
    """Make the vectors of what was just written."""
    reembed.catch_up()


@shared_task(name="memories.compare_items")
def compare_items() -> None:
    """Say of what was written whether its memory says it already, or says otherwise."""
    comparing.sweep()


@shared_task(name="memories.sweep_reviews")
def sweep_reviews() -> None:
    """Accept what is due by itself, and empty drafts that nobody can take back any more."""
    undoing.sweep()


@shared_task(name="memories.sweep_digests")
def sweep_digests() -> None:
    """Send the digests whose time has come."""
    digests.sweep()
