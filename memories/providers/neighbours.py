"""What was said just before and after a version, in one conversation of one memory, within a view."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db import connection

from . import search
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.


def around(keys: Collection[int], view: View) -> Mapping[int, tuple[int | None, int | None]]:
    """The keys of the turn before and the turn after each version that was said in a conversation."""
    conditions, parameters = search.conditions(view)

    def nearest(compared: str, order: str) -> str:
        return f"""(
            SELECT v.id FROM memories_version v
            WHERE v.memory_id = c.memory_id AND v.session = c.session AND v.session <> '' {conditions}
              AND (v.written_at, v.record_id) {compared} (c.written_at, c.record_id)
            ORDER BY v.written_at {order}, v.record_id {order} LIMIT 1)"""

    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT c.id, {nearest("<", "DESC")}, {nearest(">", "ASC")}
            FROM memories_version c WHERE c.id = ANY(%(keys)s::bigint[]) AND c.session <> ''
            """,
            {**parameters, "keys": list(keys)},
        )
        return {key: (before, after) for key, before, after in cursor.fetchall()}
