"""Background work: enqueue a row with its transaction, run it once at a time, find what was lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from celery import current_app
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from memories.models import Job
from uhp_site.http.errors import UHPError

from . import telling

RUN = "memories.run_job"
MOST_ATTEMPTS = 5
RUN_LOCK = 0x10B

log = structlog.get_logger(__name__)

Work = Callable[[Job], None]
"""Does a job in steps, each a transaction of its own that ends with `step`; may run again from the start."""

# Kinds whose turns are given out fairly, not message by message (`fairness`).
IN_TURNS = frozenset({"consolidation"})


class Later(Exception):
    """Raised by work that makes room for others: the job waits for its next turn, and none of this is a failure."""


def enqueue(kind: str, organisation_id: str, *, memory_id: str = "", actor: str = "", **payload: Any) -> Job:
    """Add a job to the current transaction; its message is sent when that commits."""
    job = Job.objects.create(
        organisation_id=organisation_id, kind=kind, memory_id=memory_id, actor=actor, payload=payload
    )
    transaction.on_commit(lambda: send(job.id))
    return job


def send(job_id: str) -> None:
    """Tell a worker to look at a row. When no message can be sent the row waits for the sweep."""
    try:
        current_app.send_task(RUN, args=[job_id])
    except Exception:
        log.warning("job_message_not_sent", job_id=job_id, exc_info=True)


def run(job_id: str, kinds: dict[str, Work]) -> None:
    """Do a job unless it is done or somebody is at it right now. A failure is kept with the row and tried again."""
    with _alone(job_id) as mine:
        job = _claim(job_id) if mine else None
        if job is None:
            return
        try:
            kinds[job.kind](job)
        except Later:
            Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(
                state=Job.State.QUEUED, attempts=0, heard_at=timezone.now()
            )
            return
        except Exception as failure:
            _fail(job, failure)
            return
        finish(job, Job.State.COMPLETED)


def step(job: Job, done: int, total: int | None = None) -> None:
    """Say how far a job is; also its sign of life."""
    job.done, job.heard_at = done, timezone.now()
    job.total = job.total if total is None else total
    job.save(update_fields=["done", "total", "heard_at", "result"])


def finish(job: Job, state: str, error: str = "") -> None:
    """End a job, once; one that was cancelled meanwhile stays so."""
    job.state, job.error, job.finished_at, job.heard_at = state, error, timezone.now(), timezone.now()
    fields = ("state", "error", "finished_at", "heard_at", "done", "total", "result")
    ended = {field: getattr(job, field) for field in fields}
    with transaction.atomic():
        done = Job.objects.filter(pk=job.pk).exclude(state=Job.State.CANCELLED).update(**ended)
        if done and state == Job.State.FAILED:
            telling.failed(job)


def cancel(job: Job) -> bool:
    """Cancel a job that nobody has begun; false when somebody has, or it is over."""
    waiting = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED)
    return bool(waiting.update(state=Job.State.CANCELLED, finished_at=timezone.now(), heard_at=timezone.now()))


def sweep() -> int:
    """Send again what was lost; returns how many."""
    lost = list(Job.objects.lost().exclude(kind__in=IN_TURNS).values_list("id", flat=True)[:100])
    Job.objects.filter(pk__in=lost).update(heard_at=timezone.now())
    for job_id in lost:
        send(job_id)
    return len(lost)


def retry(job: Job) -> None:
    """Try a failed job once more."""
    Job.objects.filter(pk=job.pk, state=Job.State.FAILED).update(
        state=Job.State.QUEUED, error="", attempts=0, finished_at=None, heard_at=timezone.now()
    )
    if job.kind not in IN_TURNS:
        transaction.on_commit(lambda: send(job.id))


def _fail(job: Job, failure: Exception) -> None:
    log.error("job_failed", job_id=job.id, kind=job.kind, attempt=job.attempts, exc_info=failure)
    sentence = failure.message if isinstance(failure, UHPError) else f"It failed ({type(failure).__name__})."
    if job.attempts >= MOST_ATTEMPTS:
        finish(job, Job.State.FAILED, sentence)
    else:
        # The sweep takes it up again: what failed at once would most likely fail at once again.
        Job.objects.filter(pk=job.pk).update(state=Job.State.QUEUED, error=sentence, heard_at=timezone.now())


def _claim(job_id: str) -> Job | None:
    # In one statement: a job is cancelled before it begins, or not at all.
    now = timezone.now()
    claimed = (
        Job.objects.unfinished()
        .filter(pk=job_id)
        .update(
            state=Job.State.RUNNING, started_at=Coalesce("started_at", now), heard_at=now, attempts=F("attempts") + 1
        )
    )
    return Job.objects.get(pk=job_id) if claimed else None


class _alone:
    """Hold the one right to run a job, for as long as this database session lives; false when another has it."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id

    def __enter__(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", [RUN_LOCK, self.job_id])
            self.held = bool(cursor.fetchone()[0])
        return self.held

    def __exit__(self, *_: object) -> None:
        if self.held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", [RUN_LOCK, self.job_id])
