"""Brings a made-up world into the product's own tables, and into those of the library pair measured beside it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from django.contrib.auth.models import Group as AuthGroup
from django.contrib.auth.models import Permission
from django.db import connection, models, transaction
from tqdm import tqdm

from benchmarks.access_corpus import CREATE, DELETE, READ, WRITE, Corpus
from benchmarks.access_rival.models import Folder, FolderGroupPermission, FolderUserPermission
from benchmarks.stage import Wrong
from members.models import Group, Member, Membership, Organisation, User
from memories.models import Grant, Memory, Reach

STARTED = datetime(2025, 1, 6, tzinfo=UTC)
WORDS = {"read_folder": READ, "write_folder": WRITE, "create_folder": CREATE, "delete_folder": DELETE}
KINDS = {"org": 1, "mbr": 2, "grp": 3, "hmem": 4, "hgrt": 5}


class Unequal(Wrong):
    """What was loaded is not what the product itself would have written."""


def key(kind: str, number: int) -> uuid.UUID:
    """The id of the numbered thing of a kind, ordered by time like the product's own."""
    milliseconds = int(STARTED.timestamp() * 1000) + number * 20
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | KINDS[kind] << 48 | number)


def public(kind: str, number: int) -> str:
    """The id as Python and the wire see it."""
    return f"{kind}_{key(kind, number).hex}"


def number_of(public_id: str) -> int:
    """The number of the thing that an id made by `public` names."""
    return int(public_id[-12:], 16)


def load(corpus: Corpus) -> dict[str, float]:
    """Load a world into an empty, migrated database, for all methods; return the seconds each part took."""
    rows = len(corpus.organisation) * 2 + len(corpus.grants)
    seconds: dict[str, float] = {}

    @contextmanager
    def part(name: str) -> Iterator[None]:
        bar.set_description(name)
        started = time.perf_counter()
        yield
        seconds[name] = round(time.perf_counter() - started, 2)

    with tqdm(total=rows, unit=" rows", mininterval=1.0) as bar:
        with transaction.atomic(), _unchecked():
            with part("members"):
                _load_members(corpus)
            with part("memories"):
                _copy(Memory, MEMORY, bar_over(bar, _memories(corpus)))
            with part("grants"):
                _copy(Grant, GRANT, bar_over(bar, _grants(corpus)))
            with part("reach"):
                _without_indexes(Reach, compute_reach)
            with part("paths"):
                _copy(Folder, FOLDER, bar_over(bar, _folders(corpus)))
            with part("object permissions"):
                _load_permissions(corpus)
        with part("analyze"), connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    return seconds


def bar_over(bar: tqdm[Any], rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Advance a progress bar with the rows that pass."""
    for position, row in enumerate(rows, 1):
        if position % 1000 == 0:
            bar.update(1000)
        yield row


MEMORY = ("id", "organisation", "parent", "name", "restricted", "provider", "creator")
GRANT = ("id", "organisation", "memory", "principal", "privileges")
FOLDER = ("id", "path", "depth", "numchild", "name", "restricted", "organisation", "owner")


def compute_reach() -> None:
    """Fill the reach table from the parents, all levels in one statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO memories_reach (organisation_id, ancestor_id, descendant_id, distance, open)
            WITH RECURSIVE under (organisation_id, ancestor_id, descendant_id, distance, open) AS (
                SELECT organisation_id, id, id, 0, true FROM memories_memory WHERE deletion IS NULL
                UNION ALL
                SELECT u.organisation_id, u.ancestor_id, m.id, u.distance + 1, u.open AND NOT m.restricted
                FROM under u JOIN memories_memory m ON m.parent_id = u.descendant_id
            )
            SELECT * FROM under
            """
        )


def prove_reach(corpus: Corpus) -> int:
    """Compute reach again with the product's own verb, memory by memory; return how many rows agree.

    Raises Unequal for any difference. Leaves everything as it was.
    """
    fields = ("organisation_id", "ancestor_id", "descendant_id", "distance", "open")
    loaded = set(Reach.objects.values_list(*fields))
    with transaction.atomic():
        Reach.objects.all().delete()
        for memory in Memory.objects.order_by("id"):
            Reach.objects.plant(memory)
        planted = set(Reach.objects.values_list(*fields))
        transaction.set_rollback(True)
    if loaded != planted or len(loaded) != sum(corpus.depth):
        raise Unequal(f"{len(loaded ^ planted)} rows of reach are not what the product computes.")
    return len(loaded)


def sizes() -> dict[str, dict[str, float]]:
    """The rows and the megabytes, indexes included, of every table that plays a part."""
    tables = [model._meta.db_table for model in (Memory, Reach, Grant, Folder)]
    tables += [model._meta.db_table for model in (FolderUserPermission, FolderGroupPermission)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT relname, reltuples, pg_total_relation_size(oid) / 1e6, pg_indexes_size(oid) / 1e6
            FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r'
            """,
            [tables],
        )
        return {
            name: {"rows": int(rows), "mb": round(float(total), 1), "indexes_mb": round(float(indexes), 1)}
            for name, rows, total, indexes in cursor.fetchall()
        }


