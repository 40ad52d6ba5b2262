"""A bound on how long the database works at one statement, for questions that a caller words freely."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled


class OutOfTime(Exception):
    """A statement took longer than the milliseconds it had, and was ended."""

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds
        super().__init__(f"a statement took longer than {milliseconds} ms")

    @property
    def note(self) -> str:
        """What the answer has to admit."""
        return f"time:capped_at_{self.milliseconds}_ms"


@contextmanager
def at_most(milliseconds: int) -> Iterator[None]:
    """Bound each statement inside; a tighter bound around it stays.

    Raises OutOfTime, after which nothing of what was done inside has happened.
    """
    bound = milliseconds
    try:
        with transaction.atomic():
            before, bound = _tighten(milliseconds)
            yield
            _set(before)
    except OperationalError as failure:
        if isinstance(failure.__cause__, QueryCanceled):
            raise OutOfTime(bound) from None
        raise


def _tighten(milliseconds: int) -> tuple[int, int]:
    """The bound that there was, 0 for none, and the one that there is now."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH before AS MATERIALIZED (
                SELECT (extract(epoch FROM current_setting('statement_timeout')::interval) * 1000)::int AS bound
            ), now AS MATERIALIZED (
                SELECT before.bound AS before, coalesce(least(nullif(before.bound, 0), %(bound)s), %(bound)s) AS bound
                FROM before
            )
            SELECT before, bound, set_config('statement_timeout', bound::text, true) FROM now
            """,
            {"bound": milliseconds},
        )
        before, bound, _ = cursor.fetchone()
        return int(before), int(bound)


def _set(milliseconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(milliseconds)])
