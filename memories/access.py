"""The whole sharing rule (Memories §4.3, §4.4), pure: every surface asks here or its one SQL form.

A caller holds, on a memory, the union of what its principals are granted there and on each memory above, walking up
and stopping after the first restricted one. There is no deny, and no privilege implies another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntFlag, StrEnum


class Privilege(IntFlag):
    """The four privileges; a set of them is their union."""

    NONE = 0
    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ALL = 15

    @property
    def words(self) -> list[str]:
        """The protocol's words, in its order: read, write, create, delete."""
        return [word for word, privilege in WORDS.items() if privilege in self]

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Privilege:
        """The set that the words name. Raises KeyError for a word the protocol does not have."""
        total = cls.NONE
        for word in words:
            total |= WORDS[word]
        return total


WORDS = {
    "read": Privilege.READ,
    "write": Privilege.WRITE,
    "create": Privilege.CREATE,
    "delete": Privilege.DELETE,
}


@dataclass(frozen=True)
class Holding:
    """What one principal holds on one memory by a grant, or by having made it (`grant_id` empty)."""

    principal: str
    privileges: Privilege
    grant_id: str = ""


@dataclass(frozen=True)
class Node:
    """A memory as the rule sees it."""

    id: str
    restricted: bool = False
    holdings: tuple[Holding, ...] = ()


@dataclass(frozen=True)
class Source:
    """One reason why a caller holds something: a holding, and the memory it sits on."""

    memory_id: str
    holding: Holding


@dataclass(frozen=True)
class Explanation:
    """What a caller holds, from where, and the restricted memory at which the walk up stopped."""

    privileges: Privilege
    sources: tuple[Source, ...] = field(default=())
    cutoff: str | None = None


def within_cutoff(upward: Iterable[Node]) -> Iterator[Node]:
    """The memories whose grants count for the first one: upward, up to and including the first restricted one."""
    for node in upward:
        yield node
        if node.restricted:
            return


def explain(principals: Collection[str], upward: Iterable[Node]) -> Explanation:
    """What these principals hold on the first memory of `upward` (the memory asked, then its parent, and so on)."""
    total = Privilege.NONE
    sources: list[Source] = []
    cutoff: str | None = None
    for node in within_cutoff(upward):
        for holding in node.holdings:
            if holding.principal in principals and holding.privileges:
                total |= holding.privileges
                sources.append(Source(node.id, holding))
        cutoff = node.id if node.restricted else None
    return Explanation(total, tuple(sources), cutoff)


def effective(principals: Collection[str], upward: Iterable[Node]) -> Privilege:
    """The set of privileges that `explain` arrives at."""
    return explain(principals, upward).privileges


def held_by_each(upward: Iterable[Node]) -> dict[str, Privilege]:
    """What each principal by itself holds on the first memory of `upward`; several together hold the union of that."""
    held: dict[str, Privilege] = {}
    for node in within_cutoff(upward):
        for one in node.holdings:
            held[one.principal] = held.get(one.principal, Privilege.NONE) | one.privileges
    return held


def audience(upward: Collection[Node], principals_of: Iterable[tuple[str, Collection[str]]]) -> dict[str, Privilege]:
    """Who reaches the first memory of `upward`: member id to privileges, for the (member id, principals) given."""
    held = ((member, effective(principals, upward)) for member, principals in principals_of)
    return {member: privileges for member, privileges in held if privileges}


def flow(above: Privilege, principals: Collection[str], node: Node) -> Privilege:
    """What these principals hold on a memory, given what they hold on its parent: `effective`, one level at a time."""
    total = Privilege.NONE if node.restricted else above
    for holding in node.holdings:
        if holding.principal in principals:
            total |= holding.privileges
    return total


class Cause(StrEnum):
    """Why somebody may not do something: access is additive, so there is nothing else that it could be."""

    NO_GRANT = "no_grant"
    CUT_OFF = "cut_off"
    NOT_IN_GROUP = "not_in_group"
    DEACTIVATED = "deactivated"
    NO_KEY = "no_key"


@dataclass(frozen=True)
class Verdict:
    """Whether somebody holds a privilege on a memory, and why.

    Of a yes, `sources` are all that give it: without them the answer is no. Of a no, `cause` is the one reason, and
    `sources` are what would give it otherwise: above the closed memories in `cutoffs`, or of the groups one is not in.
    """

    yes: bool
    cause: Cause | None = None
    sources: tuple[Source, ...] = ()
    cutoffs: tuple[str, ...] = ()


def judge(
    principals: Collection[str], upward: Sequence[Node], privilege: Privilege, hindered: Cause | None = None
) -> Verdict:
    """Whether these principals hold one privilege on the first memory of `upward`; `hindered` says that they cannot
    act at all, deactivated or without a key, which is the cause only where they would hold it otherwise."""

    def giving(nodes: Iterable[Node], counts: Collection[str] | None) -> tuple[Source, ...]:
        return tuple(
            Source(node.id, one)
            for node in nodes
            for one in node.holdings
            if privilege & one.privileges
            and (one.principal in counts if counts is not None else one.principal.startswith("group:"))
        )

    reaching = list(within_cutoff(upward))
    if sources := giving(reaching, principals):
        return Verdict(hindered is None, hindered, sources)
    if beyond := giving(upward[len(reaching) :], principals):
        levels = {node.id: level for level, node in enumerate(upward)}
        lowest = min(levels[source.memory_id] for source in beyond)
        between = tuple(node.id for node in upward[:lowest] if node.restricted)
        return Verdict(False, Cause.CUT_OFF, beyond, between)
    if groups := giving(reaching, None):
        return Verdict(False, Cause.NOT_IN_GROUP, groups)
    return Verdict(False, Cause.NO_GRANT)


@dataclass(frozen=True)
class Person:
    """A member, or a group, about whom is asked: what it counts as, and what keeps it from acting at all, if anything.

    `type` is human, agent or group; no answer depends on it.
    """

    principal: str
    name: str
    type: str
    principals: frozenset[str]
    hindered: Cause | None = None


@dataclass
class Tally:
    """How many memories somebody loses and gains altogether, and where they hold less or more than before."""

    loses: int = 0
    gains: int = 0
    narrows: int = 0
    widens: int = 0

    def count(self, before: int, after: int, times: int = 1) -> None:
        """Count memories on which the set `before` became `after`."""
        if before == after:
            return
        if not after:
            self.loses += times
        elif not before:
            self.gains += times
        else:
            self.narrows += times if before & ~after else 0
            self.widens += times if after & ~before else 0

    @property
    def changed(self) -> bool:
        """Whether anything is other than before."""
        return bool(self.loses or self.gains or self.narrows or self.widens)
