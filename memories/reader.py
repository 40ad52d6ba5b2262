"""The one door out: memories, neighbours, grants and references, cut to what one reader may see (Memories §4.5).

Ids, counts and messages leak as well as contents do, so every surface shows what comes from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import BooleanField, Count, ExpressionWrapper, F, Q

from members.callers import Caller
from uhp_site.http.errors import MemoryNotFound, MemoryUnavailable

from .access import Holding, Privilege
from .content import Reference
from .models import Grant, Memory, Reach
from .models import Holding as StoredHolding
from .models.tree import MemoryQuerySet
from .providers import registry
from .providers.base import RecordVersion

# How many children an answer names beside its records; a listing pages through all of them.
NEIGHBOURS = 200


@dataclass(frozen=True)
class MemoryView:
    """A memory as one reader is shown it. `record_count` is None when its provider cannot say."""

    memory: Memory
    privileges: Privilege
    parent_id: str | None
    ancestors: tuple[str, ...]
    record_count: int | None
    child_count: int


@dataclass(frozen=True)
class Neighbours:
    """Where a reader can go from a memory: its parent and children, those that may be read."""

    parent: MemoryView | None
    children: tuple[MemoryView, ...]
    capped: bool


@dataclass(frozen=True)
class PlacedHolding:
    """Something held, and the memory it sits on."""

    memory: Memory
    holding: Holding


@dataclass(frozen=True)
class Sources:
    """Where access to a memory comes from: what the reader may look at, and whether there is more."""

    visible: tuple[PlacedHolding, ...]
    hidden: bool


@dataclass(frozen=True)
class ResolvedReference:
    """A pointer with the reader's eyes: all of it, or only that there is one."""

    reference: Reference
    available: bool
    name: str = ""


