"""Who would gain and who would lose what by a change, over the whole branch, before it is made.

Computed by the rule that enforces it (`memories.access`), from the state before and the state after: what is held on
top once for every principal, and what is held below in the runs of `memories.branch`, so that nothing is left out,
however large the branch is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Q

from members.callers import Caller, caller_for
from members.models import Group, Member, Membership
from memories.access import Holding, Node, Privilege, Tally, held_by_each
from memories.branch import ForSomebody, spread, spread_out
from memories.models import Holding as Held
from memories.models import Memory, branches
from memories.models.grants import including
from uhp_site.http.errors import MemoryForbidden

from .asking import nodes_above
from .ownership import acting_principals
from .sight import Place
from .spreading import Branch, Someone, records
from .tree import movable_to

NAMED = 8
DELETE = int(Privilege.DELETE)


@dataclass(frozen=True)
class Party:
    """Some members, counted by kind, the first few named."""

    people: int = 0
    agents: int = 0
    names: tuple[str, ...] = ()
    more: int = 0

    @staticmethod
    def of(members: Sequence[Someone]) -> Party:
        """Count and name these members."""
        agents = sum(member.type == Member.Type.AGENT for member in members)
        return Party(
            people=len(members) - agents,
            agents=agents,
            names=tuple(member.name for member in members[:NAMED]),
            more=max(0, len(members) - NAMED),
        )


@dataclass(frozen=True)
class Impact:
    """What a change does to who reaches a memory and what is below it.

    `losing` and `gaining` are those who lose or gain all access to something, `narrowing` and `widening` those who only
    hold less or more than before, `keeping` those who hold something on the memory itself before and after. `tallies`
    says by member id on how many memories; `memories` and `records` is how much is concerned for anybody. `orphans`
    means that nobody who is active would hold delete any more on something, `elsewhere` that something is concerned
    which the caller does not see.
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
    branch, counts = Branch(place), _Counts()
    now = _bits(nodes_above(place.memory))
    for alike in branch.alike(now.keys()):
        before = alike.held(now)
        held = spread([branch.top(before), *alike.runs], branch.count, branch.visible)
        counts.add(alike.members, before, 0, Tally(loses=sum(held.counts[1:])))
    visible = [place for place in range(branch.count) if branch.visible.of(place, place + 1)]
    return counts.impact(branch, visible, orphans=False, locks_out=False)


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
    before = caller_for(member).principals if member.is_active else frozenset()
    tally, concerned, elsewhere = Tally(), dict[str, list[str]](), False
    for one in branches.changes(caller.organisation_id, before, after, caller.principals):
        if one.known:
            tally.count(one.before, one.after)
            concerned.setdefault(one.provider, []).append(one.memory_id)
        elif caller.member.is_owner:
            elsewhere = True
    memories = sorted(memory_id for some in concerned.values() for memory_id in some)
    orphans = _leaves_nobody(caller, member, before, after)
    party, nobody = Party.of([Someone(member.id, member.name, member.type)]), Party()
    return Impact(
        losing=party if tally.loses else nobody,
        gaining=nobody,
        narrowing=party if tally.narrows and not tally.loses else nobody,
        keeping=nobody,
        subtree_count=len(memories),
        locks_out_self=not after and member.id == caller.member.id,
        fingerprint=_fingerprint(member.id, sorted(before), sorted(after), memories, elsewhere, orphans),
        tallies={member.id: tally} if tally.changed else {},
        memories=len(memories),
        records=records(concerned),
        orphans=orphans,
        elsewhere=elsewhere,
    )


def _leaves_nobody(caller: Caller, member: Member, before: frozenset[str], after: frozenset[str]) -> bool:
    """Whether nobody active would hold delete on something that the member administers.

    What is so below a memory where it comes through from is so there, too: only those are asked about.
    """
    others = acting_principals(caller.organisation_id, without={member.id}) | after
    tree = Memory.objects.of(caller.organisation_id)
    start = Q(principal__in=before, privileges__in=including(Privilege.DELETE))
    if not caller.member.is_owner:
        tree = tree.held_by(caller.principals)
        start |= Q(principal__in=caller.principals)
    begins = Held.objects.filter(start, organisation_id=caller.organisation_id).values("memory_id")
    asked = tree.filter(pk__in=begins).held_by(before, Privilege.DELETE)
    return asked.filter(~tree.held_q(others, Privilege.DELETE)).exists()


