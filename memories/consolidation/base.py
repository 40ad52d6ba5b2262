"""What an engine of consolidation is: it reads episodes of one memory and proposes; it writes nothing itself.

Promises a type cannot express: an engine sees what it is given and nothing else, rests every proposal on sources it
was given, and given the same input proposes the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from memories.content import Draft
from memories.providers.base import Writer


class Kind(StrEnum):
    """What a proposal would do to the memory."""

    CREATE = "create"
    SUPERSEDE = "supersede"  # append a version to a record that an engine wrote
    SUPPORT = "support"  # the same statement again: its sources are added, nothing else
    FORGET = "forget"  # close a record whose validity has ended
    CONFLICT = "conflict"  # two statements that a person has to decide between; nothing is changed


class Reason(StrEnum):
    """Why, as a word that pages turn into a sentence; a reason never repeats what a record says."""

    STATED = "stated"
    CORRECTED = "corrected"
    REPEATED = "repeated"
    NAMED = "named"
    EXPIRED = "expired"
    DIFFERS = "differs"
    MEMBER_WROTE = "member_wrote"


@dataclass(frozen=True)
class Kept:
    """A record of the memory as it is now: an episode to read, or something already known."""

    id: str
    number: int
    draft: Draft
    written_at: datetime
    writer: Writer
    similarity: float = 0.0


@dataclass(frozen=True)
class Proposal:
    """One change. `record_id` names the record that a supersede, support, forget or conflict is about.

    `draft` is what would be written (for support: the record's draft with the added references); `sources` are ids of
    the episodes it rests on, which the run also writes as `derived_from` references. A new record may carry a `key`:
    a reference of a later proposal of the same batch, or its own `record_id` (a conflict with what this batch made),
    then names that key where the id of a record would stand.
    """

    kind: Kind
    reason: Reason
    sources: tuple[str, ...]
    draft: Draft | None = None
    record_id: str = ""
    key: str = ""


@dataclass(frozen=True)
class Batch:
    """Proposals made of consecutive episodes, in the order to write them, and what making them cost in tokens.

    `read` is how many of the episodes were read, the first ones; None is all of them. The rest did not fit the budget.
    """

    proposals: tuple[Proposal, ...]
    input_tokens: int = 0
    output_tokens: int = 0
    read: int | None = None


class EngineFailed(Exception):
    """The engine could not do its work now. The message is one sentence that may be shown: no content, no key."""

    def __init__(self, message: str, input_tokens: int = 0, output_tokens: int = 0) -> None:
        super().__init__(message)
        self.input_tokens, self.output_tokens = input_tokens, output_tokens


class Known(Protocol):
    """What the memory knows already, for an engine to compare with; never anything of another memory."""

    def near(self, texts: Sequence[str], limit: int = 8) -> Sequence[Sequence[Kept]]:
        """For each text the current records nearest in meaning, episodes left out, best first, with similarity."""
        ...

    def entities(self) -> Sequence[Kept]:
        """The current records of the types entity, person and company."""
        ...

    def expired(self, before: datetime, limit: int = 100) -> Sequence[Kept]:
        """Current records whose `valid_to` has passed."""
        ...


class Engine(Protocol):
    """Makes proposals of episodes; `name` is the provider id that its records are written by."""

    name: str

    def declare(self) -> Mapping[str, Any]:
        """What the engine is and does, in words for the console: rules or model, and where text is sent."""
        ...

    def propose(
        self, episodes: Sequence[Kept], before: Sequence[Kept], known: Known, budget: int | None = None
    ) -> Batch:
        """Propose what to make of `episodes`, oldest first; `before` are the few that came just before them.

        `budget` is the most tokens this batch may cost, None for any number. Raises EngineFailed.
        """
        ...