class Reader:
    """What one caller is shown. Every method costs a constant number of queries, however many rows it is given."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.principals = caller.principals

    @property
    def tree(self) -> MemoryQuerySet:
        """The memories of the caller's organisation; not yet what the caller may see."""
        return Memory.objects.of(self.caller.organisation_id)

    def memories(self, memories: Sequence[Memory], *, counted: bool = True) -> list[MemoryView]:
        """Show memories that carry `held` (from `with_privileges`) and that the caller sees.

        Without `counted` nothing is counted: for whoever asks only where they are.
        """
        if not memories:
            return []
        ids = [memory.id for memory in memories]
        ancestors = self._ancestors(ids)
        records = self._record_counts(memories) if counted else dict.fromkeys(ids)
        children = self._child_counts(memories) if counted else Counter[str]()
        return [
            MemoryView(
                memory=memory,
                privileges=Privilege(memory.held),
                parent_id=ancestors[memory.id][-1] if ancestors[memory.id] else None,
                ancestors=ancestors[memory.id],
                record_count=records[memory.id],
                child_count=children.get(memory.id, 0),
            )
            for memory in memories
        ]

    def sources(self, memory: Memory) -> Sources:
        """Grants and creators on a memory and on those it inherits from, nearest first, named where the caller sees."""
        above = {one.id: one for one in self.tree.upward_from(memory)}
        reaching = Reach.objects.filter(descendant=memory, open=True).values_list("ancestor_id", flat=True)
        seen = set(self.tree.filter(pk__in=above).held_by(self.principals).values_list("id", flat=True))
        stored = StoredHolding.objects.filter(memory_id__in=list(reaching))
        placed = [
            PlacedHolding(above[one.memory_id], Holding(one.principal, Privilege(one.privileges), one.grant_id or ""))
            for one in stored
        ]
        visible = [one for one in placed if one.memory.id in seen]
        visible.sort(key=lambda one: (one.memory.distance, bool(one.holding.grant_id), one.holding.grant_id))
        return Sources(tuple(visible), hidden=len(visible) < len(placed))

    def memory(self, memory: Memory) -> MemoryView:
        """Show one memory, whose privileges are read afresh; they may be none after a move or a cut of one's own.

        Raises MemoryNotFound when somebody deleted it meanwhile.
        """
        fresh = self.tree.with_privileges(self.principals).filter(pk=memory.pk).first()
        if fresh is None:
            raise MemoryNotFound()
        return self.memories([fresh])[0]

    def neighbours(self, memory: Memory) -> Neighbours:
        """The parent and the direct children that the caller may read."""
        readable = self.tree.with_privileges(self.principals).held_by(self.principals, Privilege.READ)
        is_parent = ExpressionWrapper(Q(pk=memory.parent_id or ""), BooleanField())
        near = readable.filter(Q(pk=memory.parent_id) | Q(parent=memory)).by_name()
        # The parent first, so that children never push it out; and one child more than is shown.
        views = self.memories(list(near.order_by(is_parent.desc(), F("sort_name"), "id")[: NEIGHBOURS + 2]))
        children = [view for view in views if view.memory.parent_id == memory.id]
        return Neighbours(
            parent=next((view for view in views if view.memory.id == memory.parent_id), None),
            children=tuple(children[:NEIGHBOURS]),
            capped=len(children) > NEIGHBOURS,
        )

    def grants(self, memory: Memory) -> list[tuple[int, Grant]]:
        """Grants on a memory and those it inherits, by levels up; none on memories the caller cannot see (A-11)."""
        reaching = Reach.objects.filter(descendant=memory, open=True).values_list("ancestor_id", "distance")
        distance = dict(reaching)
        seen = set(self.tree.filter(pk__in=distance).held_by(self.principals).values_list("id", flat=True))
        grants = Grant.objects.filter(memory_id__in=seen).select_related("memory")
        return sorted(((distance[one.memory_id], one) for one in grants), key=lambda pair: (pair[0], pair[1].id))

    def resolve(self, version: RecordVersion) -> list[ResolvedReference]:
        """The references of one record."""
        return self.resolved([version])[0]

    def resolved(self, versions: Sequence[RecordVersion]) -> list[list[ResolvedReference]]:
        """The references of each record in turn: unreadable and unknown look the same (Memories §4.7)."""
        located = [
            [Reference(one.record_id, one.rel, one.memory_id or version.memory_id) for one in version.draft.references]
            for version in versions
        ]
        every = [reference for references in located for reference in references]
        if not every:
            return [[] for _ in versions]
        readable = self.tree.filter(pk__in={one.memory_id for one in every}).held_by(self.principals, Privilege.READ)
        providers = dict(readable.values_list("id", "provider"))
        existing: dict[tuple[str, str], str] = {}
        for provider in set(providers.values()):
            asked = [one for one in every if providers.get(one.memory_id) == provider]
            existing |= registry.get(provider).existing(asked)
        return [[self._resolve(one, existing) for one in references] for references in located]

    def _resolve(self, reference: Reference, existing: Mapping[tuple[str, str], str]) -> ResolvedReference:
        name = existing.get((reference.memory_id, reference.record_id))
        return ResolvedReference(reference, available=name is not None, name=name or "")

    def _ancestors(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        rows = Reach.objects.filter(descendant_id__in=ids, distance__gt=0).order_by("distance")
        upward: dict[str, list[str]] = {memory_id: [] for memory_id in ids}
        for descendant, ancestor in rows.values_list("descendant_id", "ancestor_id"):
            upward[descendant].append(ancestor)
        above = {ancestor for chain in upward.values() for ancestor in chain}
        seen = set(self.tree.filter(pk__in=above).held_by(self.principals).values_list("id", flat=True))
        return {memory_id: _contiguous(chain, seen) for memory_id, chain in upward.items()}

    def _record_counts(self, memories: Sequence[Memory]) -> dict[str, int | None]:
        counts: dict[str, int | None] = {}
        kept_by: dict[str, list[str]] = {}
        for memory in memories:
            kept_by.setdefault(memory.provider, []).append(memory.id)
        for provider, ids in kept_by.items():
            try:
                counted = registry.get(provider).count(ids)
                counts |= {memory_id: counted.get(memory_id, 0) for memory_id in ids}
            except MemoryUnavailable:
                counts |= dict.fromkeys(ids)
        return counts

    def _child_counts(self, memories: Sequence[Memory]) -> Counter[str]:
        held = [memory.id for memory in memories if memory.held]
        others = [memory.id for memory in memories if not memory.held]
        visible = self.tree.seen_below(held, self.principals).order_by().values("parent_id")
        counted = dict(visible.annotate(total=Count("*")).values_list("parent_id", "total"))
        if others:
            few = self.tree.filter(parent_id__in=others).held_by(self.principals).order_by().values("parent_id")
            counted |= dict(few.annotate(total=Count("*")).values_list("parent_id", "total"))
        return Counter(counted)


def _contiguous(upward: Iterable[str], seen: set[str]) -> tuple[str, ...]:
    # Root first, only as far up as the chain from the parent stays in sight.
    chain: list[str] = []
    for ancestor in upward:
        if ancestor not in seen:
            break
        chain.append(ancestor)
    return tuple(reversed(chain))
