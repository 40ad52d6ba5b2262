"""A parent pointer, and recursive queries that join the grants: no table is kept beside the tree."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any

from django.db import connection

from benchmarks.access_load import key
from benchmarks.access_methods import Asking, Audience, Reaching
from memories.models import Memory
from memories.recall.scope import CAP

# The statements are put together from constants only.

# A memory and those above it whose grants count for it: up to and including the first restricted one.
UPWARD = """
    up AS (
        SELECT id, parent_id, restricted, creator FROM memories_memory
        WHERE id = %(memory)s AND deletion IS NULL
        UNION ALL
        SELECT m.id, m.parent_id, m.restricted, m.creator
        FROM up JOIN memories_memory m ON m.id = up.parent_id WHERE NOT up.restricted
    )
"""

DECIDE = f"""
    WITH RECURSIVE {UPWARD}, held AS (
        SELECT bit_or(privileges) AS bits FROM (
            SELECT g.privileges FROM up JOIN memories_grant g ON g.memory_id = up.id
            WHERE g.principal = ANY(%(principals)s)
            UNION ALL
            SELECT 15 FROM up WHERE creator = ANY(%(principals)s)
        ) one
    )
    SELECT m.*, held.bits AS held FROM memories_memory m, held
    WHERE m.id = %(memory)s AND m.organisation_id = %(organisation)s AND held.bits > 0
"""  # noqa: S608

DIRECT = """
    direct AS (
        SELECT memory_id AS id, privileges FROM memories_grant
        WHERE organisation_id = %(organisation)s AND principal = ANY(%(principals)s)
        UNION ALL
        SELECT id, 15 FROM memories_memory
        WHERE organisation_id = %(organisation)s AND creator = ANY(%(principals)s) AND deletion IS NULL
    )
"""

ENTRY_POINTS = f"""
    WITH RECURSIVE {DIRECT}, own AS (SELECT DISTINCT id FROM direct), above AS (
        SELECT own.id AS entry, parent.id, parent.parent_id, parent.restricted
        FROM own JOIN memories_memory m ON m.id = own.id JOIN memories_memory parent ON parent.id = m.parent_id
        UNION ALL
        SELECT above.entry, m.id, m.parent_id, m.restricted
        FROM above JOIN memories_memory m ON m.id = above.parent_id WHERE NOT above.restricted
    )
    SELECT id FROM own WHERE id NOT IN (SELECT entry FROM above WHERE above.id IN (SELECT id FROM own))
"""  # noqa: S608

# Down from the memory asked, carrying along whether the caller reads.
READABLE_DOWNWARD = f"""
    WITH RECURSIVE {DIRECT}, reading AS (SELECT DISTINCT id FROM direct WHERE privileges & 1 = 1), {UPWARD}, down AS (
        SELECT m.id, 0 AS distance, EXISTS (SELECT FROM up JOIN reading USING (id)) AS reads
        FROM memories_memory m WHERE m.id = %(memory)s
        UNION ALL
        SELECT m.id, down.distance + 1,
               (down.reads AND NOT m.restricted) OR m.id IN (SELECT id FROM reading)
        FROM down JOIN memories_memory m ON m.parent_id = down.id
    )
    SELECT id FROM down WHERE reads AND distance > 0 ORDER BY distance, id LIMIT %(limit)s
"""  # noqa: S608

# Up from everything held to find what of it lies under the memory asked, then down from there.
READABLE_FROM_HELD = f"""
    WITH RECURSIVE {DIRECT}, reading AS (SELECT DISTINCT id FROM direct WHERE privileges & 1 = 1), {UPWARD}, climb AS (
        SELECT id AS entry, id AS at, 0 AS distance FROM reading
        UNION ALL
        SELECT climb.entry, m.parent_id, climb.distance + 1
        FROM climb JOIN memories_memory m ON m.id = climb.at
        WHERE climb.at <> %(memory)s AND m.parent_id IS NOT NULL
    ), seeds AS (
        SELECT entry AS id, distance FROM climb WHERE at = %(memory)s
        UNION
        SELECT %(memory)s, 0 FROM up JOIN reading USING (id)
    ), down AS (
        SELECT id, distance FROM seeds
        UNION
        SELECT m.id, down.distance + 1 FROM down JOIN memories_memory m ON m.parent_id = down.id
        WHERE NOT m.restricted
    )
    SELECT id FROM down WHERE distance > 0 ORDER BY distance, id LIMIT %(limit)s
