"""Whose consolidation is next: turns are given out fairly between organisations, however many runs one of them queues.

A message only says that somebody may take a turn. Whoever takes it gets the run of the organisation that had the fewest
and the longest ago; a long run gives its turn back when another organisation waits. Messages that find all turns taken
are dropped: who has one sends the next when it ends, and the sweep sends one when all were lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from celery import current_app
from django.conf import settings
from django.db import connection

from members.ids import to_uuid
from memories.models import Job
from memories.models.jobs import LOST_AFTER

from . import jobs

TURN = "memories.take_turn"
KIND = "consolidation"
SLOT_LOCK = 0x51075

log = structlog.get_logger(__name__)

# Jobs that somebody could work on now: waiting, not just failed; or begun by a process that is no more.
READY = """
    SELECT j.id, j.organisation_id, j.created_at FROM memories_job j
    WHERE j.kind = %(kind)s AND (
        j.state = 'queued' AND (j.error = '' OR j.heard_at < now() - %(lost)s)
        OR j.state = 'running' AND NOT EXISTS (
            SELECT FROM pg_locks l
            WHERE l.locktype = 'advisory' AND l.granted AND l.classid = %(run_lock)s
              AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND l.objid::bigint = hashtext('hjob_' || replace(j.id::text, '-', ''))::bigint & 4294967295
        )
    )
"""
NEXT = f"""
    WITH ready AS ({READY}), served AS (
        SELECT organisation_id, max(heard_at) AS at, count(*) FILTER (WHERE state = 'running') AS running
        FROM memories_job
        WHERE kind = %(kind)s AND attempts + done > 0 AND created_at > now() - interval '7 days'
          AND organisation_id IN (SELECT organisation_id FROM ready)
        GROUP BY organisation_id
    )
    SELECT ready.id FROM ready LEFT JOIN served USING (organisation_id)
    ORDER BY coalesce(served.running, 0), served.at NULLS FIRST, ready.created_at, ready.id LIMIT 1
"""  # noqa: S608 - put together from constants
WAITS = f"SELECT EXISTS (SELECT FROM ({READY}) ready WHERE organisation_id <> %(but)s)"  # noqa: S608
PARAMETERS: dict[str, Any] = {"kind": KIND, "lost": LOST_AFTER, "run_lock": jobs.RUN_LOCK}


def send() -> None:
    """Say that somebody may take a turn. When no message can be sent the sweep will."""
    try:
        current_app.send_task(TURN)
    except Exception:
        log.warning("turn_message_not_sent", exc_info=True)


def take_turn(kinds: dict[str, jobs.Work]) -> str | None:
    """Work on the run whose turn it is, and pass the turn on; the id of its job, or None when there was nothing to do.

    At most `settings.CONSOLIDATIONS_AT_ONCE` work at the same time, on the whole server.
    """
    with _slot() as mine:
        chosen = next_job() if mine else None
        if chosen:
            jobs.run(chosen, kinds)
    if chosen and waits():
        send()
    return chosen


def next_job() -> str | None:
    """The job of the run whose turn it is."""
    with connection.cursor() as cursor:
        cursor.execute(NEXT, PARAMETERS)
        row = cursor.fetchone()
    return Job._meta.pk.to_python(row[0]) if row else None


def waits(*, but: str = "") -> bool:
    """Whether a run waits for a turn, of another organisation than `but`."""
    with connection.cursor() as cursor:
        cursor.execute(WAITS, {**PARAMETERS, "but": to_uuid(but, "org_")})
        return bool(cursor.fetchone()[0])


@contextmanager
def _slot() -> Iterator[bool]:
    # Held by the database session, so that it is free again when the process dies.
    for number in range(settings.CONSOLIDATIONS_AT_ONCE):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [SLOT_LOCK, number])
            if not cursor.fetchone()[0]:
                continue
        try:
            yield True
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [SLOT_LOCK, number])
        return
    yield False
