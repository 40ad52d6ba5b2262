"""Brings the world of the recall benchmark into an empty, migrated database, in bulk."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection, models, transaction
from tqdm import tqdm

from benchmarks.recall_corpus import HALL, ROOT, STARTED, Corpus, Planted, Vectors, key
from members import services
from members.ids import to_uuid
from members.models import Member
from memories.access import Privilege
from memories.models import Embedding, Grant, Memory, Record, Version

STAGE = (
    "CREATE UNLOGGED TABLE bench_stage (id bigint, record uuid, memory uuid, organisation uuid, said text, "
    "vector halfvec)"
)
SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
MEMORY_ROWS = ("id", "organisation_id", "parent_id", "name", "restricted", "provider", "creator")
GRANT_ROWS = ("id", "organisation_id", "memory_id", "principal", "privileges")
REACH = """
INSERT INTO memories_reach (organisation_id, ancestor_id, descendant_id, distance, open)
WITH RECURSIVE under (organisation_id, ancestor_id, descendant_id, distance, open) AS (
    SELECT organisation_id, id, id, 0, true FROM memories_memory
    UNION ALL
    SELECT u.organisation_id, u.ancestor_id, m.id, u.distance + 1, u.open AND NOT m.restricted
    FROM under u JOIN memories_memory m ON m.parent_id = u.descendant_id
)
SELECT * FROM under
"""


@dataclass(frozen=True)
class People:
    """Who asks: one who reads everything in the large organisation, and one who reads here and there."""

    reader: Member
    scattered: Member
    organisations: Sequence[UUID] = ()

    @classmethod
    def join(cls, small_organisations: int) -> People:
        """New organisations, the large one first, and its two members."""
        organisations = [services.found_organisation(f"Organisation {n}") for n in range(small_organisations + 1)]
        reader, scattered = (services.join(organisations[0], name=n, type="agent") for n in ("Reader", "Scattered"))
        return cls(reader, scattered, [to_uuid(one.id, "org_") for one in organisations])

    @classmethod
    def found(cls, reader: str, scattered: str) -> People:
        """Those of a world that was loaded before."""
        return cls(Member.objects.get(pk=reader), Member.objects.get(pk=scattered))


def load(corpus: Corpus) -> tuple[People, dict[str, float]]:
    """Load the world; return who is in it, and the seconds that each part took."""
    seconds: dict[str, float] = {}

    @contextmanager
    def part(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        seconds[name] = round(time.perf_counter() - started, 1)

    with transaction.atomic(), connection.cursor() as cursor:
        # What is loaded is consistent; checking every reference would take most of the time.
        cursor.execute("SET LOCAL session_replication_role = replica")
        people = People.join(corpus.scale.small_organisations)
        with part("memories"):
            _copy(Memory, MEMORY_ROWS, _memories(corpus, people))
            _copy(Grant, GRANT_ROWS, _grants(corpus, people))
            cursor.execute(REACH)
        with part("records"):
            _stage(corpus, people)
        with part("rows and indexes"):
            cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")
            _spread(people.organisations[0])
    with part("analyze"), connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return people, seconds


def _memories(corpus: Corpus, people: People) -> Iterator[Sequence[Any]]:
    for number, (of, parent) in enumerate(zip(corpus.organisation, corpus.parent, strict=True)):
        above = None if parent is None else key("hmem", parent)
        yield (
            *(key("hmem", number), people.organisations[of], above, f"Memory {number}", number == ROOT),
            *("native", "member:nobody"),
        )


def _grants(corpus: Corpus, people: People) -> Iterator[Sequence[Any]]:
    given = [(ROOT, people.reader), (HALL, people.scattered)]
    given += [(memory, people.scattered) for memory in corpus.scattered]
    for number, (memory, member) in enumerate(given):
        of = people.organisations[0]
        yield key("hgrt", number), of, key("hmem", memory), member.principal, int(Privilege.READ)


def _stage(corpus: Corpus, people: People) -> None:
    organisations = np.asarray(corpus.organisation)
    memories = [key("hmem", number).bytes for number in range(len(corpus.parent))]
    homes = [one.bytes for one in people.organisations]
    head = struct.pack("!hh", 384, 0)
    with connection.cursor() as cursor, tqdm(total=corpus.records, unit=" records", mininterval=1.0) as bar:
        cursor.execute(STAGE)
        with cursor.copy("COPY bench_stage FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(SIGNATURE)
            for first, vectors, said in Vectors(corpus).chunks():
                halves = vectors.astype(">f2")
                rows = []
                for offset, text in enumerate(said):
                    number = first + offset
                    memory = int(corpus.memory_of[number])
                    fields = (
                        *(struct.pack("!q", number + 1), key("hrec", number).bytes, memories[memory]),
                        *(homes[organisations[memory]], text.encode(), head + halves[offset].tobytes()),
                    )
                    rows.append(struct.pack("!h", len(fields)))
                    for value in fields:
                        rows += [struct.pack("!i", len(value)), value]
                copy.write(b"".join(rows))
                bar.update(len(said))
            copy.write(struct.pack("!h", -1))


def _spread(large: UUID) -> None:
    """From the stage into the product's tables, whose indexes are made afterwards."""
    tables = (Record, Version, Embedding)
    with connection.schema_editor() as editor:
        for model, constraint in _unique(*tables):
            editor.remove_constraint(model, constraint)
        for model in tables:
            for index in model._meta.indexes:
                editor.remove_index(model, index)
    at = f"'{STARTED.isoformat()}'::timestamptz + id * interval '1 second'"
    _insert(Record, id="record", organisation_id="organisation", memory_id="memory", type="'fact'")
    _insert(
        Version,
        **{"id": "id", "organisation_id": "organisation", "memory_id": "memory", "record_id": "record"},
        **{"number": "1", "type": "'fact'", "written_at": at, "writer_kind": "'member'", "writer_id": "'nobody'"},
        content="jsonb_build_array(jsonb_build_object('type', 'text', 'text', said))",
        words="to_tsvector('english', said)",
    )
    _insert(
        Embedding,
        **{"organisation_id": "organisation", "memory_id": "memory", "version_id": "id"},
        **{"model": f"'{Planted.name}'", "vector": "vector", "indexed": f"organisation = '{large}'"},
    )
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE bench_stage")
        cursor.execute("SELECT setval(pg_get_serial_sequence('memories_version', 'id'), max(id)) FROM memories_version")
    with connection.schema_editor() as editor:
        for model, constraint in _unique(*tables):
            editor.add_constraint(model, constraint)
        for model in tables:
            for index in model._meta.indexes:
                editor.add_index(model, index)


