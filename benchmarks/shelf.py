"""A memory in this process, as an engine of consolidation sees it: what it knows, and what is written of proposals.

Nearness is the share of words in common, rare ones counting more: enough to find what repeats or contradicts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import log, sqrt
from time import process_time

from memories.consolidation.base import Batch, Kept, Kind, Proposal
from memories.consolidation.words import content_words
from memories.content import Draft, Reference
from memories.providers.base import Writer

ENTITIES = frozenset({"entity", "person", "company"})
PROVIDER = Writer("provider", "rules")
MEMBER = Writer("member", "mem_1", type="human")
WRITTEN = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass
class Shelf:
    """Records by id. `seconds` is the processor time that was spent here, not in the engine."""

    records: dict[str, Kept] = field(default_factory=dict)
    conflicts: list[Proposal] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    _made: int = 0
    _holding: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _words: dict[str, frozenset[str]] = field(default_factory=dict)

    def put(self, draft: Draft, writer: Writer = PROVIDER, at: datetime = WRITTEN, id: str = "") -> Kept:
        """Keep a record, as version 1 or, for an id that is there, as the next."""
        if not id:
            self._made += 1
            id = f"rec_{self._made:05}"
        number = self.records[id].number + 1 if id in self.records else 1
        kept = self.records[id] = Kept(id, number, draft, at, writer)
        self._forget_words(id)
        if draft.type not in ENTITIES:
            self._words[id] = frozenset(content_words(draft.said))
            for word in self._words[id]:
                self._holding[word].add(id)
        return kept

    def write(self, batch: Batch, at: datetime = WRITTEN) -> None:
        """Write what was proposed, as a run would."""
        started = process_time()
        keys: dict[str, str] = {}
        for proposal in batch.proposals:
            self.kinds[proposal.kind.value] += 1
            if proposal.kind is Kind.CONFLICT:
                about = keys.get(proposal.record_id, proposal.record_id)
                self.conflicts.append(replace(proposal, record_id=about))
                proposal = replace(proposal, record_id="")  # both statements are kept until a person decides
            if proposal.kind is Kind.FORGET:
                self.records.pop(proposal.record_id)
                self._forget_words(proposal.record_id)
            else:
                assert proposal.draft is not None
                kept = self.put(_whole(proposal, proposal.draft, keys), at=at, id=proposal.record_id)
                if proposal.key:
                    keys[proposal.key] = kept.id
        self.seconds += process_time() - started

    def near(self, texts: Sequence[str], limit: int = 8) -> Sequence[Sequence[Kept]]:
        """For each text the records with most words in common."""
        started = process_time()
        found = [self._near(frozenset(content_words(text)), limit) for text in texts]
        self.seconds += process_time() - started
        return found

    def entities(self) -> Sequence[Kept]:
        """The records that are entities."""
        return [one for one in self.records.values() if one.draft.type in ENTITIES]

    def expired(self, before: datetime, limit: int = 100) -> Sequence[Kept]:
        """The records whose validity ended before an instant."""
        past = (one for one in self.records.values() if one.draft.valid_to and one.draft.valid_to <= before)
        return list(past)[:limit]

    @property
    def facts(self) -> Mapping[str, Kept]:
        """The records that are no entities."""
        return {id: one for id, one in self.records.items() if one.draft.type not in ENTITIES}

    def _near(self, words: frozenset[str], limit: int) -> Sequence[Kept]:
        scores: dict[str, float] = defaultdict(float)
        for word in sorted(words):
            holding = self._holding.get(word, ())
            tells = log((len(self._words) + 1) / (len(holding) + 0.5))
            for id in holding:
                scores[id] += tells
        ranked = sorted(scores, key=lambda id: (-scores[id] / sqrt(len(self._words[id]) or 1), id))[:limit]
        return [replace(self.records[id], similarity=_share(words, self._words[id])) for id in ranked]

    def _forget_words(self, id: str) -> None:
        for word in self._words.pop(id, ()):
            self._holding[word].discard(id)


def episode(
    id: str, text: str, at: datetime, speaker: str = "", role: str = "user", session: str = "", writer: Writer = MEMBER
) -> Kept:
    """An episode of one part."""
    attributes = {name: value for name, value in (("speaker", speaker), ("session_id", session)) if value}
    content = ({"type": "text", "text": text, "role": role},)
    return Kept(id, 1, Draft(type="episode", content=content, attributes=attributes), at, writer)


def cited(kept: Kept) -> list[str]:
    """The episodes that a record rests on."""
    return [one.record_id for one in kept.draft.references if one.rel == "derived_from"]


def _whole(proposal: Proposal, draft: Draft, keys: Mapping[str, str]) -> Draft:
    references = [replace(one, record_id=keys.get(one.record_id, one.record_id)) for one in draft.references]
    has = {one.record_id for one in references if one.rel == "derived_from"}
    references.extend(Reference(id, "derived_from") for id in proposal.sources if id not in has)
    return replace(draft, references=tuple(references))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0
