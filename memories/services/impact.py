"""Who would gain and who would lose what by a change, over the whole branch, before it is made.

Computed by the rule that enforces it (`access.flow`, `access.effective`), from the state before and the state after.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import F, Q

from members.callers import Caller, caller_for, principals_by_member
from members.models import Group, Member, Membership
from memories.access import Holding, Node, Placed, Privilege, Tally, effective, shift
from memories.models import Memory
from memories.providers import registry
from uhp_site.http.errors import MemoryForbidden, MemoryUnavailable

from .asking import as_nodes, nodes_above
from .ownership import acting_principals
from .sight import Place
from .tree import movable_to

NAMED = 8
# How many memories below are looked at one by one; a larger branch is counted this far, nearest first, and says so.
CAP = 20_000
# The same for what one member reaches.
MEMBER_CAP = 200_000
CHUNK = 5_000


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
    """What a change does to who reaches a memory and what is below it.

    `losing` and `gaining` are those who lose or gain all access to something, `narrowing` and `widening` those who only
    hold less or more than before, `keeping` those who hold something on the memory itself before and after. `tallies`
    says by member id on how many memories; `memories` and `records` is how much is concerned for anybody. `orphans`
    means that nobody who is active would hold delete any more on something. `capped` admits that not all was counted,
    `elsewhere` that something is concerned which the caller does not see.
    """

    losing: Party
    gaining: Party
    narrowing: Party
    keeping: Party
    subtree_count: int
    locks_out_self: bool
    fingerprint: str
    widening: Party = field(default_factory=Party)
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    memories: int = 0
    records: int | None = 0
    orphans: bool = False
    capped: bool = False
    elsewhere: bool = False


def of_restricting(place: Place, restricted: bool) -> Impact:
    """What closing (or opening) a branch does. Raises MemoryForbidden for whoever may not do it."""
    place.require(Privilege.DELETE)
    now = nodes_above(place.memory)
    return compare(place, now, [replace(now[0], restricted=restricted), *now[1:]])


def of_taking_back(place: Place, grant_id: str) -> Impact:
    """What taking a grant back does. Raises MemoryForbidden for whoever may not do it."""
    place.require(Privilege.DELETE)
    now = nodes_above(place.memory)
    kept = tuple(holding for holding in now[0].holdings if holding.grant_id != grant_id)
    return compare(place, now, [replace(now[0], holdings=kept), *now[1:]])


def of_giving(place: Place, principal: str, privileges: Privilege) -> Impact:
    """What a grant does, or changing the privileges of one. Raises MemoryForbidden for whoever may not do it."""
    place.require(Privilege.DELETE)
    now = nodes_above(place.memory)
    others = tuple(one for one in now[0].holdings if one.principal != principal or not one.grant_id)
    given = (*others, Holding(principal, privileges, "given"))
    return compare(place, now, [replace(now[0], holdings=given), *now[1:]])


def of_moving(place: Place, parent_id: str | None) -> Impact:
    """What moving a branch does. Raises what the move would: MemoryNotFound, MemoryForbidden, MemoryInvalid."""
    place.require(Privilege.DELETE)
    target = movable_to(place, parent_id)
    now = nodes_above(place.memory)
    return compare(place, now, [now[0], *(nodes_above(target) if target else ())])


def of_deleting(place: Place) -> Impact:
    """What deleting a branch takes from whom, of the memories that the caller sees in it."""
    place.require(Privilege.DELETE)
    branch, now, counts = _Branch(place, open_only=False), nodes_above(place.memory), _Counts()
    for members, principals in branch.classes(now):
        before, tally = effective(principals, now), Tally()
        uniform, special = branch.spread(before, Privilege.NONE, principals)
        tally.count(before, Privilege.NONE, uniform)
        for memory_id, (was, _) in special.items():
            if memory_id in branch.visible:
                tally.count(was, Privilege.NONE)
        counts.members(members, (before, Privilege.NONE), tally)
    return branch.impact(counts, branch.visible, orphans=False, locks_out=False)


def of_leaving_group(caller: Caller, group: Group, member: Member) -> Impact:
    """What taking a member out of a group does to that member. Raises MemoryForbidden for whoever is no owner."""
    principals = caller_for(member).principals
    inside = Membership.objects.filter(group=group, member=member).exists()
    return _of_member(caller, member, principals - {group.principal} if inside else principals)


def of_deactivating(caller: Caller, member: Member) -> Impact:
    """What deactivating a member does. Raises MemoryForbidden for whoever is no owner."""
    return _of_member(caller, member, frozenset())


def of_retiring(caller: Caller, agent: Member) -> Impact:
    """What ending an agent does. Of memories that the caller does not see, only an owner is told that there are any.

    Who may end it was decided before.
    """
    return _of_member(caller, agent, frozenset(), managed=True)


def _of_member(caller: Caller, member: Member, after: frozenset[str], *, managed: bool = False) -> Impact:
    if not caller.member.is_owner and not managed:
        raise MemoryForbidden("Only an owner of the organisation may do this.")
    tree = Memory.objects.of(caller.organisation_id)
    if not caller.member.is_owner:
        tree = tree.held_by(caller.principals)
    before = caller_for(member).principals if member.is_active else frozenset()
    compared = tree.held_by(before).with_privileges(before).with_privileges(after, alias="held_after")
    rows = compared.with_privileges(caller.principals, alias="known").filter(~Q(held=F("held_after"))).order_by("id")
    found: Any = rows.values_list("id", *("held", "held_after", "known"))
    tally, concerned, elsewhere, capped = Tally(), list[str](), False, False
    for memory_id, was, becomes, known in found.iterator(CHUNK):
        if not known:
            elsewhere = True
        elif len(concerned) == MEMBER_CAP:
            capped = True
            break
        else:
            tally.count(Privilege(was), Privilege(becomes))
            concerned.append(memory_id)
    without = acting_principals(caller.organisation_id, without={member.id}) | after
    orphans = tree.held_by(before, Privilege.DELETE).filter(~tree.held_q(without, Privilege.DELETE)).exists()
    party, nobody = Party.of([member]), Party()
    return Impact(
        losing=party if tally.loses else nobody,
        gaining=nobody,
        narrowing=party if tally.narrows and not tally.loses else nobody,
        keeping=nobody,
        subtree_count=len(concerned),
        locks_out_self=not after and member.id == caller.member.id,
        fingerprint=_fingerprint(member.id, sorted(before), sorted(after), concerned, elsewhere, orphans),
        tallies={member.id: tally} if tally.changed else {},
        memories=len(concerned),
        records=_records(concerned),
        orphans=orphans,
        capped=capped,
        elsewhere=elsewhere,
    )


def compare(place: Place, now: Sequence[Node], then: Sequence[Node]) -> Impact:
    """The difference between two states of a memory and those above it, for every active member and all below.

    What changes above the branch comes through to what is open below, which the caller sees: they hold delete here.
    """
    branch, counts = _Branch(place, open_only=True), _Counts()
    concerned, given_up, administered = _Some(), _Some(), _Some()
    for members, principals in branch.classes([*now, *then]):
        before, after = effective(principals, now), effective(principals, then)
        uniform, special = branch.spread(before, after, principals)
        tally = Tally()
        tally.count(before, after, uniform)
        if before != after:
            concerned.add_all_but(special)
        if Privilege.DELETE in before & ~after:
            given_up.add_all_but(special)
        if Privilege.DELETE in after:
            administered.add_all_but(special)
        for memory_id, (was, becomes) in special.items():
            tally.count(was, becomes)
            if was != becomes:
                concerned.some.add(memory_id)
            if Privilege.DELETE in was & ~becomes:
                given_up.some.add(memory_id)
            if Privilege.DELETE in becomes:
                administered.some.add(memory_id)
        counts.members(members, (before, after), tally)
    after_self = counts.at_top.get(place.caller.member, (Privilege.NONE, Privilege.NONE))[1]
    return branch.impact(
        counts,
        concerned.among(branch.open),
        orphans=bool(given_up.among(branch.open) - administered.among(branch.open)),
        locks_out=Privilege.DELETE not in after_self,
    )


@dataclass
class _Some:
    """Some memories of a branch: all but a few, and a few."""

    but: set[str] | None = None
    some: set[str] = field(default_factory=set)

    def add_all_but(self, few: Iterable[str]) -> None:
        self.but = set(few) if self.but is None else self.but & set(few)

    def among(self, every: set[str]) -> set[str]:
        return (every - self.but if self.but is not None else set()) | self.some


@dataclass
class _Counts:
    """What was found of every member: what they hold on top before and after, and what changes altogether."""

    at_top: dict[Member, tuple[Privilege, Privilege]] = field(default_factory=dict)
    tallies: dict[Member, Tally] = field(default_factory=dict)

    def members(self, alike: Iterable[Member], at_top: tuple[Privilege, Privilege], tally: Tally) -> None:
        for member in alike:
            self.at_top[member], self.tallies[member] = at_top, tally


class _Branch:
    """A memory and what is below it, with everyone who might reach it; constant queries.

    `open` is where what is held on the memory comes through to: there it is the same for whoever holds nothing else
    below, so that only the places of those who do are walked through.
    """

    def __init__(self, place: Place, *, open_only: bool) -> None:
        self.place = place
        self.people = principals_by_member(place.caller.organisation_id)
        every = Memory.objects.below(place.memory)
        self.subtree_count = every.held_by(place.caller.principals).count()
        counted = every.filter(upward__open=True) if open_only else every
        memories = list(counted.with_privileges(place.caller.principals).nearest_first()[: CAP + 1])
        self.capped = len(memories) > CAP
        memories = memories[:CAP]
        top = place.memory.id
        self.visible = {top, *(one.id for one in memories if one.held)}
        self.open, self.children = {top}, dict[str, list[Placed]]()
        self.holders: dict[str, list[Placed]] = {}
        for node, memory in zip(_nodes(memories), memories, strict=True):
            placed = Placed(node, memory.parent_id or "")
            self.children.setdefault(placed.parent_id, []).append(placed)
            if placed.parent_id in self.open and not node.restricted:
                self.open.add(node.id)
            for principal in {one.principal for one in node.holdings}:
                self.holders.setdefault(principal, []).append(placed)
        self.order = {memory.id: number for number, memory in enumerate(memories)}

    def classes(self, above: Iterable[Node]) -> Iterable[tuple[list[Member], frozenset[str]]]:
        """Members who count as the same wherever it matters here, and what they count as."""
        named = {one.principal for node in above for one in node.holdings} | self.holders.keys()
        alike: dict[frozenset[str], list[Member]] = {}
        for member, principals in self.people.items():
            alike.setdefault(principals & named, []).append(member)
        return [(members, principals) for principals, members in alike.items()]

    def spread(
        self, before: Privilege, after: Privilege, principals: Collection[str]
    ) -> tuple[int, Mapping[str, tuple[Privilege, Privilege]]]:
        """On how many memories they hold just what they hold on top, and what they hold on the others."""
        theirs = {placed.node.id: placed for one in principals for placed in self.holders.get(one, ())}
        special: dict[str, tuple[Privilege, Privilege]] = {}
        for root in sorted(theirs.values(), key=lambda placed: self.order[placed.node.id]):
            if root.node.id in special:
                continue
            through = root.parent_id in self.open
            above = (before, after) if through else (Privilege.NONE, Privilege.NONE)
            held = shift(*above, principals, self._at_or_below(root), root.parent_id)
            special |= {memory_id: some for memory_id, some in held.items() if memory_id != root.parent_id}
        return len(self.open - special.keys()), special

    def _at_or_below(self, root: Placed) -> Sequence[Placed]:
        found = [root]
        for placed in found:
            found.extend(self.children.get(placed.node.id, ()))
        return found

    def impact(self, counts: _Counts, concerned: Collection[str], *, orphans: bool, locks_out: bool) -> Impact:
        """Everything that was found, counted and named."""
        tallies, at_top, memory = counts.tallies, counts.at_top, self.place.memory
        ordered = [member for member in self.people if member in tallies]
        losing = [one for one in ordered if tallies[one].loses]
        gaining = [one for one in ordered if tallies[one].gains and not tallies[one].loses]
        rest = [one for one in ordered if not tallies[one].loses and not tallies[one].gains]
        changed = {one.id: tally for one, tally in tallies.items() if tally.changed}
        shown = [
            memory.restricted,
            memory.parent_id,
            sorted((one.id, int(was), int(becomes)) for one, (was, becomes) in at_top.items() if was or becomes),
            sorted((member_id, sorted(vars(tally).items())) for member_id, tally in changed.items()),
            orphans,
        ]
        return Impact(
            losing=Party.of(losing),
            gaining=Party.of(gaining),
            narrowing=Party.of(one for one in rest if tallies[one].narrows),
            widening=Party.of(one for one in rest if tallies[one].widens),
            keeping=Party.of(one for one in ordered if all(at_top[one])),
            subtree_count=self.subtree_count,
            locks_out_self=locks_out,
            fingerprint=_fingerprint(*shown),
            tallies=changed,
            memories=len(concerned),
            records=_records(concerned),
            orphans=orphans,
            capped=self.capped,
        )


def _nodes(memories: Sequence[Memory]) -> list[Node]:
    return [node for start in range(0, len(memories), CHUNK) for node in as_nodes(memories[start : start + CHUNK])]


def _records(memory_ids: Collection[str]) -> int | None:
    ids, total = sorted(memory_ids), 0
    try:
        for start in range(0, len(ids), CHUNK):
            kept_by: dict[str, list[str]] = {}
            some = Memory.objects.filter(pk__in=ids[start : start + CHUNK])
            for memory_id, provider in some.values_list("id", "provider"):
                kept_by.setdefault(provider, []).append(memory_id)
            total += sum(sum(registry.get(one).count(here).values()) for one, here in kept_by.items())
    except MemoryUnavailable:
        return None
    return total


def _fingerprint(*shown: object) -> str:
    # What a person was shown: when it is no longer so, they are asked again.
    return hashlib.sha256(json.dumps(shown, default=str).encode()).hexdigest()[:32]
