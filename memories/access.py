"""The whole sharing rule (Memories §4.3, §4.4), pure: every surface asks here or its one SQL form.

A caller holds, on a memory, the union of what its principals are granted there and on each memory above, walking up
and stopping after the first restricted one. There is no deny, and no privilege implies another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntFlag


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


def audience(upward: Collection[Node], principals_of: Iterable[tuple[str, Collection[str]]]) -> dict[str, Privilege]:
    """Who reaches the first memory of `upward`: member id to privileges, for the (member id, principals) given."""
    held = ((member, effective(principals, upward)) for member, principals in principals_of)
    return {member: privileges for member, privileges in held if privileges}
