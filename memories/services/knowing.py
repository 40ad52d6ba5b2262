"""What an engine of consolidation is shown: new episodes without what they quote, and what one memory knows already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memories import fence
from memories.consolidation.base import Kept
from memories.providers.base import Provider, RecordVersion, View

NAMED = ("entity", "person", "company")
TOGETHER = 500


def kept(version: RecordVersion, similarity: float = 0.0) -> Kept:
    """A record for an engine; of an episode only what was not recalled in it."""
    draft = fence.without_recalled(version.draft) if version.draft.type == "episode" else version.draft
    return Kept(version.id, version.number, draft, version.written_at, version.writer, similarity)


@dataclass(frozen=True)
class Position:
    """The last episode that was read: when it was written, and its id."""

    at: datetime
    record_id: str

    @property
    def key(self) -> tuple[datetime, str]:
        """For reading on after it."""
        return self.at, self.record_id


class Known:
    """What one memory knows, for one run. Nothing of another memory is ever looked at."""

    def __init__(self, provider: Provider, memory_id: str) -> None:
        self._provider = provider
        self._memory_id = memory_id
        self._nearby = provider.nearby(memory_id)
        self._entities: dict[str, Kept] = {}
        self._entities_read: tuple[datetime, str] | None = None

    def near(self, texts: Sequence[str], limit: int = 8) -> Sequence[Sequence[Kept]]:
        """For each text the current records nearest in meaning, episodes left out, best first, with similarity."""
        return [
            [kept(version, similarity) for version, similarity in found] for found in self._nearby.near(texts, limit)
        ]

    def entities(self) -> Sequence[Kept]:
        """The current records of the types entity, person and company; each call reads only what is new."""
        while True:
            page = self._provider.page(self._memory_id, View(types=NAMED), TOGETHER, self._entities_read)
            for version in page.versions:
                self._entities[version.id] = kept(version)
                self._entities_read = version.written_at, version.id
            if page.next is None:
                return list(self._entities.values())

    def expired(self, before: datetime, limit: int = 100) -> Sequence[Kept]:
        """Current records whose `valid_to` has passed, those that ended first first."""
        return [kept(version) for version in self._provider.ended(self._memory_id, before, limit)]
