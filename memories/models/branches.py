"""The facts of a whole branch as plain rows, for questions that look at thousands of memories at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from django.db import connection

from members.models import Organisation

from .tree import Memory

PREFIX = "hmem_"


class Below(NamedTuple):
    """A memory of a branch; `above` is the position of its parent in the same list, None for the one on top.

    `key` is what its id ends in, which takes a while to be made for very many.
    """

    key: str
    above: int | None
    restricted: bool
    provider: str
    creator: str


class Given(NamedTuple):
    """A grant on a memory of a branch."""

    key: str
    principal: str
    privileges: int


class Change(NamedTuple):
    """A memory where somebody holds something else than before, as sets of privileges; `known` is said of another."""

    memory_id: str
    provider: str
    before: int
    after: int
    known: bool


def at_or_below(memory: Memory) -> Sequence[Below]:
    """A memory and everything under it, nearest first."""
    rows = _rows(
        """
        SELECT encode(uuid_send(m.id), 'hex'), encode(uuid_send(m.parent_id), 'hex'),
               m.restricted, m.provider, m.creator
        FROM memories_reach r JOIN memories_memory m ON m.id = r.descendant_id
        WHERE r.ancestor_id = %s ORDER BY r.distance, m.id
        """,
        memory,
    )
    numbers = {row[0]: number for number, row in enumerate(rows)}
    return [Below(key, numbers.get(parent), *rest) for key, parent, *rest in rows]


def grants_below(memory: Memory) -> Sequence[Given]:
    """Every grant on something under a memory."""
    return [
        Given(*row)
        for row in _rows(
            """
            SELECT encode(uuid_send(g.memory_id), 'hex'), g.principal, g.privileges
            FROM memories_reach r JOIN memories_grant g ON g.memory_id = r.descendant_id
            WHERE r.ancestor_id = %s AND r.distance > 0
            """,
            memory,
        )
    ]


def changes(
    organisation_id: str, before: Collection[str], after: Collection[str], known: Collection[str]
) -> Sequence[Change]:
    """Where somebody who counted as `before` and counts as `after` holds something else than they did, in no order,
    and whether `known` hold anything there."""
    asked = {
        "organisation": Organisation._meta.pk.get_db_prep_value(organisation_id, connection),
        "before": list(before),
        "after": list(after),
        "known": list(known),
        "all": list({*before, *after, *known}),
    }
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH held AS (
                SELECT r.descendant_id,
                       coalesce(bit_or(h.privileges) FILTER (WHERE h.principal = ANY (%(before)s)), 0) AS before,
                       coalesce(bit_or(h.privileges) FILTER (WHERE h.principal = ANY (%(after)s)), 0) AS after,
                       bool_or(h.principal = ANY (%(known)s)) AS known
                FROM memories_holding h JOIN memories_reach r ON r.ancestor_id = h.memory_id
                WHERE h.organisation_id = %(organisation)s AND h.principal = ANY (%(all)s) AND r.open
                GROUP BY r.descendant_id
            )
            SELECT encode(uuid_send(m.id), 'hex'), m.provider, held.before, held.after, held.known
            FROM held JOIN memories_memory m ON m.id = held.descendant_id WHERE held.before <> held.after
            """,
            asked,
        )
        return [Change(public_id(key), *rest) for key, *rest in cursor.fetchall()]


def public_id(key: str) -> str:
    """The id that a key stands for."""
    return f"{PREFIX}{key}"


def _rows(statement: str, memory: Memory) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [Memory._meta.pk.get_db_prep_value(memory.pk, connection)])
        return list(cursor.fetchall())
