"""Work that one process does at a time: the right to it belongs to a database session, and ends with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def alone(right: int) -> Iterator[bool]:
    """Whether this session has the right of that number now; false, at once, when another has it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, 0)", [right])
        held = bool(cursor.fetchone()[0])
    try:
        yield held
    finally:
        if held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, 0)", [right])


def is_taken(right: int) -> bool:
    """Whether some session has the right of that number now."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT EXISTS (
                SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND classid = %s AND objid = 0 AND objsubid = 2)
            """,
            [right],
        )
        return bool(cursor.fetchone()[0])