def _unique(*tables: type[models.Model]) -> list[tuple[type[models.Model], models.UniqueConstraint]]:
    return [
        (model, one) for model in tables for one in model._meta.constraints if isinstance(one, models.UniqueConstraint)
    ]


def _insert(model: type[models.Model], /, **columns: str) -> None:
    """Fill a table from the stage, by expressions; columns not named get their default."""
    rest = [
        field
        for field in model._meta.concrete_fields
        if field.column not in columns and not isinstance(field, models.AutoField) and not field.generated
    ]
    names = ", ".join(connection.ops.quote_name(str(one)) for one in [*columns, *(field.column for field in rest)])
    values = ", ".join([*columns.values(), *["%s"] * len(rest)])
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {values} FROM bench_stage ORDER BY id",  # noqa: S608
            [_default(field) for field in rest],
        )


def _copy(model: type[models.Model], names: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """COPY rows into a model's table; fields not named get their default, times the same instant."""
    rest = [
        field
        for field in model._meta.concrete_fields
        if field.column not in names and not isinstance(field, models.AutoField) and not field.generated
    ]
    defaults = tuple(_default(field) for field in rest)
    columns = ", ".join(connection.ops.quote_name(str(one)) for one in [*names, *(field.column for field in rest)])
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row((*row, *defaults))


def _default(field: models.Field[Any, Any]) -> Any:
    if isinstance(field, models.DateTimeField) and not field.null:
        return STARTED + timedelta(days=1)
    return field.get_db_prep_save(field.get_default(), connection)
