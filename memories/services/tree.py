"""The verbs on the tree: create, change (rename, describe, restrict, move), delete. Each is one transaction.

Verbs that change the shape of a tree take its organisation's lock, so that no two of them can make a cycle, and what
reaches what stays equal to a fresh computation. Each appends its events in the same transaction.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from members import events
from members.callers import Caller
from memories.access import Privilege
from memories.models import Job, Memory, Reach
from memories.models.tree import MAX_DEPTH
from memories.providers import registry
from uhp_site.http.errors import MemoryBusy, MemoryForbidden, MemoryInvalid
from uhp_site.http.fields import MISSING, Missing

from . import holds, jobs
from .sight import Place, look
from .steady import lock_tree, steady

PURGE = "purge"
CONSOLIDATION = "consolidation"


@dataclass(frozen=True)
class Deleted:
    """A memory that is gone, and those removed with it that the caller could see."""

    id: str
    memories: tuple[str, ...]


@steady
def create(
    caller: Caller,
    *,
    name: str,
    parent_id: str | None = None,
    description: str = "",
    restricted: bool = False,
    provider: str | None = None,
) -> Memory:
    """Create a memory under a parent the caller may create in, or a root. Restricted from its first instant when asked.

    Raises MemoryNotFound or MemoryForbidden for the parent, MemoryInvalid for the provider or the depth.
    """
    lock_tree(caller.organisation_id, shared=True)
    parent = None
    if parent_id is None:
        require_root(caller)
    else:
        place = look(caller, parent_id)
        place.require(Privilege.CREATE)
        parent = place.memory
        require_depth(parent, 1)
    memory = Memory.objects.create(
        organisation_id=caller.organisation_id,
        parent=parent,
        name=name,
        description=description,
        restricted=restricted,
        provider=chosen_provider(provider, parent),
        creator=caller.member.principal,
    )
    Reach.objects.plant(memory)
    happened(
        caller,
        "memory.created",
        memory,
        name=name,
        parent_id=parent_id,
        restricted=restricted,
        creator=memory.creator,
    )
    return memory


@steady
def change(
    place: Place,
    *,
    name: str | None = None,
    description: str | None = None,
    restricted: bool | None = None,
    parent_id: str | Missing | None = MISSING,
    provider: str | None = None,
) -> Memory:
    """Change what is given. Name and description need write, `restricted` and moving need delete.

    Raises MemoryForbidden, MemoryNotFound for an unseen new parent, MemoryInvalid for a cycle, MemoryBusy for a move
    while a consolidation runs.
    """
    lock_tree(place.caller.organisation_id, shared=restricted is None and isinstance(parent_id, Missing))
    place = place.again()
    memory = place.memory
    if provider is not None and provider != memory.provider:
        raise MemoryInvalid("The provider of a memory cannot be changed.", param="provider")
    moves = not isinstance(parent_id, Missing) and parent_id != seen_parent_id(place)
    restricts = restricted is not None and restricted != memory.restricted
    described = name is not None or description is not None
    place.require(
        (Privilege.WRITE if described or not (moves or restricts) else Privilege.NONE)
        | (Privilege.DELETE if moves or restricts else Privilege.NONE)
    )
    if described:
        describe(place, name, description)
    if restricts and restricted is not None:
        memory.restricted = restricted
        happened(place.caller, "memory.restricted" if restricted else "memory.opened", memory)
    if moves and not isinstance(parent_id, Missing):
        before = memory.parent_id
        move(place, parent_id)
        happened(place.caller, "memory.moved", memory, **{"from": before, "to": parent_id})
    # Only what this change touches: without the lock, the rest may be older than what another change has written.
    touched = {
        "name": name is not None,
        "description": description is not None,
        "restricted": restricts,
        "parent": moves,
        "updated_at": True,
    }
    memory.save(update_fields=[field for field, changed in touched.items() if changed])
    if moves:
        Reach.objects.detach(memory)
        Reach.objects.attach(memory)
    elif restricts:
        Reach.objects.reopen(memory)
    return memory


def describe(place: Place, name: str | None, description: str | None) -> None:
    """Set the name and the description that are given, and say so when that is something new."""
    memory, before = place.memory, place.memory.name
    redescribed = description is not None and description != memory.description
    memory.name = before if name is None else name
    memory.description = memory.description if description is None else description
    if memory.name != before or redescribed:
        happened(place.caller, "memory.renamed", memory, name=memory.name, before=before, redescribed=redescribed)


def move(place: Place, parent_id: str | None) -> None:
    """Point a memory to its new parent, after the checks; the tree must be locked."""
    memory = place.memory
    target = movable_to(place, parent_id)
    require_idle(memory)
    holds.require_free_to_move(place.caller, memory, parent_id)
    memory.parent = target


def movable_to(place: Place, parent_id: str | None) -> Memory | None:
    """The new parent, or None for the top. Raises what the caller may not do, a cycle, and a tree too deep."""
    memory = place.memory
    if parent_id is None:
        require_root(place.caller)
        return None
    target = look(place.caller, parent_id)
    target.require(Privilege.CREATE)
    inside = Reach.objects.filter(ancestor=memory)
    if inside.filter(descendant=target.memory).exists():
        raise MemoryInvalid("A memory cannot be moved under itself.", param="parent_id")
    deepest = inside.order_by("-distance").values_list("distance", flat=True).first() or 0
    require_depth(target.memory, deepest + 1)
    return target.memory


@steady
def delete(place: Place) -> Deleted:
    """Delete a memory with everything below it, whether or not the caller sees it all.

    From the commit on none of it exists for anybody; a job removes what it held. Raises MemoryBusy while a
    consolidation runs there or below.
    """
    lock_tree(place.caller.organisation_id)
    place = place.again()
    place.require(Privilege.DELETE)
    require_idle(place.memory)
    holds.require_free(place.caller, place.memory)
    subtree = Memory.objects.at_or_below(place.memory)
    named = tuple(subtree.held_by(place.caller.principals).nearest_first().values_list("id", flat=True))
    deletion = uuid.uuid4()
    doomed = fell(place.memory, deletion)
    cancel_queued(place.caller.organisation_id, deletion)
    happened(place.caller, "memory.deleted", place.memory, name=place.memory.name, memories=doomed)
    jobs.enqueue(
        PURGE,
        place.caller.organisation_id,
        memory_id=place.memory.id,
        actor=place.caller.actor.principal,
        deletion=str(deletion),
    )
    return Deleted(place.memory.id, named)


def fell(memory: Memory, deletion: uuid.UUID) -> int:
    """Take a memory and all below out of the tree: no parent, no reach, no grant. Returns how many they were."""
    key = Memory._meta.pk.get_db_prep_value(memory.pk, connection)
    with connection.cursor() as cursor:
        # Writers hold a share of the memory's row until they commit; from here on they wait, and then find nothing.
        cursor.execute(
            """
            WITH doomed AS MATERIALIZED (
                SELECT id FROM memories_memory
                WHERE id IN (SELECT descendant_id FROM memories_reach WHERE ancestor_id = %s)
                ORDER BY id FOR UPDATE
            )
            UPDATE memories_memory m SET deletion = %s, parent_id = NULL FROM doomed WHERE m.id = doomed.id
            """,
            [key, deletion],
        )
        count: int = cursor.rowcount
        for statement in (
            "DELETE FROM memories_grant USING memories_memory m WHERE memory_id = m.id AND m.deletion = %s",
            "DELETE FROM memories_reach USING memories_memory m WHERE descendant_id = m.id AND m.deletion = %s",
        ):
            cursor.execute(statement, [deletion])
    return count


def cancel_queued(organisation_id: str, deletion: uuid.UUID) -> None:
    """Cancel the work that waits for memories of a deletion; what runs already finds them gone."""
    waiting = Job.objects.of(organisation_id).filter(state=Job.State.QUEUED).exclude(memory_id="").exclude(kind=PURGE)
    at = set(waiting.values_list("memory_id", flat=True))
    gone = Memory.deleted_too.filter(pk__in=at, deletion=deletion).values_list("id", flat=True) if at else ()
    if ids := list(gone):
        waiting.filter(memory_id__in=ids).update(state=Job.State.CANCELLED, finished_at=timezone.now())


def happened(caller: Caller, action: str, memory: Memory, **detail: Any) -> None:
    """Append an event on a memory."""
    events.record(caller.organisation_id, caller.actor, action, memory_id=memory.id, **detail)


def seen_parent_id(place: Place) -> str | None:
    """The parent as the caller is shown it: a client that sends back what it read moves nothing."""
    parent_id = place.memory.parent_id
    seen = Memory.objects.filter(pk=parent_id).held_by(place.caller.principals) if parent_id else None
    return parent_id if seen is not None and seen.exists() else None


def require_root(caller: Caller) -> None:
    """Any member may plant a root, unless the deployment keeps that to owners (contract A-09)."""
    if settings.ROOTS_BY_OWNERS_ONLY and not caller.member.is_owner:
        raise MemoryForbidden("Only an owner of the organisation may create a memory at the top.")


def require_depth(parent: Memory, levels: int) -> None:
    """Refuse a tree deeper than MAX_DEPTH levels, which every lookup would pay for."""
    above = Reach.objects.filter(descendant=parent).count()
    if above + levels > MAX_DEPTH:
        raise MemoryInvalid(f"A tree has at most {MAX_DEPTH} levels.", param="parent_id")


def require_idle(memory: Memory) -> None:
    """Raise MemoryBusy while a consolidation waits or runs on a memory or below it (contract R-7).

    Whoever enqueues one shares the lock of the tree, so that it cannot begin between this and the commit.
    """
    running = Job.objects.of(memory.organisation_id).unfinished().filter(kind=CONSOLIDATION)
    at = list(running.values_list("memory_id", flat=True))
    if at and Reach.objects.filter(ancestor=memory, descendant_id__in=at).exists():
        raise MemoryBusy("A consolidation is running here or below; try again when it is done.")


def chosen_provider(asked: str | None, parent: Memory | None) -> str:
    """The provider named, else the parent's, else the server's first. Raises MemoryInvalid for one it does not know."""
    if asked is None:
        return parent.provider if parent else registry.connected()[0].id
    if registry.find(asked) is None:
        raise MemoryInvalid("This server has no such provider.", param="provider")
    return asked
