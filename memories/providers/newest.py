"""What a view shows of some memories, newest first: for questions that rank nothing and only filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from members.ids import to_uuid

from . import inside, search
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

# So many are collected and sorted. Where there are more, one is never far: then the newest are gone through one by one.
SORTED = 20_000
NEWEST_FIRST = "ORDER BY v.written_at DESC, v.id DESC LIMIT %(limit)s"


def newest(memory_ids: Sequence[str], view: View, limit: int) -> list[int]:
    """The keys of the newest versions that a view shows, newest first; never fewer than there are, up to `limit`."""
    conditions, parameters = search.conditions(view)
    within, memories = inside.listed(memory_ids, "v.memory_id")
    parameters = {**parameters, **memories, "limit": limit}
    if view.as_of or view.include_all or not isinstance(memory_ids, inside.Branches):
        return _keys(f"SELECT v.id FROM memories_version v WHERE {within} {conditions} {NEWEST_FIRST}", parameters)
    statement = f"""
        WITH v AS MATERIALIZED (
            SELECT v.id, v.written_at FROM memories_version v WHERE {within} {conditions} LIMIT %(sorted)s
        )
        SELECT (SELECT count(*) FROM v), ARRAY(SELECT v.id FROM v {NEWEST_FIRST})
        """
    with connection.cursor() as cursor:
        cursor.execute(statement, {**parameters, "sorted": SORTED + 1})
        total, keys = cursor.fetchone()
    if total <= SORTED:
        return list(keys)
    within, memories = inside.sifted(memory_ids, "v.memory_id", few=True)
    return _keys(
        f"""
        SELECT v.id FROM memories_version v
        WHERE v.organisation_id = %(organisation)s AND {within} {conditions} {NEWEST_FIRST}
        """,
        {**parameters, **memories, "organisation": to_uuid(memory_ids.organisation_id, "org_")},
    )


def _keys(statement: str, parameters: dict[str, Any]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [int(key) for (key,) in cursor.fetchall()]
