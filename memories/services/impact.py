"""Who would gain and who would lose access by a change, computed by the rule that enforces it, before it is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from members.callers import principals_by_member
from members.models import Member
from memories.access import Holding, Node, Privilege, audience
from memories.models import Holding as StoredHolding
from memories.models import Memory, Reach

from .sight import Place

NAMED = 8


@dataclass(frozen=True)
class Party:
    """Some members, counted by kind, the first few named."""

    people: int = 0
    agents: int = 0
    names: tuple[str, ...] = ()
    more: int = 0

    @staticmethod
    def of(members: Iterable[Member]) -> Party:
        """Count and name these members."""
        listed = list(members)
        agents = sum(member.type == Member.Type.AGENT for member in listed)
        return Party(
            people=len(listed) - agents,
            agents=agents,
            names=tuple(member.name for member in listed[:NAMED]),
            more=max(0, len(listed) - NAMED),
        )


@dataclass(frozen=True)
class Impact:
    """What a change does to who reaches a memory. `narrowing` keep something, but less than before."""

    losing: Party
    gaining: Party
    narrowing: Party
    keeping: Party
    subtree_count: int
    locks_out_self: bool
    fingerprint: str


def upward(memory: Memory) -> list[Node]:
    """A memory and those above it as the rule sees them, nearest first; two queries."""
    memories = list(Memory.objects.upward_from(memory))
    holdings: dict[str, list[Holding]] = {one.id: [] for one in memories}
    for stored in StoredHolding.objects.filter(memory_id__in=list(holdings)):
        holding = Holding(stored.principal, Privilege(stored.privileges), stored.grant_id or "")
        holdings[stored.memory_id].append(holding)
    return [Node(one.id, one.restricted, tuple(holdings[one.id])) for one in memories]


def of_restricting(place: Place, restricted: bool) -> Impact:
    """What closing (or opening) a branch does. Raises MemoryForbidden for whoever may not do it."""
    place.require(Privilege.DELETE)
    now = upward(place.memory)
    then = [replace(now[0], restricted=restricted), *now[1:]]
    return compare(place, now, then)


def of_taking_back(place: Place, grant_id: str) -> Impact:
    """What taking a grant back does to this memory. Raises MemoryForbidden for whoever may not do it."""
    place.require(Privilege.DELETE)
    now = upward(place.memory)
    kept = tuple(holding for holding in now[0].holdings if holding.grant_id != grant_id)
    return compare(place, now, [replace(now[0], holdings=kept), *now[1:]])


def compare(place: Place, now: Sequence[Node], then: Sequence[Node]) -> Impact:
    """The difference between two states of the memories above a place, for every active member."""
    principals = principals_by_member(place.caller.organisation_id)
    by_id = {member.id: member for member in principals}
    pairs = [(member.id, held_as) for member, held_as in principals.items()]
    before, after = audience(now, pairs), audience(then, pairs)

    def party(ids: Iterable[str]) -> Party:
        return Party.of(by_id[member_id] for member_id in ids)

    return Impact(
        losing=party(one for one in before if one not in after),
        gaining=party(one for one in after if one not in before),
        narrowing=party(one for one in before if one in after and before[one] & ~after[one]),
        keeping=party(one for one in before if one in after),
        subtree_count=Reach.objects.filter(ancestor=place.memory, distance__gt=0).count(),
        locks_out_self=not after.get(place.caller.member.id, Privilege.NONE) & Privilege.DELETE,
        fingerprint=_fingerprint(place.memory, before, after),
    )


def _fingerprint(memory: Memory, before: Mapping[str, Privilege], after: Mapping[str, Privilege]) -> str:
    # What a person was shown: when it is no longer so, they are asked again.
    shown = [memory.restricted, sorted(before.items()), sorted(after.items())]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]
