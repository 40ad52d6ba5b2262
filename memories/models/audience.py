"""Who reaches a memory, page by page, and the way up that it gets its access by: a statement each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from django.db import connection

from members.models import Organisation

from .grants import Grant
from .tree import Memory


class Source(NamedTuple):
    """One active member and one thing that gives them access; whoever has several comes several times, in a row.

    `total` is how many members there are on all pages. What it says of somebody is: `keyed`, whether they can act.
    """

    member_id: str
    name: str
    sort_name: str
    type: str
    keyed: bool
    total: int
    memory_id: str
    principal: str
    group_name: str
    privileges: int
    grant_id: str

    @property
    def given(self) -> tuple[object, ...]:
        """What gives it to them: the same for everybody in a group, and nobody else's where it is their own."""
        return self[6:]


class Above(NamedTuple):
    """A memory on the way up, and what somebody holds on it."""

    id: str
    name: str
    restricted: bool
    held: int


def way_up(memory: Memory, principals: Collection[str]) -> Sequence[Above]:
    """A memory, its parent, and so on to the root, with what the principals hold on each; one query."""
    field = Memory._meta.pk
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT m.id, m.name, m.restricted, memories_held(m.id, %s::text[])
            FROM memories_reach over JOIN memories_memory m ON m.id = over.ancestor_id
            WHERE over.descendant_id = %s ORDER BY over.distance
            """,
            [list(principals), field.get_db_prep_value(memory.pk, connection)],
        )
        return [Above(field.to_python(found), *rest) for found, *rest in cursor.fetchall()]


def audience(
    memory: Memory, *, most: int, after: tuple[str, str] | None = None, named: str = "", type: str = ""
) -> Sequence[Source]:
    """At most so many of those who reach a memory, by name and id, after the lower-case name and the id given.

    `named` keeps those in whose name it occurs, `type` humans or agents. The sources of each come nearest first.
    """
    name, member_id = after or (None, None)
    memories, grants = Memory._meta.pk, Grant._meta.pk
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT * FROM memories_audience(%s, %s, %s, %s, %s, %s, %s)",
            [
                memories.get_db_prep_value(memory.pk, connection),
                Organisation._meta.pk.get_db_prep_value(memory.organisation_id, connection),
                *(named, type, name, member_id, most),
            ],
        )
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    # There are few of these, and each is named again and again.
    ids = {found: memories.to_python(found) for found in {row[6] for row in rows}}
    ids |= {found: grants.to_python(found) or "" for found in {row[10] for row in rows}}
    return [Source._make((*row[:6], ids[row[6]], *row[7:10], ids[row[10]])) for row in rows]
