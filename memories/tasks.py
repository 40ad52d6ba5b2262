"""The bodies of the background messages: look at row N, find what was lost."""

from __future__ import annotations

from celery import shared_task

from memories.services import jobs

KINDS: dict[str, jobs.Work] = {}


@shared_task(name=jobs.RUN)
def run_job(job_id: str) -> None:
    """Do the job with this id."""
    jobs.run(job_id, KINDS)


@shared_task(name="memories.sweep_jobs")
def sweep_jobs() -> None:
    """Take up jobs whose message or worker was lost."""
    jobs.sweep()
