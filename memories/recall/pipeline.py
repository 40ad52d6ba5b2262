"""A recall, step by step: scope, names, candidates, fuse, fold, trim, abstain; each from value to value."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from memories.models import Memory
from memories.models.tree import MemoryQuerySet
from memories.providers import registry
from memories.providers.base import Candidate, Question, RecordVersion

from . import abstain, listing, names, ranking, scope
from .fusion import Ranked
from .profiles import RANKING, Profile

SIGNALS = {"meaning": "query", "context": "query", "words": "query", "fields": "query", "text": "text"}
FILTERS = "filters"


@dataclass(frozen=True)
class Ask:
    """What a caller asks of a memory: the question, how far down, and how to rank."""

    question: Question
    depth: int | None = None
    profile: Profile = RANKING


@dataclass(frozen=True)
class Hit:
    """One answer: the record, where it is, how well it fits, and which signals found it.

    `similar` are the near-identical records that gave their place to it; `ranked` says how the score came about.
    """

    version: RecordVersion
    memory_name: str
    score: float | None
    why: tuple[str, ...]
    similar: tuple[RecordVersion, ...] = ()
    ranked: Ranked | None = None


@dataclass(frozen=True)
class Explanation:
    """How an answer came about. Names and words are those of the question; nothing unreadable was looked at."""

    profile: str
    names: tuple[str, ...]
    meant: str
    words: tuple[str, ...]
    candidates: int
    evidence: abstain.Evidence


@dataclass(frozen=True)
class Recalled:
    """What came back, best first, and what was not done."""

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    abstain: bool = False
    searched: Collection[str] = field(default=())
    explanation: Explanation | None = None


def recall(memory: Memory, principals: Collection[str], ask: Ask, within: MemoryQuerySet | None = None) -> Recalled:
    """Answer a question asked of a memory that the caller reads; nothing the caller may not read is looked at.

    With `within`, nor is anything in other memories below.
    """
    covered = scope.readable(memory, principals, ask.depth, within)
    provider = registry.get(memory.provider)
    question = ask.question
    if not question.query and not question.text:
        if question.view.filters is None:
            return Recalled((), tuple(covered.degraded), searched=covered.memories)
        listed = listing.newest(provider, covered.memories, question)
        called = scope.names({version.memory_id for version in listed.versions})
        hits = tuple(Hit(version, called[version.memory_id], None, (FILTERS,)) for version in listed.versions)
        return Recalled(hits, (*covered.degraded, *listed.degraded), searched=covered.memories)
    read = names.read(question.query, memory.organisation_id, provider, covered.memories, question.view)
    asked = ranking.prepared(question, read, ask.profile)
    found, shown = ranking.best(provider, covered.memories, asked, ask.profile)
    strangers = names.strangers(read.named, provider, covered.memories, asked, found.candidates)
    evidence = abstain.decide(found.candidates, found.words, found.model, strangers, asked=bool(question.query))
    called = scope.names({one.version.memory_id for one in shown})
    hits = tuple(
        Hit(
            one.version,
            called[one.version.memory_id],
            one.ranked.score,
            why(one.ranked.candidate, question),
            one.similar,
            one.ranked,
        )
        for one in shown
    )
    return Recalled(
        hits,
        (*covered.degraded, *found.notes),
        evidence.abstain,
        covered.memories,
        Explanation(
            ask.profile.name,
            tuple(sorted(read.named.names)),
            asked.meant or question.query,
            found.words,
            len(found.candidates),
            evidence,
        ),
    )


def why(candidate: Candidate, question: Question) -> tuple[str, ...]:
    """The signals of the request that found a candidate, in the protocol's order; every one of them met the filters."""
    found = dict.fromkeys(SIGNALS[signal] for signal in SIGNALS if signal in candidate.scores)
    return (*found, *([FILTERS] if question.view.filters is not None else []))
