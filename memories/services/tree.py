"""The verbs on the tree: create, change (rename, describe, restrict, move), delete. Each is one transaction.

Verbs that change the shape of a tree take its organisation's lock, so that no two of them can make a cycle, and what
reaches what stays equal to a fresh computation.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import connection, transaction

from members.callers import Caller
from memories.access import Privilege
from memories.models import Grant, Memory, Reach
from memories.models.tree import MAX_DEPTH
from memories.providers import registry
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid
from uhp_site.http.fields import MISSING, Missing

from .sight import Place, look

TREE_LOCK = 0x7EE


@dataclass(frozen=True)
class Deleted:
    """A memory that is gone, and those removed with it that the caller could see."""

    id: str
    memories: tuple[str, ...]


@transaction.atomic
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
    lock_tree(caller, shared=True)
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
    return memory


@transaction.atomic
def change(
    place: Place,
    *,
    name: str | None = None,
    description: str | None = None,
    restricted: bool | None = None,
    parent_id: str | Missing | None = MISSING,
    provider: str | None = None,
) -> Memory:
    """Change what is named and leave the rest; all of it or nothing (contract R-3, R-4).

    Name and description need write; restricting, opening and moving need delete, and a move needs create on the new
    parent. Raises MemoryForbidden, MemoryNotFound for an unseen new parent, MemoryInvalid for a cycle.
    """
    if restricted is not None or not isinstance(parent_id, Missing):
        lock_tree(place.caller)
        place = place.again()
    memory = place.memory
    if provider is not None and provider != memory.provider:
        raise MemoryInvalid("The provider of a memory cannot be changed.", param="provider")
    moves = not isinstance(parent_id, Missing) and parent_id != seen_parent_id(place)
    restricts = restricted is not None and restricted != memory.restricted
    renames = name is not None or description is not None
    place.require(
        (Privilege.WRITE if renames or not (moves or restricts) else Privilege.NONE)
        | (Privilege.DELETE if moves or restricts else Privilege.NONE)
    )
    if renames:
        memory.name = memory.name if name is None else name
        memory.description = memory.description if description is None else description
    if restricts and restricted is not None:
        memory.restricted = restricted
    if moves and not isinstance(parent_id, Missing):
        move(place, parent_id)
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


def move(place: Place, parent_id: str | None) -> None:
    """Point a memory to its new parent, after the checks; the tree must be locked."""
    memory = place.memory
    if parent_id is None:
        require_root(place.caller)
        memory.parent = None
        return
    target = look(place.caller, parent_id)
    target.require(Privilege.CREATE)
    inside = Reach.objects.filter(ancestor=memory)
    if inside.filter(descendant=target.memory).exists():
        raise MemoryInvalid("A memory cannot be moved under itself.", param="parent_id")
    deepest = inside.order_by("-distance").values_list("distance", flat=True).first() or 0
    require_depth(target.memory, deepest + 1)
    memory.parent = target.memory


@transaction.atomic
def delete(place: Place) -> Deleted:
    """Delete a memory with everything it and its descendants hold, whether or not the caller sees them all."""
    lock_tree(place.caller)
    place = place.again()
    place.require(Privilege.DELETE)
    subtree = Memory.objects.at_or_below(place.memory)
    visible = subtree.held_by(place.caller.principals).nearest_first().values_list("id", flat=True)
    named = tuple(visible)
    # Writers hold a share of the memory's row until they commit; from here on they wait, and then find nothing.
    locked = list(Memory.objects.filter(pk__in=subtree.values("pk")).select_for_update().values_list("id", "provider"))
    ids = [memory_id for memory_id, _ in locked]
    for provider in {provider for _, provider in locked}:
        registry.get(provider).drop([memory_id for memory_id, kept_by in locked if kept_by == provider])
    using = connection.alias
    Grant.objects.filter(memory_id__in=ids)._raw_delete(using)
    Reach.objects.filter(descendant_id__in=ids)._raw_delete(using)
    Memory.objects.filter(pk__in=ids)._raw_delete(using)
    return Deleted(place.memory.id, named)


def lock_tree(caller: Caller, *, shared: bool = False) -> None:
    """Queue behind other changes of shape in this organisation; creating only waits for moves and cuts."""
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, hashtext(%s))", [TREE_LOCK, caller.organisation_id])


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


def chosen_provider(asked: str | None, parent: Memory | None) -> str:
    """The provider named, else the parent's, else the server's first. Raises MemoryInvalid for one it does not know."""
    if asked is None:
        return parent.provider if parent else registry.connected()[0].id
    if registry.find(asked) is None:
        raise MemoryInvalid("This server has no such provider.", param="provider")
    return asked