def compare(place: Place, now: Sequence[Node], then: Sequence[Node]) -> Impact:
    """The difference between two states of a memory and those above it, for every active member and all below.

    What changes above the branch comes through to what is open below, which the caller sees: they hold delete here.
    """
    branch, counts = Branch(place), _Counts()
    was, becomes = _bits(now), _bits(then)
    concerned, given_up = ForSomebody(), ForSomebody()
    acting, everywhere = set[str](), False
    for alike in branch.alike(was.keys() | becomes.keys()):
        before, after, tally = alike.held(was), alike.held(becomes), Tally()
        everywhere = everywhere or bool(after & DELETE)
        acting |= alike.principals
        if before != after:
            held = spread(alike.runs, branch.layout.open, branch.visible, needed=before ^ after)
            for below, times in enumerate(held.counts):
                if times:
                    tally.count(before | below, after | below, times)
            concerned.add(held.enough)
            if before & ~after & DELETE:
                given_up.add(spread(alike.runs, branch.layout.open, branch.visible, DELETE).enough)
        counts.add(alike.members, before, after, tally)
    orphans = False
    if given_up.many and not everywhere:
        administered = [run for one in acting for run in branch.runs.get(one, ()) if run[2] & DELETE]
        kept = spread_out(branch.count, administered)
        orphans = any(not kept[place] for place in given_up.places(branch.layout.open))
    after_self = counts.at_top.get(place.caller.member.id, (0, 0))[1]
    return counts.impact(
        branch,
        concerned.places(branch.layout.open),
        orphans=orphans,
        locks_out=not after_self & DELETE,
    )


def _bits(upward: Sequence[Node]) -> dict[str, int]:
    return {principal: int(held) for principal, held in held_by_each(upward).items()}


@dataclass
class _Counts:
    """What was found of every member: what they hold on top before and after, and what changes altogether."""

    at_top: dict[str, tuple[int, int]] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)

    def add(self, members: Sequence[Someone], before: int, after: int, tally: Tally) -> None:
        """Members who are alike."""
        for one in members:
            if before or after:
                self.at_top[one.id] = (before, after)
            if tally.changed:
                self.tallies[one.id] = tally

    def impact(self, branch: Branch, concerned: Sequence[int], *, orphans: bool, locks_out: bool) -> Impact:
        """Everything that was found, counted and named."""
        tallies, memory = self.tallies, branch.place.memory
        changed = [one for one in branch.everybody if one.id in tallies]
        losing = [one for one in changed if tallies[one.id].loses]
        gaining = [one for one in changed if tallies[one.id].gains and not tallies[one.id].loses]
        rest = [one for one in changed if not tallies[one.id].loses and not tallies[one.id].gains]
        shown = [
            memory.restricted,
            memory.parent_id,
            sorted((member_id, *held) for member_id, held in self.at_top.items()),
            sorted((member_id, sorted(vars(tally).items())) for member_id, tally in tallies.items()),
            orphans,
        ]
        return Impact(
            losing=Party.of(losing),
            gaining=Party.of(gaining),
            narrowing=Party.of([one for one in rest if tallies[one.id].narrows]),
            widening=Party.of([one for one in rest if tallies[one.id].widens]),
            keeping=Party.of([one for one in branch.everybody if all(self.at_top.get(one.id, (0, 0)))]),
            subtree_count=branch.visible.of(0, branch.count) - 1,
            locks_out_self=locks_out,
            fingerprint=_fingerprint(*shown),
            tallies=tallies,
            memories=len(concerned),
            records=records(branch.ids(concerned)),
            orphans=orphans,
        )


def _fingerprint(*shown: object) -> str:
    # What a person was shown: when it is no longer so, they are asked again.
    return hashlib.sha256(json.dumps(shown, default=str).encode()).hexdigest()[:32]
