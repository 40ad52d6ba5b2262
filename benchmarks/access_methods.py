"""What every way to answer questions of access has to do, and who is asking."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from members.callers import Caller


@dataclass(frozen=True)
class Asking:
    """One member, in the terms of every method; what it counts as was resolved once, as for a request."""

    number: int
    caller: Caller
    user_id: int
    group_ids: tuple[int, ...]


@dataclass(frozen=True)
class Reaching:
    """One member that reaches a memory. Every source is the memory it sits on, by id, the principal that holds it
    there, and the name of that where it is a group; what a creator holds is no other than a grant to it."""

    privileges: int
    sources: frozenset[tuple[str | int, str | int, str]]


@dataclass(frozen=True)
class Audience:
    """How many reach a memory, and of the first of them by id what each holds and why."""

    total: int
    page: Mapping[str, Reaching] | Mapping[int, Reaching]


class Method(Protocol):
    """One way to keep a tree and what is granted on it. Memories are named by their number in the corpus.

    The answers are those of the product: a decision is a set of privileges, 0 for a memory that is not seen.
    """

    name: str

    def decide(self, asking: Asking, memory: int) -> int:
        """The privileges that the caller holds on a memory."""

    def entry_points(self, asking: Asking) -> Collection[str] | Collection[int]:
        """The ids of the memories where the caller enters the tree."""

    def readable(self, asking: Asking, memory: int) -> Collection[str] | Collection[int]:
        """The ids of what the caller reads below a memory, nearest first, at most as many as one recall covers."""

    def audience(self, asking: Asking, memory: int, limit: int) -> Audience:
        """Who reaches a memory and why: how many active members, and the first so many by name.

        The caller must hold delete there, which is looked up first.
        """

    def restrict(self, asking: Asking, memory: int) -> None:
        """Close a branch."""

    def move(self, asking: Asking, memory: int, under: int) -> None:
        """Move a branch."""
