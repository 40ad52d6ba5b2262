"""The verb prime: the standing records of one memory, whole and in a stable order, within a budget (Memories §4.17)."""

from __future__ import annotations

from dataclasses import dataclass

from memories import fence
from memories.access import Privilege
from memories.providers.base import RecordVersion
from uhp_site.http.errors import MemoryUnsupported

from .records import provider_of
from .sight import Place

DEFAULT_BUDGET = 4_000
MOST_BUDGET = 100_000
CHARACTERS_PER_TOKEN = 4
TOGETHER = 100


@dataclass(frozen=True)
class Primed:
    """What fits: the records, the text to hand to an agent, and what the text costs in tokens, by estimate."""

    versions: tuple[RecordVersion, ...]
    text: str
    tokens: int
    budget: int
    truncated: bool
    degraded: tuple[str, ...]


def prime(place: Place, budget: int = DEFAULT_BUDGET) -> Primed:
    """The standing records, oldest first, as many as fit. Raises MemoryForbidden without read, MemoryUnsupported."""
    place.require(Privilege.READ)
    provider = provider_of(place)
    if not provider.capabilities().get("prime"):
        raise MemoryUnsupported()
    place.used()
    allowed = min(budget, MOST_BUDGET)
    versions: list[RecordVersion] = []
    entries: list[str] = []
    text, truncated, after = "", False, None
    size = len(fence.fenced([], place.memory.name))
    while not truncated:
        page = provider.standing(place.memory.id, TOGETHER, after)
        for version in page.versions:
            entry = fence.harmless(shown(version))
            size += len(entry) + 1
            if tokens_of(size) > allowed:
                truncated = True
                break
            versions.append(version)
            entries.append(entry)
        if (after := page.next) is None:
            break
    if entries:
        text = fence.fenced(entries, place.memory.name)
    note = (f"budget:capped_at_{allowed}_tokens",) if truncated or allowed < budget else ()
    return Primed(tuple(versions), text, tokens_of(len(text)), budget, truncated, note)


def shown(version: RecordVersion) -> str:
    """A record as an agent reads it; its words without the strings among its attributes."""
    words = "\n".join(str(part["text"]) for part in version.draft.content if isinstance(part.get("text"), str))
    written_by = f"{version.writer.kind}:{version.writer.id}"
    at = version.written_at.isoformat().replace("+00:00", "Z")
    return fence.entry(words, version.id, version.draft.type, written_by, version.draft.title, at)


def tokens_of(characters: int) -> int:
    """An estimate that does not depend on a model: four characters are a token, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)
