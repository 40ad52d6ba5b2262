"""Which memories a caller is listed: entry points, one level, a whole branch, or where its access changes (§4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, OuterRef, Q, SmallIntegerField, Subquery, Value
from django.db.models.functions import Lower

from members.callers import Caller
from members.models import annotated
from memories.access import Privilege
from memories.models import Memory, Reach
from memories.models.tree import MemoryQuerySet

from .sight import look

__all__ = ["Page", "Which", "look", "memories"]


@dataclass(frozen=True)
class Which:
    """The listing asked for; nothing set means entry points."""

    parent: str | None = None
    ancestor: str | None = None
    granted: bool = False


@dataclass(frozen=True)
class Page:
    """One page of memories that carry `held`, and the key at which the next one begins."""

    memories: Sequence[Memory]
    next: tuple[int, str, str] | None


def memories(
    caller: Caller,
    which: Which,
    limit: int,
    after: tuple[Any, ...] | None = None,
    within: MemoryQuerySet | None = None,
) -> Page:
    """One page of a listing; with `within`, of these memories only.

    Raises MemoryNotFound or MemoryForbidden for the `parent` or `ancestor` named.
    """
    rows = _ordered(_asked(caller, which)).with_privileges(caller.principals)
    if within is not None:
        rows = rows.filter(pk__in=within.values("pk"))
    if after:
        level, name, memory_id = after
        rows = rows.filter(
            Q(level__gt=level) | Q(level=level, sort_name__gt=name) | Q(level=level, sort_name=name, id__gt=memory_id)
        )
    found = list(rows.order_by(F("level"), F("sort_name"), "id")[: limit + 1])
    last = found[limit - 1] if len(found) > limit else None
    return Page(found[:limit], (last.level, last.sort_name, last.id) if last else None)


def _asked(caller: Caller, which: Which) -> MemoryQuerySet:
    tree = Memory.objects.of(caller.organisation_id)
    if which.parent is not None:
        place = look(caller, which.parent)
        place.require(Privilege.READ)
        return annotated(tree.seen_below([place.memory.id], caller.principals), level=Value(0))
    if which.ancestor is not None:
        place = look(caller, which.ancestor)
        place.require(Privilege.READ)
        return annotated(tree.below(place.memory).held_by(caller.principals), level=F("distance"))
    if which.granted:
        # Highest first is by true depth: comparing what one sees of it would put a deep branch on top.
        depth = Reach.objects.filter(descendant=OuterRef("pk")).order_by("-distance").values("distance")[:1]
        granted = tree.granted_to(caller.principals)
        return annotated(granted, level=Subquery(depth, output_field=SmallIntegerField()))
    return annotated(tree.entry_points(caller.principals), level=Value(0))


def _ordered(memories: MemoryQuerySet) -> MemoryQuerySet:
    return annotated(memories, sort_name=Lower("name"))
