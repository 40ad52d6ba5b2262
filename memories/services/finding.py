"""Finding memories by what they are called and described as, among those that the caller sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from members.callers import Caller
from members.models import annotated
from memories.access import Privilege
from memories.models import Memory
from memories.models.tree import MemoryQuerySet
from memories.recall import everywhere


@dataclass(frozen=True)
class Found:
    """One page of memories that carry `held`, by name; `next` is the key at which the next page begins."""

    memories: Sequence[Memory]
    next: tuple[bool, str, str] | None


def find(caller: Caller, words: str, limit: int, after: tuple[Any, ...] | None = None) -> Found:
    """Memories in whose name or description every word occurs, those named so first."""
    tree = Memory.objects.of(caller.organisation_id)
    found = tree.filter(tree.covered_by(caller.principals))
    return _page(caller, matching(found, words), words, limit, after)


def records(caller: Caller, words: str, limit: int) -> Sequence[everywhere.Found]:
    """Current records that have the words, best first, of all memories that the caller reads."""
    return everywhere.by_words(caller.organisation_id, caller.principals, words, limit)


def newest(caller: Caller, limit: int) -> Sequence[everywhere.Found]:
    """The current records that were written last, of all memories that the caller reads."""
    return everywhere.newest(caller.organisation_id, caller.principals, limit)


def places_to_move(caller: Caller, memory: Memory, words: str, limit: int, after: tuple[Any, ...] | None) -> Found:
    """Where a memory could be moved to: where the caller may create, outside the branch, and not where it is."""
    tree = Memory.objects.of(caller.organisation_id)
    may_create = tree.filter(tree.covered_by(caller.principals, Privilege.CREATE))
    inside = Memory.objects.at_or_below(memory).values("pk")
    outside = may_create.exclude(pk__in=inside).exclude(pk=memory.parent_id or "")
    return _page(caller, matching(outside, words), words, limit, after)


def matching(memories: MemoryQuerySet, words: str) -> MemoryQuerySet:
    """Those in whose name or description every word occurs, whatever its case."""
    for word in words.split():
        memories = memories.filter(Q(name__icontains=word) | Q(description__icontains=word))
    return memories


def _page(caller: Caller, memories: MemoryQuerySet, words: str, limit: int, after: tuple[Any, ...] | None) -> Found:
    # What is called so stands before what only speaks of it: false sorts before true.
    only_described = ~Q(name__icontains=words.strip()) if words.strip() else Q(pk=None)
    rows: Any = annotated(memories.with_privileges(caller.principals).by_name(), described=only_described)
    rows = rows.order_by("described", F("sort_name"), "id")
    if after:
        described, name, memory_id = after
        behind = Q(sort_name__gt=name) | Q(sort_name=name, id__gt=memory_id)
        rows = rows.filter(Q(described=described) & behind if described else Q(described=True) | behind)
    found = list(rows[: limit + 1])
    last = found[limit - 1] if len(found) > limit else None
    return Found(found[:limit], (last.described, last.sort_name, last.id) if last else None)
