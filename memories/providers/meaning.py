"""Finding candidates by meaning, with pgvector, inside a given set of memories."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from . import search
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.


def by_meaning(
    vector: NDArray[np.float32], model: str, memory_ids: Sequence[str], view: View, limit: int
) -> dict[int, float]:
    """The nearest versions, as version key to cosine similarity. Exact: the readable ones are scanned, not an index."""
    conditions, parameters = search.conditions(view)
    return search.scores(
        f"""
        SELECT e.version_id, 1 - (e.vector <=> %(vector)s::halfvec) AS score
        FROM memories_embedding e JOIN memories_version v ON v.id = e.version_id
        WHERE e.memory_id = ANY(%(memories)s::uuid[]) AND e.model = %(model)s AND e.aspect = 'own' {conditions}
          {"AND e.current" if not view.as_of and not view.include_all else ""}
        ORDER BY e.vector <=> %(vector)s::halfvec LIMIT %(limit)s
        """,
        {
            "vector": _literal(vector),
            "model": model,
            "memories": search.uuids(memory_ids),
            "limit": limit,
            **parameters,
        },
    )


def meaning_of(vector: NDArray[np.float32], model: str, versions: Collection[int]) -> dict[int, float]:
    """The cosine similarity of versions that another signal found."""
    return search.scores(
        """
        SELECT version_id, 1 - (vector <=> %(vector)s::halfvec) FROM memories_embedding
        WHERE version_id = ANY(%(versions)s::bigint[]) AND model = %(model)s AND aspect = 'own'
        """,
        {"vector": _literal(vector), "model": model, "versions": list(versions)},
    )


def _literal(vector: NDArray[np.float32]) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"
