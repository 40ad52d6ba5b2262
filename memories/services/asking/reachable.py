"""What somebody can reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, OuterRef, Q, SmallIntegerField, Subquery
from django.db.models.functions import Lower

from members.callers import Caller
from members.models import annotated
from memories import past
from memories.access import Cause, Person, Privilege
from memories.models import Holding as StoredHolding
from memories.models import LastUse, Memory, Reach
from memories.models.tree import ENTERED_ANEW
from memories.past import Past

from .chain import at_instant, subject, subject_then


@dataclass(frozen=True)
class Held:
    """A memory that somebody reaches. `changes` when they hold something else there than on what is above it.

    `read_at` and `written_at` are when they last did, as far as it was noted; None for never, and for the past.
    """

    id: str
    name: str
    depth: int
    parent_id: str | None
    restricted: bool
    privileges: Privilege
    changes: bool
    read_at: datetime | None = None
    written_at: datetime | None = None


@dataclass(frozen=True)
class Reachable:
    """One page of what somebody reaches, highest in the tree first."""

    person: Person
    memories: tuple[Held, ...]
    next: tuple[int, str, str] | None


def what(
    caller: Caller,
    principal: str,
    limit: int,
    after: tuple[Any, ...] | None = None,
    *,
    at: datetime | None = None,
    changes: bool = False,
) -> Reachable:
    """What a member or group reaches, of what the caller may know; with `changes`, only where it becomes different.

    That is where the caller holds delete, or, about themself, wherever they see. Raises MemoryNotFound for a principal
    that the organisation does not have.
    """
    needed = Privilege.NONE if principal == caller.member.principal else Privilege.DELETE
    if at is not None:
        return _what_then(caller, principal, limit, after, at_instant(caller.organisation_id, at), needed, changes)
    person = subject(caller.organisation_id, principal)
    if person.hindered is Cause.DEACTIVATED:
        return Reachable(person, (), None)
    depth = Reach.objects.filter(descendant=OuterRef("pk")).order_by("-distance").values("distance")[:1]
    tree = Memory.objects.of(caller.organisation_id)
    tree = tree.filter(tree.covered_by(caller.principals, needed), tree.covered_by(person.principals))
    rows = annotated(
        tree.with_privileges(person.principals)
        .with_privileges(person.principals, field="parent", alias="held_above")
        .with_privileges(caller.principals, field="parent", alias="known_above"),
        level=Subquery(depth, output_field=SmallIntegerField()),
        sort_name=Lower("name"),
    )
    if changes:
        known = tree.covered_by(caller.principals, needed, field="parent")
        # What comes through from above is as it is there: it differs only where nothing does, or something sits.
        direct = StoredHolding.objects.filter(principal__in=list(person.principals)).values("memory_id")
        rows = rows.filter((ENTERED_ANEW | Q(pk__in=direct)) & ~Q(held=F("held_above")) | ~known)
    if after:
        level, name, memory_id = after
        rows = rows.filter(
            Q(level__gt=level) | Q(level=level, sort_name__gt=name) | Q(level=level, sort_name=name, id__gt=memory_id)
        )
    found: list[Any] = list(rows.order_by(F("level"), F("sort_name"), "id")[: limit + 1])
    uses = _uses(principal, [one.id for one in found[:limit]])
    held = []
    for one in found[:limit]:
        known_above = Privilege(one.known_above)
        shows_parent = bool(known_above) and needed & known_above == needed
        read_at, written_at = uses.get(one.id, (None, None))
        held.append(
            Held(
                id=one.id,
                name=one.name,
                depth=one.level,
                parent_id=one.parent_id if shows_parent else None,
                restricted=one.restricted,
                privileges=Privilege(one.held),
                changes=one.held != (one.held_above if shows_parent else 0),
                read_at=read_at,
                written_at=written_at,
            )
        )
    last = found[limit - 1] if len(found) > limit else None
    return Reachable(person, tuple(held), (last.level, last.sort_name, last.id) if last else None)


def _what_then(
    caller: Caller,
    principal: str,
    limit: int,
    after: tuple[Any, ...] | None,
    then: Past,
    needed: Privilege,
    changes: bool,
) -> Reachable:
    person = subject_then(then, principal)
    known = set(
        Memory.objects.of(caller.organisation_id).held_by(caller.principals, needed).values_list("id", flat=True)
    )
    held = past.held(then, person.principals) if person.hindered is not Cause.DEACTIVATED else {}
    rows = []
    for memory_id, (depth, privileges, above) in held.items():
        memory = then.memories[memory_id]
        shows_parent = memory.parent_id in known
        changed = privileges != (above if shows_parent else Privilege.NONE)
        key = (depth, memory.name.lower(), memory_id)
        if memory_id in known and privileges and (changed or not changes) and (after is None or key > after):
            parent_id = memory.parent_id if shows_parent else None
            rows.append((key, Held(memory_id, memory.name, depth, parent_id, memory.restricted, privileges, changed)))
    rows.sort(key=lambda row: row[0])
    page = tuple(row for _, row in rows[:limit])
    return Reachable(person, page, rows[limit - 1][0] if len(rows) > limit else None)


def _uses(principal: str, memory_ids: Sequence[str]) -> Mapping[str, tuple[datetime | None, datetime | None]]:
    if not principal.startswith("member:"):
        return {}
    rows = LastUse.objects.filter(member_id=principal.removeprefix("member:"), memory_id__in=memory_ids)
    return {memory: (read, wrote) for memory, read, wrote in rows.values_list("memory_id", "read_at", "written_at")}
