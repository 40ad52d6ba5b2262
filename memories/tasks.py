"""The bodies of the background messages: look at row N, find what was lost."""

from __future__ import annotations

from celery import shared_task

from memories.services import erasure, files, jobs, purge, tree

KINDS: dict[str, jobs.Work] = {erasure.KIND: erasure.work, tree.PURGE: purge.purge}


@shared_task(name=jobs.RUN)
def run_job(job_id: str) -> None:
    """Do the job with this id."""
    jobs.run(job_id, KINDS)


@shared_task(name="memories.sweep_jobs")
def sweep_jobs() -> None:
    """Take up jobs whose message or worker was lost."""
    jobs.sweep()


@shared_task(name="memories.sweep_files")
def sweep_files() -> None:
    """Remove files that nobody names, and bytes that nothing knows."""
    files.sweep()
