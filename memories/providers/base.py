"""What a provider of memories is: it keeps records and finds them, inside the set of memories it is asked about.

Promises a type cannot express: a provider never looks outside the memories it is given; every write is in the caller's
transaction or answered only once it is safe; scores are comparable within one answer, higher is better; an unknown
record and one of another memory are the same nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from memories.content import Draft, Reference


@dataclass(frozen=True)
class Writer:
    """Who wrote a version; `kind + ":" + id` is the principal a grant would name."""

    kind: str
    id: str
    type: str = ""
    on_behalf_of: str = ""
    consolidation_id: str = ""


@dataclass(frozen=True)
class RecordVersion:
    """One version of a record, as kept. `status` is active, superseded or forgotten."""

    id: str
    memory_id: str
    number: int
    status: str
    draft: Draft
    written_at: datetime
    invalidated_at: datetime | None
    writer: Writer

    @property
    def name(self) -> str:
        """What a page calls it: the title, or else the start of its words (Memories §4.6)."""
        return self.draft.title or " ".join(self.draft.text.split())[:120] or "Untitled record"


Change = Callable[[RecordVersion], Draft]
"""Makes the next draft from the head; may refuse by raising."""


@dataclass(frozen=True)
class View:
    """Which versions are looked at: the current ones, those of an instant, or all; and of which types."""

    as_of: datetime | None = None
    include_all: bool = False
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """One page of records, and where the next one begins."""

    versions: tuple[RecordVersion, ...]
    next: tuple[datetime, str] | None


@dataclass(frozen=True)
class Question:
    """What is asked of a set of memories: by meaning, by words, or both."""

    query: str = ""
    text: str = ""
    view: View = field(default_factory=View)
    limit: int = 8


@dataclass(frozen=True)
class Candidate:
    """A version that may answer, by the provider's own key for it, with its raw score by each signal.

    The signals are `meaning` and `words` (of the query) and `text`; a newer version has the higher key.
    """

    key: int
    scores: Mapping[str, float]


class Provider(Protocol):
    """A memory engine. `capabilities` is its declaration, and it is held to it."""

    id: str

    def capabilities(self) -> Mapping[str, Any]:
        """The capability document (Memories §2.16)."""
        ...

    def remember(self, memory_id: str, draft: Draft, writer: Writer) -> RecordVersion:
        """Write a new record and return its first version."""
        ...

    def revise(self, memory_id: str, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
        """Append what `change` makes of the head, which nobody revises meanwhile; None when no open record here."""
        ...

    def forget(self, memory_id: str, record_id: str) -> RecordVersion | None:
        """Close a record in place, or return None when there is no such open record here."""
        ...

    def get(self, memory_id: str, record_id: str, as_of: datetime | None = None) -> RecordVersion | None:
        """The newest version, or the one that held at an instant."""
        ...

    def history(self, memory_id: str, record_id: str) -> Sequence[RecordVersion]:
        """Every kept version, oldest first; empty when there is no such record here."""
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

    def candidates(self, memory_ids: Sequence[str], question: Question) -> Sequence[Candidate]:
        """The best candidates by each signal, within these memories only; unordered."""
        ...

    def open(self, keys: Sequence[int], view: View) -> Mapping[int, RecordVersion]:
        """The versions behind the keys of candidates; one that went meanwhile is absent."""
        ...

    def drop(self, memory_ids: Collection[str]) -> None:
        """Remove everything that these memories hold."""
        ...