def _load_members(corpus: Corpus) -> None:
    members = corpus.members
    organisations = [
        (key("org", number), f"Organisation {number}", f"organisation-{number}") for number in range(len(corpus.roots))
    ]
    _copy(Organisation, ("id", "name", "slug"), organisations)
    _copy(
        User,
        ("id", "password", "email"),
        ((number + 1, "!", f"member-{number}@example.com") for number in range(len(members.organisation))),
    )
    _copy(
        Member,
        ("id", "organisation", "type", "name", "user"),
        (
            (public("mbr", number), key("org", of), "agent" if agent else "human", f"Member {number}", number + 1)
            for number, (of, agent) in enumerate(zip(members.organisation, members.is_agent, strict=True))
        ),
    )
    first_everyone = len(members.groups)
    _copy(
        Group,
        ("id", "organisation", "name", "is_everyone"),
        chain(
            (
                (key("grp", number), key("org", of), f"Group {number}", False)
                for number, of in enumerate(members.group_organisation)
            ),
            (
                (key("grp", first_everyone + number), key("org", number), Group.EVERYONE, True)
                for number in range(len(corpus.roots))
            ),
        ),
    )
    pairs = [(group, member) for group, inside in enumerate(members.groups) for member in sorted(inside)]
    _copy(
        Membership,
        ("organisation", "group", "member"),
        (
            (key("org", members.group_organisation[group]), key("grp", group), public("mbr", member))
            for group, member in pairs
        ),
    )
    _copy(
        AuthGroup,
        ("id", "name"),
        ((number + 1, f"Group {number}") for number in range(first_everyone + len(corpus.roots))),
    )
    everyone = ((first_everyone + of, member) for member, of in enumerate(members.organisation))
    _copy(User.groups.through, ("user", "group"), ((member + 1, group + 1) for group, member in chain(pairs, everyone)))


def _memories(corpus: Corpus) -> Iterator[Sequence[Any]]:
    facts = zip(corpus.organisation, corpus.parent, corpus.restricted, corpus.creator, strict=True)
    for number, (of, parent, restricted, creator) in enumerate(facts):
        above = None if parent is None else key("hmem", parent)
        name = f"Memory {number}"
        yield key("hmem", number), key("org", of), above, name, restricted, "native", f"member:{public('mbr', creator)}"


def principal(corpus: Corpus, member: int | None, group: int | None) -> str:
    """How the product's grants name a member or a group."""
    if member is not None:
        return f"member:{public('mbr', member)}"
    assert group is not None
    return f"group:{public('grp', group)}"


def all_grants(corpus: Corpus) -> Iterator[tuple[int, int, int | None, int | None]]:
    """Every grant as memory, privileges, member or else group; those named everyone are numbered after the groups."""
    for grant in corpus.grants:
        yield grant.memory, grant.privileges, grant.member, grant.group
    for organisation, memory in corpus.to_everyone:
        yield memory, READ, None, len(corpus.members.groups) + organisation


def _grants(corpus: Corpus) -> Iterator[Sequence[Any]]:
    for number, (memory, privileges, member, group) in enumerate(all_grants(corpus)):
        organisation = key("org", corpus.organisation[memory])
        yield key("hgrt", number), organisation, key("hmem", memory), principal(corpus, member, group), privileges


def _folders(corpus: Corpus) -> Iterator[Sequence[Any]]:
    paths: list[str] = []
    places = [0] * len(corpus.organisation)
    for position, root in enumerate(corpus.roots):
        places[root] = position
    for children in corpus.children:
        for position, child in enumerate(children):
            places[child] = position
    for number, parent in enumerate(corpus.parent):
        above = "" if parent is None else paths[parent]
        path = Folder._get_path(above, corpus.depth[number], places[number] + 1)
        paths.append(path)
        yield (
            *(number + 1, path, corpus.depth[number], len(corpus.children[number]), f"Memory {number}"),
            *(corpus.restricted[number], key("org", corpus.organisation[number]), corpus.creator[number] + 1),
        )


def _load_permissions(corpus: Corpus) -> None:
    ids = dict(Permission.objects.filter(codename__in=WORDS).values_list("codename", "id"))
    users: list[Sequence[Any]] = []
    groups: list[Sequence[Any]] = []
    for memory, privileges, member, group in all_grants(corpus):
        for word, bit in WORDS.items():
            if privileges & bit and member is not None:
                users.append((ids[word], member + 1, memory + 1))
            elif privileges & bit and group is not None:
                groups.append((ids[word], group + 1, memory + 1))
    _copy(FolderUserPermission, ("permission", "user", "content_object"), users)
    _copy(FolderGroupPermission, ("permission", "group", "content_object"), groups)


def _copy(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """COPY rows into a model's table; fields not named get their default, times the same instant."""
    given: list[Any] = [model._meta.get_field(name) for name in names]
    rest = [
        field
        for field in model._meta.concrete_fields
        if field not in given and not isinstance(field, models.AutoField) and not field.generated
    ]
    constants = tuple(_constant(field) for field in rest)
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in [*given, *rest])
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row((*row, *constants))


def _constant(field: models.Field[Any, Any]) -> Any:
    if isinstance(field, models.DateTimeField) and not field.null:
        return STARTED + timedelta(days=1)
    return field.get_db_prep_save(field.get_default(), connection)


@contextmanager
def _unchecked() -> Iterator[None]:
    """Leave out the checks of foreign keys where the database user may; what is loaded is consistent anyway."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        (may,) = cursor.fetchone()
        if may:
            cursor.execute("SET LOCAL session_replication_role = replica")
        yield


def _without_indexes(model: type[models.Model], fill: Any) -> None:
    """Fill a table and index it afterwards, primary key included, which is several times faster than both at once."""
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE contype = 'p' AND conrelid = %s::regclass",
            [table],
        )
        name, definition = cursor.fetchone()
        cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {connection.ops.quote_name(name)}")
    with connection.schema_editor() as editor:
        for index in model._meta.indexes:
            editor.remove_index(model, index)
    fill()
    with connection.schema_editor() as editor:
        editor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {connection.ops.quote_name(name)} {definition}")
        for index in model._meta.indexes:
            editor.add_index(model, index)
