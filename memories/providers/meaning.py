"""Finding candidates by meaning, with pgvector, inside a given set of memories."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from members.ids import to_uuid

from . import inside, plans, search
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

OWN = "own"
CURRENT = "AND v.invalidated_at IS NULL"


def by_meaning(
    vector: NDArray[np.float32],
    model: str,
    memory_ids: Sequence[str],
    view: View,
    limit: int,
    aspect: str = OWN,
) -> dict[int, float]:
    """The nearest versions, as version key to cosine similarity; never fewer than there are, up to the limit.

    Where not much may be read all of it is compared. Where much may, the index of the organisation is walked, and what
    it does not hold yet is compared; should that bring too few, everything is.
    """
    if isinstance(memory_ids, inside.Branches):
        size = memory_ids.size(view, plans.EXACT_UP_TO + 1)
        current = view.as_of is None and not view.include_all
        plan = plans.choose(size.versions, indexed=(model, aspect) in size.indexed, current=current)
        if plan is plans.Plan.ORGANISATION:
            return exact(vector, model, memory_ids, view, limit, aspect, of=memory_ids.organisation_id)
        if plan is plans.Plan.INDEX:
            found, brought = walk(vector, model, memory_ids, view, limit, aspect)
            # There is more than that to read: an index that brings less has given up.
            if brought >= limit:
                return found
    return exact(vector, model, memory_ids, view, limit, aspect)


def exact(
    vector: NDArray[np.float32],
    model: str,
    memory_ids: Sequence[str],
    view: View,
    limit: int,
    aspect: str = OWN,
    *,
    of: str = "",
) -> dict[int, float]:
    """The nearest versions by comparing with all of them, memory by memory, or through all that an organisation has."""
    within, memories = (inside.sifted if of else inside.listed)(memory_ids, "e.memory_id")
    if of:
        within = f"e.organisation_id = %(organisation)s AND {within}"
        memories["organisation"] = to_uuid(of, "org_")
    joined, conditions, parameters = _conditions(view)
    current = view.as_of is None and not view.include_all
    return search.scores(
        f"""
        SELECT e.version_id, 1 - (e.vector <=> %(vector)s::halfvec) AS score
        FROM memories_embedding e {joined}
        WHERE {within} AND e.model = %(model)s AND e.aspect = %(aspect)s {conditions}
          {"AND e.current" if current else ""}
        -- Adding nothing keeps an index out: it would stop at what it meets first, and filter afterwards.
        ORDER BY (e.vector <=> %(vector)s::halfvec) + 0, e.version_id DESC LIMIT %(limit)s
        """,
        {**memories, **parameters, "vector": _literal(vector), "model": model, "aspect": aspect, "limit": limit},
    )


def walk(
    vector: NDArray[np.float32],
    model: str,
    branches: inside.Branches,
    view: View,
    limit: int,
    aspect: str = OWN,
) -> tuple[dict[int, float], int]:
    """The nearest versions by the organisation's index, which may miss some, and those it does not hold yet, which
    are compared; and how many the index brought."""
    within, memories = inside.sifted(branches, "e.memory_id", few=True)
    joined, conditions, parameters = _conditions(view)
    # The index is found by these very constants: what it holds is what they say.
    rows = f"""
        FROM memories_embedding e {joined}
        WHERE e.organisation_id = %(organisation)s AND e.model = %(model)s AND e.aspect = %(aspect)s AND e.current
          AND {within} {conditions}"""
    kind = f"halfvec({len(vector)})"
    distance = f"(e.vector::{kind}) <=> %(vector)s::{kind}"
    statement = f"""
        WITH near AS MATERIALIZED (
            SELECT e.version_id, {distance} AS distance {rows} AND e.indexed ORDER BY {distance} LIMIT %(limit)s
        ), fresh AS MATERIALIZED (
            SELECT e.version_id, {distance} AS distance {rows} AND NOT e.indexed
            ORDER BY ({distance}) + 0 LIMIT %(limit)s
        )
        SELECT version_id, 1 - distance, true FROM near UNION ALL SELECT version_id, 1 - distance, false FROM fresh
        """
    effort = plans.effort(limit)
    with _tuned(effort), connection.cursor() as cursor:
        cursor.execute(
            statement,
            {
                **memories,
                **parameters,
                "organisation": to_uuid(branches.organisation_id, "org_"),
                "vector": _literal(vector),
                "model": model,
                "aspect": aspect,
                "limit": limit,
            },
        )
        found = cursor.fetchall()
    nearest = sorted(found, key=lambda row: (row[1], row[0]), reverse=True)[:limit]
    return {int(key): float(score) for key, score, _ in nearest}, sum(1 for *_, indexed in found if indexed)


def meaning_of(
    vector: NDArray[np.float32], model: str, versions: Collection[int], aspect: str = OWN
) -> dict[int, float]:
    """The cosine similarity of versions that another signal found."""
    return search.scores(
        """
        SELECT version_id, 1 - (vector <=> %(vector)s::halfvec) FROM memories_embedding
        WHERE version_id = ANY(%(versions)s::bigint[]) AND model = %(model)s AND aspect = %(aspect)s
        """,
        {"vector": _literal(vector), "model": model, "versions": list(versions), "aspect": aspect},
    )


def _conditions(view: View) -> tuple[str, str, Mapping[str, Any]]:
    """What a view asks of a version, and the join it needs; that a version is current stands at the vector too."""
    conditions, parameters = search.conditions(view)
    if conditions.strip() == CURRENT:
        return "", "", {}
    return "JOIN memories_version v ON v.id = e.version_id", conditions, parameters


@contextmanager
def _tuned(effort: plans.Effort) -> Iterator[None]:
    """Make the database walk the index as said, until the end of the block."""
    settings = {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": str(effort.breadth),
        "hnsw.max_scan_tuples": str(effort.most_scanned),
        # The only way left to have the rows in order is to take them from the index.
        "enable_sort": "off",
    }
    nested = connection.in_atomic_block
    set_all = "SELECT " + ", ".join(["set_config(%s, %s, true)"] * len(settings))
    with transaction.atomic(), connection.cursor() as cursor:
        before = {}
        if nested:
            cursor.execute("SELECT " + ", ".join(["current_setting(%s, true)"] * len(settings)), list(settings))
            before = dict(zip(settings, cursor.fetchone(), strict=True))
        cursor.execute(set_all, [part for pair in settings.items() for part in pair])
        yield
        if nested:
            cursor.execute(set_all, [part for pair in before.items() for part in pair])


def _literal(vector: NDArray[np.float32]) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"
