"""Who held what at an instant: the events up to it, folded into a tree, holdings, groups and members. Pure.

What comes out is asked with the functions that enforce the rule today, so that the past has no rule of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .access import Cause, Holding, Node, Person, Privilege, flow


@dataclass(frozen=True)
class Happened:
    """One event, as far as replay needs it."""

    at: datetime
    action: str
    memory_id: str = ""
    subject: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class PastMemory:
    """A memory as it stood; `grants` is grant id to holding."""

    id: str
    name: str
    parent_id: str | None
    restricted: bool
    creator: str
    grants: dict[str, Holding] = field(default_factory=dict)

    @property
    def node(self) -> Node:
        """The memory as the rule sees it."""
        return Node(self.id, self.restricted, (Holding(self.creator, Privilege.ALL), *self.grants.values()))


@dataclass
class PastMember:
    """A member as it stood; `keys` is key id to its end, if it has one."""

    principal: str
    name: str
    type: str
    signs_in: bool
    active: bool = True
    keys: dict[str, datetime | None] = field(default_factory=dict)

    def hindered(self, at: datetime) -> Cause | None:
        """Why the member could not act, if so."""
        if not self.active:
            return Cause.DEACTIVATED
        live = any(end is None or end > at for end in self.keys.values())
        return None if self.signs_in or live else Cause.NO_KEY


@dataclass
class Past:
    """An organisation at an instant."""

    at: datetime
    memories: dict[str, PastMemory] = field(default_factory=dict)
    members: dict[str, PastMember] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    everyone: str = ""
    memberships: set[tuple[str, str]] = field(default_factory=set)

    def upward(self, memory_id: str) -> list[Node]:
        """A memory, its parent, and so on to the root, as the rule wants them; empty when it did not stand then."""
        nodes = []
        step = self.memories.get(memory_id)
        while step is not None:
            nodes.append(step.node)
            step = self.memories.get(step.parent_id or "")
        return nodes

    def principals(self, principal: str) -> frozenset[str]:
        """What a member counted as; a group counts as itself."""
        if principal not in self.members:
            return frozenset({principal})
        groups = {group for member, group in self.memberships if member == principal}
        return frozenset({principal, self.everyone, *groups} - {""})

    def people(self) -> list[Person]:
        """The members that were active, by name."""
        groups: dict[str, set[str]] = {}
        for member, group in self.memberships:
            groups.setdefault(member, {self.everyone} - {""}).add(group)
        active = [one for one in self.members.values() if one.active]
        return [
            Person(
                one.principal,
                one.name,
                one.type,
                frozenset({one.principal, *groups.get(one.principal, {self.everyone} - {""})}),
                one.hindered(self.at),
            )
            for one in sorted(active, key=lambda one: (one.name.lower(), one.principal))
        ]

    def downward(self) -> Iterator[tuple[int, PastMemory]]:
        """Every memory with its depth, parents before children, siblings by name."""
        below: dict[str | None, list[PastMemory]] = {}
        for memory in self.memories.values():
            parent = memory.parent_id if memory.parent_id in self.memories else None
            below.setdefault(parent, []).append(memory)
        level, depth = below.get(None, []), 0
        while level:
            for memory in sorted(level, key=lambda one: (one.name.lower(), one.id)):
                yield depth, memory
            level, depth = [child for memory in level for child in below.get(memory.id, [])], depth + 1

    def remove(self, memory_id: str) -> None:
        """Take a memory and everything below it out."""
        doomed = {memory_id}
        for _, memory in self.downward():
            if memory.parent_id in doomed:
                doomed.add(memory.id)
        for one in doomed:
            self.memories.pop(one, None)


def replay(events: Iterable[Happened], at: datetime) -> Past:
    """Fold events, in the order they were appended, up to and including an instant."""
    past = Past(at)
    for event in events:
        if event.at <= at and (step := STEPS.get(event.action)):
            step(past, event)
    return past


def _created(past: Past, event: Happened) -> None:
    detail = event.detail
    past.memories[event.memory_id] = PastMemory(
        event.memory_id,
        str(detail.get("name", "")),
        detail.get("parent_id"),
        bool(detail.get("restricted")),
        str(detail.get("creator", "")),
    )


def _renamed(past: Past, event: Happened) -> None:
    if memory := past.memories.get(event.memory_id):
        memory.name = str(event.detail.get("name", memory.name))


def _moved(past: Past, event: Happened) -> None:
    if memory := past.memories.get(event.memory_id):
        memory.parent_id = event.detail.get("to")


def _restricted(past: Past, event: Happened) -> None:
    if memory := past.memories.get(event.memory_id):
        memory.restricted = event.action == "memory.restricted"


def _deleted(past: Past, event: Happened) -> None:
    past.remove(event.memory_id)


def _given(past: Past, event: Happened) -> None:
    if memory := past.memories.get(event.memory_id):
        grant_id, words = str(event.detail["grant"]), event.detail["privileges"]
        memory.grants[grant_id] = Holding(event.subject, Privilege.from_words(words), grant_id)


def _taken_back(past: Past, event: Happened) -> None:
    if memory := past.memories.get(event.memory_id):
        memory.grants.pop(str(event.detail["grant"]), None)


def _handed_over(past: Past, event: Happened) -> None:
    for memory in past.memories.values():
        if memory.creator == event.subject:
            memory.creator = str(event.detail["to"])


def _joined(past: Past, event: Happened) -> None:
    detail = event.detail
    past.members[event.subject] = PastMember(
        event.subject, str(detail.get("name", "")), str(detail.get("type", "")), bool(detail.get("signs_in"))
    )


def _switched(past: Past, event: Happened) -> None:
    if member := past.members.get(event.subject):
        member.active = event.action == "member.reactivated"


def _group_created(past: Past, event: Happened) -> None:
    past.groups[event.subject] = str(event.detail.get("name", ""))
    if event.detail.get("is_everyone"):
        past.everyone = event.subject


def _group_joined(past: Past, event: Happened) -> None:
    past.memberships.add((event.subject, str(event.detail["group"])))


def _group_left(past: Past, event: Happened) -> None:
    past.memberships.discard((event.subject, str(event.detail["group"])))


def _key_issued(past: Past, event: Happened) -> None:
    if member := past.members.get(event.subject):
        end = event.detail.get("expires_at")
        member.keys[str(event.detail["key"])] = datetime.fromisoformat(end) if end else None


def _key_revoked(past: Past, event: Happened) -> None:
    if member := past.members.get(event.subject):
        member.keys.pop(str(event.detail["key"]), None)


STEPS = {
    "memory.created": _created,
    "memory.renamed": _renamed,
    "memory.moved": _moved,
    "memory.restricted": _restricted,
    "memory.opened": _restricted,
    "memory.deleted": _deleted,
    "memory.handed_over": _handed_over,
    "grant.given": _given,
    "grant.taken_back": _taken_back,
    "member.joined": _joined,
    "member.deactivated": _switched,
    "member.reactivated": _switched,
    "group.created": _group_created,
    "group.joined": _group_joined,
    "group.left": _group_left,
    "key.issued": _key_issued,
    "key.revoked": _key_revoked,
}
ACTIONS: Sequence[str] = tuple(STEPS)
"""The events that replay needs; all others change nothing that the rule knows of."""


def held(past: Past, principals: Collection[str]) -> dict[str, tuple[int, Privilege, Privilege]]:
    """What principals held: memory id to depth, privileges, and those on the parent; parents first."""
    found: dict[str, tuple[int, Privilege, Privilege]] = {}
    for depth, memory in past.downward():
        above = found[memory.parent_id][1] if memory.parent_id in found else Privilege.NONE
        found[memory.id] = (depth, flow(above, principals, memory.node), above)
    return found
