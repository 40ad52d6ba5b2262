"""Finding by fields: whether a name is known in some memories, and what is by or about whom a question names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from django.db import connection

from members.ids import to_uuid

from . import inside, search
from .base import Named, View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

# How a record says what it is about (Memories §2.6).
ABOUT = ("about", "subject", "object")
# How many entities that begin alike are looked at for one question.
MOST_ENTITIES = 1_000


def known(memory_ids: Sequence[str], phrases: Collection[str], view: View) -> Named:
    """Which of these phrases are names of speakers or of entity records in these memories, by the view's versions.

    A speaker or a person may be named by the first word of the name alone.
    """
    if not phrases:
        return Named()
    conditions, parameters = search.conditions(replace(view, types=(), filters=None))
    near, memories = inside.fitting(memory_ids, "v.memory_id")
    values = {**parameters, **memories, "phrases": sorted(phrases), "most": MOST_ENTITIES}
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT p.phrase FROM unnest(%(phrases)s::text[]) AS p(phrase) WHERE EXISTS (
                SELECT FROM memories_version v
                WHERE split_part(lower(v.speaker), ' ', 1) = split_part(p.phrase, ' ', 1) AND v.speaker <> ''
                  AND (lower(v.speaker) = p.phrase OR p.phrase NOT LIKE '%% %%') AND {near} {conditions})
            """,
            values,
        )
        names = {phrase for (phrase,) in cursor.fetchall()}
        cursor.execute(
            f"""
            SELECT v.record_id, v.type, lower(v.title) FROM memories_version v
            WHERE v.type IN ('entity', 'person', 'company') AND v.title <> ''
              AND split_part(lower(v.title), ' ', 1) = ANY(
                SELECT DISTINCT split_part(p.phrase, ' ', 1) FROM unnest(%(phrases)s::text[]) AS p(phrase))
              AND {near} {conditions}
            LIMIT %(most)s
            """,
            values,
        )
        rows = cursor.fetchall()
    asked = set(phrases)
    entities: set[str] = set()
    for record_id, kind, title in rows:
        called = {title, title.split(" ")[0]} if kind == "person" else {title}
        if called & asked:
            names |= called & asked
            entities.add(f"hrec_{record_id.hex}")
    return Named(frozenset(names), entities=frozenset(entities))


def by_fields(named: Named, memory_ids: Sequence[str], view: View, limit: int) -> dict[int, float]:
    """The newest versions that say they are about an entity that the question names."""
    conditions, parameters = search.conditions(view)
    near, memories = inside.fitting(memory_ids, "v.memory_id")
    holding = " OR ".join(
        f"v.references @> jsonb_build_array(jsonb_build_object('rel', '{rel}', 'record_id', %(entity{number})s::text))"
        for number in range(len(named.entities))
        for rel in ABOUT
    )
    return search.scores(
        f"""
        SELECT v.id, 1.0 FROM memories_version v WHERE ({holding}) AND {near} {conditions}
        ORDER BY v.id DESC LIMIT %(limit)s
        """,
        {
            **parameters,
            **memories,
            "limit": limit,
            **{f"entity{number}": entity for number, entity in enumerate(sorted(named.entities))},
        },
    )


def by_or_about(named: Named, keys: Collection[int]) -> dict[int, float]:
    """Those of the versions that were said or written by whom the question names, are it, or say they are about it."""
    if not keys or not (named.names or named.writers or named.entities):
        return {}
    return search.scores(
        """
        SELECT v.id, 1.0 FROM memories_version v
        WHERE v.id = ANY(%(keys)s::bigint[]) AND (
            lower(v.speaker) = ANY(%(names)s::text[])
            OR v.speaker <> '' AND split_part(lower(v.speaker), ' ', 1) = ANY(%(names)s::text[])
            OR v.speaker = '' AND v.writer_id = ANY(%(writers)s::text[])
            OR v.record_id = ANY(%(records)s::uuid[])
            OR EXISTS (
                SELECT FROM jsonb_array_elements(v.references) AS one
                WHERE one->>'record_id' = ANY(%(entities)s::text[]) AND one->>'rel' = ANY(%(about)s::text[])))
        """,
        {
            "keys": list(keys),
            "names": sorted(named.names),
            "writers": sorted(named.writers),
            "records": [to_uuid(entity, "hrec_") for entity in sorted(named.entities)],
            "entities": sorted(named.entities),
            "about": list(ABOUT),
        },
    )
