"""What both ways of finding candidates share: the conditions of a view, and ids and scores as Postgres has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

from members.ids import to_uuid

from . import filtering
from .base import View


def conditions(view: View) -> tuple[str, Mapping[str, Any]]:
    """SQL that keeps the versions `v` of a view, beginning with AND, and its parameters."""
    kept: list[str] = []
    parameters: dict[str, Any] = {}
    if view.as_of:
        kept.append("AND v.written_at <= %(as_of)s AND (v.invalidated_at IS NULL OR v.invalidated_at > %(as_of)s)")
        parameters["as_of"] = view.as_of
    elif not view.include_all:
        kept.append("AND v.invalidated_at IS NULL")
    if view.types:
        kept.append("AND v.type = ANY(%(types)s::text[])")
        parameters["types"] = list(view.types)
    if view.filters is not None:
        statement, values = filtering.compiled(view.filters, at_instant=view.as_of is not None)
        kept.append(f"AND {statement}")
        parameters |= values
    return " ".join(kept), parameters


def scores(statement: str, parameters: Mapping[str, Any]) -> dict[int, float]:
    """Run a statement that answers with version keys and scores."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return {int(key): float(score) for key, score in cursor.fetchall()}


def uuids(memory_ids: Sequence[str]) -> list[Any]:
    """Ids of memories typed as their column."""
    # Typed as the column on the way in: an untyped list is searched row by row.
    return [to_uuid(memory_id, "hmem_") for memory_id in memory_ids]
