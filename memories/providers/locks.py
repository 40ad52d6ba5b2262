"""Who waits for whom in `native`, and its clock: one instant never falls on both sides of a write.

Writers of a memory share its clock and stamp what they write while they do. A snapshot has the clock to itself: all
that was stamped before is committed and not after its instant, all that comes later is stamped after it, even when the
system's clock was set back meanwhile. Times are those of the database, of which there is one however many servers.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from memories.models import Memory

CLOCK = 0xC10C
ERASURE = 0xE4A5E

ENTER = """
SELECT id, organisation_id, pg_advisory_xact_lock_shared(%s, hashtext(%s)) AS clock
FROM memories_memory WHERE id = %s AND deletion IS NULL FOR KEY SHARE
"""
MOMENT = """
SELECT greatest(
    clock_timestamp(),
    (SELECT max(at) FROM memories_snapshot WHERE memory_id = %s) + interval '1 microsecond',
    %s::timestamptz + interval '1 microsecond')
"""
INSTANT = """
SELECT greatest(
    clock_timestamp(),
    (SELECT max(written_at) FROM memories_version WHERE memory_id = %(memory)s),
    (SELECT max(invalidated_at) FROM memories_version WHERE memory_id = %(memory)s AND invalidated_at IS NOT NULL),
    (SELECT max(at) FROM memories_snapshot WHERE memory_id = %(memory)s) + interval '1 microsecond')
"""


def enter(memory_id: str) -> str:
    """Share the clock of a memory, which stays until this transaction ends; its organisation. Raises DoesNotExist."""
    key = Memory._meta.pk.get_prep_value(memory_id)
    found = list(Memory.objects.raw(ENTER, [CLOCK, memory_id, key]))
    if not found:
        raise Memory.DoesNotExist
    return str(found[0].organisation_id)


def moment(memory_id: str, after: datetime | None = None) -> datetime:
    """The time to stamp a write with: later than `after` and than every snapshot. Only after `enter`."""
    with connection.cursor() as cursor:
        cursor.execute(MOMENT, [Memory._meta.pk.get_prep_value(memory_id), after])
        found: datetime = cursor.fetchone()[0]
    return found


def instant(memory_id: str) -> datetime:
    """An instant with everything written so far before it or at it, and everything else after; until commit, alone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [CLOCK, memory_id])
        cursor.execute(INSTANT, {"memory": Memory._meta.pk.get_prep_value(memory_id)})
        found: datetime = cursor.fetchone()[0]
    return found


def derive(organisation_id: str) -> None:
    """Wait for erasures of an organisation, and keep them waiting while something is derived from what is there."""
    _organisation("pg_advisory_xact_lock_shared", organisation_id)


def erase(organisation_id: str) -> None:
    """One erasure of an organisation at a time, and nothing is derived meanwhile."""
    _organisation("pg_advisory_xact_lock", organisation_id)


def _organisation(function: str, organisation_id: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, hashtext(%s))", [ERASURE, organisation_id])
