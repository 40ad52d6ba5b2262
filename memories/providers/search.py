"""How `native` finds candidates: by meaning (pgvector) and by words, inside a given set of memories."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from members.ids import to_uuid

from .base import View

# ruff: noqa: S608 - statements are put together from the constants below; every value is a parameter.

CONFIG = "english"
# The longest text whose words are indexed, in characters: what surely fits a tsvector, which Postgres bounds at 1 MB.
MAX_WORDS = 150_000

# The lexemes of a text joined by OR: asking for all of them finds nothing for most questions.
ANY_WORD = """(
    SELECT string_agg('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery
    FROM unnest(to_tsvector(%(config)s::regconfig, %(words)s)))"""


def by_meaning(
    vector: NDArray[np.float32], model: str, memory_ids: Sequence[str], view: View, limit: int
) -> dict[int, float]:
    """The nearest versions, as version key to cosine similarity. Exact: the readable ones are scanned, not an index."""
    conditions, parameters = _view(view)
    return _scores(
        f"""
        SELECT e.version_id, 1 - (e.vector <=> %(vector)s::halfvec) AS score
        FROM memories_embedding e JOIN memories_version v ON v.id = e.version_id
        WHERE e.memory_id = ANY(%(memories)s::uuid[]) AND e.model = %(model)s {conditions}
          {"AND e.current" if not view.as_of and not view.include_all else ""}
        ORDER BY e.vector <=> %(vector)s::halfvec LIMIT %(limit)s
        """,
        {"vector": _literal(vector), "model": model, "memories": _uuids(memory_ids), "limit": limit, **parameters},
    )


def by_words(words: str, memory_ids: Sequence[str], view: View, limit: int) -> dict[int, float]:
    """The versions that share the most telling words, as version key to rank."""
    conditions, parameters = _view(view)
    return _scores(
        f"""
        WITH asked AS (SELECT {ANY_WORD} AS lexemes)
        SELECT v.id, ts_rank(v.words, asked.lexemes) AS score
        FROM memories_version v, asked
        WHERE v.memory_id = ANY(%(memories)s::uuid[]) AND v.words @@ asked.lexemes {conditions}
        ORDER BY score DESC, v.id LIMIT %(limit)s
        """,
        {"config": CONFIG, "words": words[:MAX_WORDS], "memories": _uuids(memory_ids), "limit": limit, **parameters},
    )


def meaning_of(vector: NDArray[np.float32], model: str, versions: Collection[int]) -> dict[int, float]:
    """The cosine similarity of versions that another signal found."""
    return _scores(
        """
        SELECT version_id, 1 - (vector <=> %(vector)s::halfvec) FROM memories_embedding
        WHERE version_id = ANY(%(versions)s::bigint[]) AND model = %(model)s
        """,
        {"vector": _literal(vector), "model": model, "versions": list(versions)},
    )


def words_of(words: str, versions: Collection[int]) -> dict[int, float]:
    """The rank by words of versions that another signal found; those that share none are absent."""
    return _scores(
        f"""
        WITH asked AS (SELECT {ANY_WORD} AS lexemes)
        SELECT v.id, ts_rank(v.words, asked.lexemes) FROM memories_version v, asked
        WHERE v.id = ANY(%(versions)s::bigint[]) AND v.words @@ asked.lexemes
        """,
        {"config": CONFIG, "words": words[:MAX_WORDS], "versions": list(versions)},
    )


def _view(view: View) -> tuple[str, Mapping[str, Any]]:
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if view.as_of:
        conditions.append(
            "AND v.written_at <= %(as_of)s AND (v.invalidated_at IS NULL OR v.invalidated_at > %(as_of)s)"
        )
        parameters["as_of"] = view.as_of
    elif not view.include_all:
        conditions.append("AND v.invalidated_at IS NULL")
    if view.types:
        conditions.append("AND v.type = ANY(%(types)s::text[])")
        parameters["types"] = list(view.types)
    return " ".join(conditions), parameters


def _scores(statement: str, parameters: Mapping[str, Any]) -> dict[int, float]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return {int(key): float(score) for key, score in cursor.fetchall()}


def _uuids(memory_ids: Sequence[str]) -> list[Any]:
    # Typed as the column on the way in: an untyped list is searched row by row.
    return [to_uuid(memory_id, "hmem_") for memory_id in memory_ids]


def _literal(vector: NDArray[np.float32]) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"
