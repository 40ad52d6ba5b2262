"""How records point at each other, on Postgres, where the references of versions are indexed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from members.ids import to_uuid
from memories.content import Reference

from . import inside
from .base import View
from .graph import Linked, Place
from .newest import newest

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

NOTED = 'v.id, v.memory_id, v.record_id, v.type, v."references"'
# The index finds who names the record at all; what remains are the few that name it where it is not.
POINTS = """
    v."references" @> jsonb_build_array(jsonb_build_object('record_id', asked.record)) AND v.invalidated_at IS NULL
    AND (v."references" @> jsonb_build_array(jsonb_build_object('record_id', asked.record, 'memory_id', asked.memory))
         OR v.memory_id = asked.home AND v."references" @>
            jsonb_build_array(jsonb_build_object('record_id', asked.record, 'memory_id', '')))"""
ASKED = """
    unnest(%(records)s::text[], %(named)s::text[], %(homes)s::uuid[]) WITH ORDINALITY
    AS asked(record, memory, home, place)"""


class NativeLinks:
    """The links of the built-in provider."""

    def of(self, memory_ids: Sequence[str], record_ids: Collection[str]) -> Sequence[Linked]:
        """By the records' keys."""
        within, memories = inside.listed(memory_ids, "v.memory_id")
        return _read(
            f"""
            SELECT {NOTED} FROM memories_version v
            WHERE v.record_id = ANY(%(records)s::uuid[]) AND v.invalidated_at IS NULL AND {within}
            """,
            {**memories, "records": [to_uuid(one, "hrec_") for one in record_ids]},
        )

    def newest(self, memory_ids: Sequence[str], limit: int) -> Sequence[Linked]:
        """By the time of writing."""
        keys = newest(memory_ids, View(), limit)
        found = _read(f"SELECT {NOTED} FROM memories_version v WHERE v.id = ANY(%(keys)s::bigint[])", {"keys": keys})
        by_key = {one.key: one for one in found}
        return [by_key[key] for key in keys if key in by_key]

    def pointing_from(self, organisation_id: str, places: Collection[Place]) -> Collection[str]:
        """One look into the index for each record."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                SELECT DISTINCT v.memory_id FROM {ASKED}
                CROSS JOIN LATERAL (
                    SELECT v.memory_id FROM memories_version v
                    WHERE v.organisation_id = %(organisation)s AND {POINTS} OFFSET 0
                ) v
                """,
                {**_asked(places), "organisation": to_uuid(organisation_id, "org_")},
            )
            return [_public("hmem_", memory) for (memory,) in cursor.fetchall()]

    def pointing_at(self, memory_ids: Sequence[str], places: Sequence[Place], limit: int) -> Sequence[Linked]:
        """One look into the index for each record."""
        within, memories = inside.listed(memory_ids, "v.memory_id")
        return _read(
            f"""
            SELECT {NOTED} FROM {ASKED}
            CROSS JOIN LATERAL (
                SELECT {NOTED} FROM memories_version v
                WHERE {within} AND {POINTS} ORDER BY v.id DESC LIMIT %(limit)s
            ) v
            ORDER BY asked.place, v.id DESC LIMIT %(limit)s
            """,
            {**memories, **_asked(places), "limit": limit},
        )


def _asked(places: Collection[Place]) -> Mapping[str, Any]:
    return {
        "records": [record_id for _, record_id in places],
        "named": [memory_id for memory_id, _ in places],
        "homes": [to_uuid(memory_id, "hmem_") for memory_id, _ in places],
    }


def _read(statement: str, parameters: Mapping[str, Any]) -> list[Linked]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [_linked(*row) for row in cursor.fetchall()]


def _linked(key: int, memory: UUID, record: UUID, kind: str, references: str) -> Linked:
    memory_id = _public("hmem_", memory)
    pointers = [Reference(**entry) for entry in json.loads(references)]
    located = tuple(Reference(one.record_id, one.rel, one.memory_id or memory_id) for one in pointers)
    return Linked(key, memory_id, _public("hrec_", record), kind, located)


def _public(prefix: str, value: UUID) -> str:
    return f"{prefix}{value.hex}"
