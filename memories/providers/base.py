"""What a provider of memories is: it keeps records and finds them, inside the set of memories it is asked about.

Promises a type cannot express: a provider never looks outside the memories it is given; every write is in the caller's
transaction or answered only once it is safe; scores are comparable within one answer, higher is better; an unknown
record and one of another memory are the same nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from memories.content import Draft, Reference
from memories.filters import Facts, Filter

from .graph import Links


@dataclass(frozen=True)
class Writer:
    """Who wrote a version; `kind + ":" + id` is the principal a grant would name."""

    kind: str
    id: str
    type: str = ""
    on_behalf_of: str = ""
    consolidation_id: str = ""


@dataclass(frozen=True)
class Followed:
    """A source outside the memory that a record is kept in step with, and where it is edited (Memories §2.4)."""

    kind: str
    id: str
    name: str = ""


@dataclass(frozen=True)
class RecordVersion:
    """One version of a record, as kept. `status` is active, superseded or forgotten.

    `review` is "held" for one that is not kept yet, because a person has to agree first; no provider says so.
    """

    id: str
    memory_id: str
    number: int
    status: str
    draft: Draft
    written_at: datetime
    invalidated_at: datetime | None
    writer: Writer
    follows: Followed | None = None
    review: str = ""

    @property
    def name(self) -> str:
        """What a page calls it: the title, or else the start of its words (Memories §4.6)."""
        return self.draft.title or " ".join(self.draft.said.split())[:120] or "Untitled record"

    @property
    def facts(self) -> Facts:
        """What of it a filter looks at."""
        return Facts(
            type=self.draft.type,
            attributes=self.draft.attributes or {},
            valid_from=self.draft.valid_from,
            valid_to=self.draft.valid_to,
            written_at=self.written_at,
            invalidated_at=self.invalidated_at,
            writer=f"{self.writer.kind}:{self.writer.id}",
            status=self.status,
        )


Change = Callable[[RecordVersion], Draft]
"""Makes the next draft from the head; may refuse by raising."""

Check = Callable[[RecordVersion], None]
"""Looks at the head before it is closed; may refuse by raising."""


@dataclass(frozen=True)
class View:
    """Which versions are looked at: the current ones, those of an instant, or all; of which types, and by a filter."""

    as_of: datetime | None = None
    include_all: bool = False
    types: tuple[str, ...] = ()
    filters: Filter | None = None


@dataclass(frozen=True)
class Page:
    """One page of records, and where the next one begins."""

    versions: tuple[RecordVersion, ...]
    next: tuple[datetime, str] | None


@dataclass(frozen=True)
class Holder:
    """A record that says it is derived from another; `derived_only` when no version of it was written by a member."""

    memory_id: str
    record_id: str
    derived_only: bool


@dataclass(frozen=True)
class Removed:
    """What an erasure removed, counted by kind, and the files that the removed versions named."""

    counts: Mapping[str, int]
    file_ids: tuple[str, ...]


@dataclass(frozen=True)
class Instant:
    """A named instant of one memory (Memories §2.12)."""

    id: str
    memory_id: str
    name: str
    message: str
    at: datetime


@dataclass(frozen=True)
class Named:
    """Whom and what a question names: the words it does so with, and writers and entity records of these names."""

    names: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()
    entities: frozenset[str] = frozenset()

    def __or__(self, other: Named) -> Named:
        return Named(self.names | other.names, self.writers | other.writers, self.entities | other.entities)


@dataclass(frozen=True)
class Question:
    """What is asked of a set of memories: by meaning, by words, or both.

    `meant` is what of the query is compared by meaning, nothing for all of it; `legs` are the signals wanted: those of
    a candidate, `neighbours` for what was said around, and `terms` when the words are to be told apart. `depth` is how
    many candidates each of them brings.
    """

    query: str = ""
    text: str = ""
    view: View = field(default_factory=View)
    limit: int = 8
    meant: str = ""
    named: Named = field(default_factory=Named)
    legs: frozenset[str] = frozenset({"meaning", "words", "text"})
    depth: int = 100


@dataclass(frozen=True)
class Candidate:
    """A version that may answer, by the provider's own key for it, with its raw score by each signal.

    The signals are `meaning` (of what it says), `context` (of that and what was said just before), `words` (of the
    query), `fields` (1 when it is by or about whom the question names) and `text`; a newer version has the higher key.
    `matched` are the words of the query that it has; `before` and `after` what was said around it, when that is a
    candidate, too.
    """

    key: int
    scores: Mapping[str, float]
    matched: frozenset[str] = frozenset()
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True)
class Found:
    """The candidates for a question, the words of the query that were looked for, and by which model it was compared.

    `more` says that some signal would have brought more, had it been asked for more.
    """

    candidates: Sequence[Candidate]
    words: tuple[str, ...] = ()
    model: str = ""
    more: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Awaiting:
    """How many records were not read yet, and when the newest of them was written."""

    count: int
    newest: datetime | None


class Nearby(Protocol):
    """Finds what is near in meaning in one memory, again and again; follows what is written meanwhile."""

    def near(self, texts: Sequence[str], limit: int) -> Sequence[Sequence[tuple[RecordVersion, float]]]:
        """For each text the current records nearest in meaning, best first, each with its similarity."""
        ...


class Provider(Protocol):
    """A memory engine. `capabilities` is its declaration, and it is held to it."""

    id: str

    def capabilities(self) -> Mapping[str, Any]:
        """The capability document (Memories §2.16)."""
        ...

    def remember(
        self,
        memory_id: str,
        draft: Draft,
        writer: Writer,
        follows: Followed | None = None,
        record_id: str | None = None,
    ) -> RecordVersion:
        """Write a new record and return its first version; `follows` names the outside source it comes from.

        `record_id` is an id that was minted for it before, when somebody has been told it already.
        """
        ...

    def revise(self, memory_id: str, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
        """Append what `change` makes of the head, which nobody revises meanwhile; None when no open record here."""
        ...

    def forget(self, memory_id: str, record_id: str, check: Check | None = None) -> RecordVersion | None:
        """Close a record in place once `check` agrees, or return None when there is no such open record here."""
        ...

    def get(self, memory_id: str, record_id: str, as_of: datetime | None = None) -> RecordVersion | None:
        """The newest version, or the one that held at an instant."""
        ...

    def history(
        self,
        memory_id: str,
        record_id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Sequence[RecordVersion]:
        """Every kept version, oldest first, or so many after a number; empty when there is no such record here.

        Newest first, what comes after a number is lower.
        """
        ...

    def numbered(self, memory_id: str, record_id: str, numbers: Collection[int]) -> Mapping[int, RecordVersion]:
        """The versions of a record with these numbers; those that it does not have are absent."""
        ...

    def page(self, memory_id: str, view: View, limit: int, after: tuple[datetime, str] | None) -> Page:
        """Records in the order they were written."""
        ...

    def count(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        """How many current records each memory holds; a memory without any may be absent."""
        ...

    def existing(self, references: Iterable[Reference]) -> Mapping[tuple[str, str], str]:
        """Which (memory id, record id) pairs exist, each with the record's name."""
        ...

    def heads(self, references: Iterable[Reference]) -> Mapping[tuple[str, str], RecordVersion]:
        """The newest version of each of these records, by (memory id, record id); those that are gone are absent."""
        ...

    def candidates(self, memory_ids: Sequence[str], question: Question) -> Found:
        """The best candidates by each signal, within these memories only; unordered."""
        ...

    def alike(self, memory_id: str, text: str, limit: int) -> Sequence[RecordVersion]:
        """The current records of one memory that share most words with a text, best first; episodes are left out."""
        ...

    def named(self, memory_ids: Sequence[str], phrases: Collection[str], view: View) -> Named:
        """Which of these phrases (lower case) name somebody or something that these memories know of."""
        ...

    def newest(self, memory_ids: Sequence[str], view: View, limit: int) -> Sequence[int]:
        """The keys of what a view shows in these memories, newest first."""
        ...

    def links(self) -> Links | None:
        """How its records point at each other, for a graph; None when it has none to offer."""
        ...

    def open(self, keys: Sequence[int], view: View) -> Mapping[int, RecordVersion]:
        """The versions behind the keys of candidates; one that went meanwhile is absent."""
        ...

    def versions(self, memory_id: str) -> Iterator[RecordVersion]:
        """Every version of every record of a memory, record by record, oldest first; never all of them at once."""
        ...

    def restore(self, versions: Sequence[RecordVersion]) -> None:
        """Write versions as they are given, times and writers included; those of a new record make it.

        The versions of one record come in order, in one call or several, before the memory can be seen.
        """
        ...

    def drop(self, memory_ids: Collection[str]) -> None:
        """Remove everything that these memories hold."""
        ...

    def holders(self, organisation_id: str, record_ids: Collection[str]) -> Sequence[Holder]:
        """Records anywhere in an organisation of which some version says it is derived from one of these."""
        ...

    def settle(self, organisation_id: str) -> None:
        """Until the transaction ends, nothing is derived in an organisation, and nobody else erases there."""
        ...

    def erase(self, record_ids: Collection[str]) -> Removed:
        """Remove every trace of these records; none that is unknown is a failure. Only after `settle`."""
        ...

    def left(self, record_ids: Collection[str]) -> Mapping[str, int]:
        """How much is still kept of these records, by the kinds that `erase` counts."""
        ...

    def standing(self, memory_id: str, limit: int, after: tuple[datetime, str] | None) -> Page:
        """Current records whose attribute `standing` is exactly true, in the order they were written (§4.17)."""
        ...

    def horizon(self, memory_id: str) -> datetime:
        """An instant up to which everything can be read already; all that is to come lies after it."""
        ...

    def awaiting(self, memory_id: str, types: Sequence[str], after: tuple[datetime, str] | None) -> Awaiting:
        """How many current records of these types come after a position, and when the newest was written."""
        ...

    def earlier(self, memory_id: str, view: View, limit: int, until: tuple[datetime, str]) -> Sequence[RecordVersion]:
        """The last records up to a position and including it, oldest first."""
        ...

    def ended(self, memory_id: str, before: datetime, limit: int) -> Sequence[RecordVersion]:
        """Current records whose validity ended before an instant, those that ended first first."""
        ...

    def histories(self, memory_id: str, record_ids: Collection[str]) -> Mapping[str, Sequence[RecordVersion]]:
        """Every kept version of each of these records, oldest first; those that are not here are absent."""
        ...

    def reopen(self, memory_id: str, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
        """Append what `change` makes of the head of a forgotten record; None when there is none such here."""
        ...

    def derive(self, organisation_id: str) -> None:
        """Until the transaction ends, nothing is erased in an organisation. Before any write of a batch."""
        ...

    def nearby(self, memory_id: str) -> Nearby:
        """The current records of one memory by meaning, episodes left out, for comparing many texts."""
        ...

    def take_snapshot(self, memory_id: str, name: str, message: str, by: str) -> Instant:
        """Name this instant; reading as of it gives exactly what is readable now."""
        ...

    def snapshots(self, memory_id: str, limit: int, before: tuple[datetime, str] | None) -> Sequence[Instant]:
        """Snapshots of a memory, newest first."""
        ...
