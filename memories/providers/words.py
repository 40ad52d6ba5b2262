"""Finding candidates by words, with Postgres' own text search, inside a given set of memories."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from . import search
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

CONFIG = "english"
# The longest text whose words are indexed, in characters: what surely fits a tsvector, which Postgres bounds at 1 MB.
MAX_WORDS = 150_000

# The lexemes of a text joined by OR: asking for all of them finds nothing for most questions.
ANY_WORD = """(
    SELECT string_agg('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery
    FROM unnest(to_tsvector(%(config)s::regconfig, %(words)s)))"""


def by_words(words: str, memory_ids: Sequence[str], view: View, limit: int) -> dict[int, float]:
    """The versions that share the most telling words, as version key to rank."""
    conditions, parameters = search.conditions(view)
    return search.scores(
        f"""
        WITH asked AS (SELECT {ANY_WORD} AS lexemes)
        SELECT v.id, ts_rank(v.words, asked.lexemes) AS score
        FROM memories_version v, asked
        WHERE v.memory_id = ANY(%(memories)s::uuid[]) AND v.words @@ asked.lexemes {conditions}
        ORDER BY score DESC, v.id LIMIT %(limit)s
        """,
        {
            "config": CONFIG,
            "words": words[:MAX_WORDS],
            "memories": search.uuids(memory_ids),
            "limit": limit,
            **parameters,
        },
    )


def words_of(words: str, versions: Collection[int]) -> dict[int, float]:
    """The rank by words of versions that another signal found; those that share none are absent."""
    return search.scores(
        f"""
        WITH asked AS (SELECT {ANY_WORD} AS lexemes)
        SELECT v.id, ts_rank(v.words, asked.lexemes) FROM memories_version v, asked
        WHERE v.id = ANY(%(versions)s::bigint[]) AND v.words @@ asked.lexemes
        """,
        {"config": CONFIG, "words": words[:MAX_WORDS], "versions": list(versions)},
    )
