"""Seeing with another member's eyes: what they see, as far as the viewer looks after it themself. Read-only.

What somebody holds on a memory is the business of those who hold `delete` there. So a viewer is shown the memories that
the member reaches and on which the viewer holds `delete`, as the member holds them; what is written there only where
both may read. Everything else is not looked at: it takes no part in a listing, a count or the ranking of a recall.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q

from members import events
from members.callers import Caller, caller_for
from members.models import Member
from memories.access import Privilege
from memories.models import Memory
from memories.models.tree import MemoryQuerySet
from memories.providers import registry
from memories.recall import pipeline
from memories.recall.pipeline import Ask, Recalled
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound, MemoryUnavailable

from .sight import Place

VIEWED = "viewed.as"


@dataclass(frozen=True)
class Counts:
    """What there is at a memory of what is shown: memories below, and records, None where they are not."""

    children: int
    records: int | None


@dataclass(frozen=True)
class Level:
    """One page of a level, by name; the memories carry `held`, what the member holds. `next` is the key to go on."""

    memories: Sequence[Memory]
    next: tuple[str, str] | None


@dataclass(frozen=True)
class Seen(Place):
    """A memory as the member holds it, looked at by somebody else: that is no use that the member made of it."""

    def used(self, *, wrote: bool = False) -> None:
        """Note nothing."""


@dataclass(frozen=True)
class Eyes:
    """A viewer, and the member whose eyes they look with."""

    viewer: Caller
    member: Caller

    @property
    def shown(self) -> MemoryQuerySet:
        """The memories that are shown at all."""
        tree = Memory.objects.of(self.viewer.organisation_id)
        return self._both(tree, Privilege.DELETE, Privilege.NONE)

    @property
    def readable(self) -> MemoryQuerySet:
        """Those of which also the records are."""
        return self._both(self.shown, Privilege.READ, Privilege.READ)

    def _both(self, tree: MemoryQuerySet, viewer: Privilege, member: Privilege) -> MemoryQuerySet:
        return tree.held_by(self.viewer.principals, viewer).held_by(self.member.principals, member)


def with_eyes_of(viewer: Caller, member: Member) -> Eyes:
    """Look with the eyes of a member, as they are now; somebody deactivated holds nothing."""
    there = caller_for(member)
    return Eyes(viewer, there if member.is_active else Caller(member, frozenset()))


def note(eyes: Eyes, memory_id: str = "", **detail: Any) -> None:
    """Append to the audit that somebody looked; must run in a transaction."""
    viewer = eyes.viewer
    subject = eyes.member.member.principal
    events.record(viewer.organisation_id, viewer.actor, VIEWED, memory_id=memory_id, subject=subject, **detail)


def look(eyes: Eyes, memory_id: str) -> Place:
    """The memory as the member holds it. Raises MemoryNotFound for one that is not shown."""
    found = eyes.shown.filter(pk=memory_id).with_privileges(eyes.member.principals).first()
    if found is None:
        raise MemoryNotFound()
    return Seen(eyes.member, found, Privilege(found.held))


def level(eyes: Eyes, parent: Memory | None, limit: int, after: tuple[Any, ...] | None = None) -> Level:
    """The memories where the member enters, or those right below one that they may read."""
    rows = eyes.shown.filter(parent=parent) if parent else _entries(eyes)
    rows = rows.with_privileges(eyes.member.principals).by_name()
    if after:
        name, memory_id = after
        rows = rows.filter(Q(sort_name__gt=name) | Q(sort_name=name, id__gt=memory_id))
    found = list(rows[: limit + 1])
    last = found[limit - 1] if len(found) > limit else None
    return Level(found[:limit], (last.sort_name, last.id) if last else None)


def _entries(eyes: Eyes) -> MemoryQuerySet:
    # Where not both hold something from above, one of them was given it right there.
    direct = Memory.objects.of(eyes.viewer.organisation_id)
    either = direct.directly_held_by(eyes.viewer.principals) | direct.directly_held_by(eyes.member.principals)
    above_viewer = direct.held_q(eyes.viewer.principals, Privilege.DELETE, field="parent")
    above_member = direct.held_q(eyes.member.principals, field="parent")
    return eyes.shown.filter(pk__in=either.values("pk")).filter(Q(parent=None) | ~(above_viewer & above_member))


def counts(eyes: Eyes, memories: Sequence[Memory]) -> Mapping[str, Counts]:
    """How many memories and records are shown at each; constant queries."""
    ids = [one.id for one in memories]
    below = eyes.shown.filter(parent_id__in=ids).order_by().values("parent_id")
    children = dict(below.annotate(total=Count("pk")).values_list("parent_id", "total"))
    providers = dict(eyes.readable.filter(pk__in=ids).values_list("id", "provider"))
    records: dict[str, int | None] = {}
    for provider in set(providers.values()):
        records |= _records(provider, [one for one, kept_by in providers.items() if kept_by == provider])
    return {one: Counts(children.get(one, 0), records.get(one)) for one in ids}


def _records(provider: str, ids: Collection[str]) -> Mapping[str, int | None]:
    try:
        counted = registry.get(provider).count(list(ids))
        return {one: counted.get(one, 0) for one in ids}
    except MemoryUnavailable:
        return dict.fromkeys(ids)


def above(eyes: Eyes, memory: Memory) -> Sequence[Memory]:
    """The memories above one, root first, only as far up as they are shown without a gap."""
    upward = eyes.shown.filter(downward__descendant=memory, downward__distance__gt=0)
    chain: list[Memory] = []
    step = memory.parent_id
    by_id = {one.id: one for one in upward.order_by(F("downward__distance"))}
    while step and step in by_id:
        chain.append(by_id[step])
        step = by_id[step].parent_id
    return list(reversed(chain))


def may_read(eyes: Eyes, memory: Memory) -> bool:
    """Whether what is written in a memory is shown."""
    return eyes.readable.filter(pk=memory.pk).exists()


def recall(eyes: Eyes, place: Place, ask: Ask) -> Recalled:
    """What the member would find here, in the memories whose records are shown. Raises MemoryForbidden for others."""
    if not may_read(eyes, place.memory):
        raise MemoryForbidden()
    return pipeline.recall(place.memory, eyes.member.principals, ask, within=eyes.readable)
