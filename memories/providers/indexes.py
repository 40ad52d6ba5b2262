"""The vector index of one large organisation: made and taken down while everything else goes on.

It holds the current vectors that are marked as indexed. What is written is not: a writer would wait a millisecond for
every vector, so that marking them, which is what takes them in, is left to the background. Until then a search
compares with them one by one (`meaning.walk`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from django.db import connection, transaction
from psycopg import sql

from members.ids import to_uuid
from memories.models import VectorIndex

from . import plans

PREFIX = "embedding_near_"
# How many vectors one transaction takes in: about a second's work.
BATCH = 1_000
# What the graph of one vector needs while it is built, in bytes, and what a build may take at least and at most.
EACH, LEAST_MEMORY, MOST_MEMORY = 1_500, 64_000_000, 2_000_000_000


@dataclass(frozen=True)
class Corner:
    """The vectors that one index is for."""

    organisation_id: str
    model: str
    aspect: str

    @property
    def index(self) -> str:
        """What the database calls the index."""
        said = "\n".join((self.organisation_id, self.model, self.aspect))
        return PREFIX + blake2b(said.encode(), digest_size=12).hexdigest()

    @property
    def _key(self) -> dict[str, Any]:
        return {
            "organisation": to_uuid(self.organisation_id, "org_"),
            "model": self.model,
            "aspect": self.aspect,
        }


ROWS = "organisation_id = %(organisation)s AND model = %(model)s AND aspect = %(aspect)s AND current"


def built() -> Sequence[Corner]:
    """Those that have an index."""
    return [Corner(*row) for row in VectorIndex.objects.values_list("organisation_id", "model", "aspect")]


def crowded() -> Sequence[Corner]:
    """Those with more vectors than are compared one by one, and no index."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT e.organisation_id, e.model, e.aspect FROM memories_embedding e
            WHERE e.current AND NOT e.indexed AND NOT EXISTS (
                SELECT FROM memories_vectorindex ready
                WHERE (ready.organisation_id, ready.model, ready.aspect) = (e.organisation_id, e.model, e.aspect))
            GROUP BY 1, 2, 3 HAVING count(*) > %s ORDER BY 1, 2, 3
            """,
            [plans.EXACT_UP_TO],
        )
        found = cursor.fetchall()
    return [Corner(f"org_{organisation.hex}", model, aspect) for organisation, model, aspect in found]


def take_in(corner: Corner) -> int:
    """Take some vectors that were written since into the index; return how many, 0 when there are none."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE memories_embedding SET indexed = true WHERE id IN (
                SELECT id FROM memories_embedding WHERE {ROWS} AND NOT indexed
                LIMIT %(batch)s FOR NO KEY UPDATE SKIP LOCKED
            )
            """,  # noqa: S608 - a constant from above
            {**corner._key, "batch": BATCH},
        )
        return int(cursor.rowcount)


def build(corner: Corner, progress: Callable[[int], None] = lambda done: None, *, online: bool = True) -> None:
    """Make the index of a corner; running it twice is harmless, and so is stopping it anywhere.

    `online` lets everybody write meanwhile, and cannot be done inside a transaction.
    """
    if VectorIndex.objects.filter(name=corner.index).exists():
        return
    remove(corner.index, online=online)
    done = 0
    while taken := take_in(corner):
        done += taken
        progress(done)
    _create(corner, online)
    VectorIndex.objects.get_or_create(
        name=corner.index,
        defaults={"organisation_id": corner.organisation_id, "model": corner.model, "aspect": corner.aspect},
    )


def retire() -> list[str]:
    """Take down every index whose organisation or vectors are gone; return their names."""
    for corner in built():
        if not _any(corner):
            VectorIndex.objects.filter(name=corner.index).delete()
    known = set(VectorIndex.objects.values_list("name", flat=True))
    gone = [name for name in _existing() if name not in known]
    for name in gone:
        remove(name)
    return gone


def remove(name: str, *, online: bool = True) -> None:
    """Take down an index that no search counts on."""
    how = sql.SQL("CONCURRENTLY" if online else "")
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DROP INDEX {} IF EXISTS {}").format(how, sql.Identifier(name)))


def _create(corner: Corner, online: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT vector_dims(vector) FROM memories_embedding WHERE {ROWS} LIMIT 1",  # noqa: S608
            corner._key,
        )
        found = cursor.fetchone()
        if found is None:
            return
        cursor.execute(f"SELECT count(*) FROM memories_embedding WHERE {ROWS} AND indexed", corner._key)  # noqa: S608
        (rows,) = cursor.fetchone()
        statement = sql.SQL(
            """
            CREATE INDEX {how} {name} ON memories_embedding
            USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops)
            WHERE organisation_id = {organisation} AND model = {model} AND aspect = {aspect} AND current AND indexed
            """
        ).format(
            how=sql.SQL("CONCURRENTLY" if online else ""),
            name=sql.Identifier(corner.index),
            dimensions=sql.Literal(int(found[0])),
            **{name: sql.Literal(value) for name, value in corner._key.items()},
        )
        if not online:
            # What this transaction has yet to check would stand in the way.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with _memory(rows):
            cursor.execute(statement)
        if not online:
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")


@contextmanager
def _memory(rows: int) -> Iterator[None]:
    """Room for a graph of so many vectors, as far as a quarter of the memory goes; without it a build takes longer."""
    quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    room = max(LEAST_MEMORY, min(rows * EACH, MOST_MEMORY, quarter)) // 1024
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('maintenance_work_mem')")
        (before,) = cursor.fetchone()
        cursor.execute("SELECT set_config('maintenance_work_mem', %s, false)", [f"{room}kB"])
        try:
            yield
        finally:
            if connection.is_usable():
                cursor.execute("SELECT set_config('maintenance_work_mem', %s, false)", [before])


def _any(corner: Corner) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT FROM memories_embedding WHERE {ROWS})",  # noqa: S608 - a constant from above
            corner._key,
        )
        return bool(cursor.fetchone()[0])


def _existing() -> Sequence[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'memories_embedding'::regclass"
        )
        return [name for (name,) in cursor.fetchall() if name.startswith(PREFIX)]
