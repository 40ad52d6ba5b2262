"""Small worlds for the parity law: what can be done to one, and what the rule says of it, computed from its rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from members import services as membership
from members.callers import Caller, caller_for
from members.models import Group, Member, Membership, Organisation
from memories.access import Holding, Node, Privilege, effective
from memories.models import Grant, Memory
from memories.services import grants, tree
from memories.services.sight import look
from tests import factories


@dataclass
class World:
    """One organisation: its people, its groups, and whoever is a stranger to it."""

    organisation: Organisation
    members: list[Member]
    groups: list[Group]

    @classmethod
    def begin(cls) -> World:
        """Three levels, a restricted branch, two groups and some grants; and another organisation reaching in."""
        organisation = factories.organisation()
        ann, ben, cas, bot = (
            factories.member(organisation, name, type=kind)
            for name, kind in (("Ann", "human"), ("Ben", "human"), ("Cas", "human"), ("Bot", "agent"))
        )
        sales, law = factories.group(organisation, ben, bot, name="Sales"), factories.group(organisation, name="Law")
        firm = factories.memory(ann, name="firm")
        factories.grant(ann, firm, sales, "read", "create")
        deals = factories.memory(ben, firm, name="deals")
        leads = factories.memory(bot, deals, name="Leads")
        board = factories.memory(ann, firm, name="board", restricted=True)
        minutes = factories.memory(ann, board, name="minutes")
        factories.grant(ann, minutes, cas, "read", "write")
        factories.grant(ann, board, law, "create")
        factories.grant(ben, leads, cas, "delete")
        mallory = factories.member(factories.organisation(), "Mallory")
        for theirs in (ann.principal, sales.principal):
            outside = factories.memory(mallory)
            grants.give(look(caller_for(mallory), outside.id), theirs, Privilege.ALL)
        grants.give(look(caller_for(ann), firm.id), mallory.principal, Privilege.ALL)
        everyone = organisation.groups.get(is_everyone=True)
        return cls(organisation, [ann, ben, cas, bot], [sales, law, everyone])

    @property
    def memories(self) -> list[Memory]:
        """Every memory, in the order it was made."""
        return list(Memory.objects.of(self.organisation.id).order_by("created_at", "id"))

    def nth(self, number: int) -> Memory | None:
        """Some memory, if there is any left."""
        memories = self.memories
        return memories[number % len(memories)] if memories else None

    def actor(self, number: int, memory: Memory | None) -> Caller:
        """A member; mostly the maker of the memory, who may do anything to it."""
        makers = [member for member in self.members if memory and member.principal == memory.creator]
        return caller_for((makers * 6 + self.members)[number % (len(makers) * 6 + len(self.members))])


class Step(Protocol):
    """Something that is done to a world; refusals are raised."""

    def take(self, world: World) -> None: ...


@dataclass(frozen=True)
class Create:
    actor: int
    under: int | None
    restricted: bool

    def take(self, world: World) -> None:
        parent = None if self.under is None else world.nth(self.under)
        caller = world.actor(self.actor, parent)
        tree.create(caller, parent_id=parent.id if parent else None, name="new", restricted=self.restricted)


@dataclass(frozen=True)
class Change:
    """A move, a cut, or both at once; `under` -1 leaves it where it is, None moves it to the top."""

    actor: int
    memory: int
    under: int | None
    restricted: bool | None

    def take(self, world: World) -> None:
        if memory := world.nth(self.memory):
            place = look(world.actor(self.actor, memory), memory.id)
            target = None if self.under is None else world.nth(self.under)
            changes: dict[str, Any] = {} if self.under == -1 else {"parent_id": target.id if target else None}
            tree.change(place, restricted=self.restricted, **changes)


@dataclass(frozen=True)
class Give:
    actor: int
    memory: int
    to: int
    privileges: int

    def take(self, world: World) -> None:
        if memory := world.nth(self.memory):
            principals = [*(one.principal for one in world.members), *(one.principal for one in world.groups)]
            place = look(world.actor(self.actor, memory), memory.id)
            grants.give(place, principals[self.to % len(principals)], Privilege(self.privileges))


@dataclass(frozen=True)
class TakeBack:
    actor: int
    grant: int

    def take(self, world: World) -> None:
        given = list(Grant.objects.filter(organisation=world.organisation).select_related("memory").order_by("id"))
        if given:
            grant = given[self.grant % len(given)]
            grants.take_back(look(world.actor(self.actor, grant.memory), grant.memory_id), grant.id)


@dataclass(frozen=True)
class Regroup:
    group: int
    member: int
    inside: bool

    def take(self, world: World) -> None:
        group, member = world.groups[self.group % 2], world.members[self.member % len(world.members)]
        (membership.add_to_group if self.inside else membership.remove_from_group)(group, member)


@dataclass(frozen=True)
class Delete:
    actor: int
    memory: int

    def take(self, world: World) -> None:
        if memory := world.nth(self.memory):
            tree.delete(look(world.actor(self.actor, memory), memory.id))


class Truth:
    """What the pure rule says of a world, from a fresh walk over plain rows."""

    def __init__(self, world: World) -> None:
        self.members = world.members
        self.memories = {memory.id: memory for memory in world.memories}
        self._memberships = list(
            Membership.objects.filter(organisation=world.organisation).values_list("member_id", "group_id")
        )
        self._everyone = world.groups[-1].principal
        self._grants: dict[str, list[Grant]] = {}
        for grant in Grant.objects.filter(memory__in=self.memories):
            self._grants.setdefault(grant.memory_id, []).append(grant)

    def principals(self, member: Member) -> frozenset[str]:
        """What a member counts as."""
        groups = {f"group:{group}" for one, group in self._memberships if one == member.id}
        return frozenset({member.principal, self._everyone, *groups})

    def chain(self, memory_id: str) -> list[str]:
        """The memory, its parent, and so on."""
        parent = self.memories[memory_id].parent_id
        return [memory_id, *(self.chain(parent) if parent else [])]

    def upward(self, memory_id: str) -> list[Node]:
        """The chain as the rule wants it."""
        return [self._node(self.memories[one]) for one in self.chain(memory_id)]

    def _node(self, memory: Memory) -> Node:
        given = (Holding(grant.principal, grant.held, grant.id) for grant in self._grants.get(memory.id, ()))
        return Node(memory.id, memory.restricted, (Holding(memory.creator, Privilege.ALL), *given))

    @cached_property
    def held(self) -> dict[str, dict[str, Privilege]]:
        """Member to memory to privileges."""
        upward = {memory_id: self.upward(memory_id) for memory_id in self.memories}
        return {
            member.id: {memory_id: effective(self.principals(member), nodes) for memory_id, nodes in upward.items()}
            for member in self.members
        }

    def holding(self, member: Member, privilege: Privilege, among: Collection[str] | None = None) -> set[str]:
        """The memories where a member holds a privilege, or (NONE) anything."""
        held = self.held[member.id]
        ids = self.memories if among is None else among
        return {one for one in ids if (privilege in held[one] if privilege else held[one])}

    def below(self, memory_id: str) -> dict[str, int]:
        """Everything under a memory, with the distance in levels."""
        chains = {one: self.chain(one) for one in self.memories if one != memory_id}
        return {one: chain.index(memory_id) for one, chain in chains.items() if memory_id in chain}

    def reach(self) -> set[tuple[str, str, int, bool]]:
        """What the table of reach has to say."""
        rows = set()
        for memory_id in self.memories:
            chain = self.chain(memory_id)
            for distance, ancestor in enumerate(chain):
                open_ = not any(self.memories[one].restricted for one in chain[:distance])
                rows.add((ancestor, memory_id, distance, open_))
        return rows

    def entries(self, member: Member) -> set[str]:
        """Where a member enters the tree."""
        seen = self.holding(member, Privilege.NONE)
        return {one for one in seen if self.memories[one].parent_id not in seen}

    def granted(self, member: Member) -> set[str]:
        """Where a member's access begins or changes."""
        held = self.held[member.id]
        above = {one: held.get(memory.parent_id or "", Privilege.NONE) for one, memory in self.memories.items()}
        return {
            one for one, some in held.items() if some and some != above[one] and (above[one] or Privilege.READ in some)
        }

    def visible_ancestors(self, member: Member, memory_id: str) -> tuple[str, ...]:
        """Root first, only as far up as the chain from the parent stays in sight."""
        shown: list[str] = []
        for one in self.chain(memory_id)[1:]:
            if not self.held[member.id][one]:
                break
            shown.insert(0, one)
        return tuple(shown)