"""  # noqa: S608

AUDIENCE = f"""
    WITH RECURSIVE {UPWARD}, held AS (
        SELECT up.id AS memory_id, g.principal, g.privileges FROM up JOIN memories_grant g ON g.memory_id = up.id
        UNION ALL
        SELECT id, creator, 15 FROM up
    ), of_groups AS (
        SELECT held.*, g.id AS group_id, g.name AS group_name, g.is_everyone
        FROM held JOIN members_group g ON g.id = substr(principal, 11)::uuid
        WHERE principal LIKE 'group:grp\\_%%' AND g.organisation_id = %(organisation)s
    ), sources AS (
        SELECT substr(principal, 8) AS member_id, memory_id, principal, privileges, '' AS group_name
        FROM held WHERE principal LIKE 'member:%%'
        UNION ALL
        SELECT s.member_id, memory_id, principal, privileges, group_name
        FROM of_groups JOIN members_membership s USING (group_id)
        UNION ALL
        SELECT m.id, memory_id, principal, privileges, group_name
        FROM of_groups JOIN members_member m ON is_everyone AND m.organisation_id = %(organisation)s
    ), page AS (
        SELECT m.id, m.name, count(*) OVER () AS total FROM members_member m
        WHERE m.id IN (SELECT member_id FROM sources) AND m.deactivated_at IS NULL
        AND m.organisation_id = %(organisation)s ORDER BY lower(m.name), m.id LIMIT %(limit)s
    )
    SELECT page.id, page.name, page.total, s.memory_id, s.principal, s.privileges, s.group_name
    FROM page JOIN sources s ON s.member_id = page.id ORDER BY lower(page.name), page.id
"""  # noqa: S608

TO_THE_ROOT = UPWARD.replace("WHERE NOT up.restricted", "")
IS_BELOW = f"WITH RECURSIVE {TO_THE_ROOT} SELECT 1 FROM up WHERE id = %(moved)s"  # noqa: S608


class RecursiveQueries:
    """Hand-written SQL over the product's own tables of memories and grants."""

    name = "recursive CTE"
    readable_query = READABLE_DOWNWARD

    def decide(self, asking: Asking, memory: int) -> int:
        """The privileges that the caller holds on a memory, which is fetched with it."""
        found = list(Memory.objects.raw(DECIDE, self._asked(asking, memory)))
        return found[0].held if found else 0

    def entry_points(self, asking: Asking) -> Collection[str]:
        """The ids of the memories where the caller enters the tree."""
        with connection.cursor() as cursor:
            cursor.execute(ENTRY_POINTS, self._asked(asking, 0))
            return [f"hmem_{one.hex}" for (one,) in cursor.fetchall()]

    def readable(self, asking: Asking, memory: int) -> Collection[str]:
        """The ids of what the caller reads below a memory."""
        with connection.cursor() as cursor:
            cursor.execute(self.readable_query, self._asked(asking, memory))
            return [f"hmem_{one.hex}" for (one,) in cursor.fetchall()]

    def audience(self, asking: Asking, memory: int, limit: int) -> Audience:
        """Who reaches a memory and why, in one statement after the look."""
        assert self.decide(asking, memory) & 8
        total, page = 0, dict[str, Reaching]()
        with connection.cursor() as cursor:
            cursor.execute(AUDIENCE, {**self._asked(asking, memory), "limit": limit})
            for member, sources in groupby(cursor.fetchall(), key=lambda row: row[0]):
                rows = list(sources)
                total = rows[0][2]
                bits = reduce(or_, (row[5] for row in rows))
                page[member] = Reaching(bits, frozenset((f"hmem_{row[3].hex}", row[4], row[6]) for row in rows))
        return Audience(total, page)

    def restrict(self, asking: Asking, memory: int) -> None:
        """Close a branch: one row says it."""
        assert self.decide(asking, memory) & 8
        with connection.cursor() as cursor:
            cursor.execute("UPDATE memories_memory SET restricted = true WHERE id = %s", [key("hmem", memory)])

    def move(self, asking: Asking, memory: int, under: int) -> None:
        """Move a branch: one row says it, once it is known that this makes no cycle."""
        assert self.decide(asking, memory) & 8
        assert self.decide(asking, under) & 4
        with connection.cursor() as cursor:
            cursor.execute(IS_BELOW, {"memory": key("hmem", under), "moved": key("hmem", memory)})
            assert cursor.fetchone() is None
            cursor.execute(
                "UPDATE memories_memory SET parent_id = %s WHERE id = %s", [key("hmem", under), key("hmem", memory)]
            )

    def _asked(self, asking: Asking, memory: int) -> dict[str, Any]:
        return {
            "memory": key("hmem", memory),
            "organisation": Memory._meta.get_field("organisation").get_db_prep_value(
                asking.caller.organisation_id, connection
            ),
            "principals": list(asking.caller.principals),
            "limit": CAP - 1,
        }


class RecursiveQueriesFromHeld(RecursiveQueries):
    """The same, but looking from what the caller holds instead of from the memory asked."""

    name = "recursive CTE from what is held"
    readable_query = READABLE_FROM_HELD
