"""A recall, step by step: scope, candidates, fuse, trim. Each step is a function from value to value."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memories.models import Memory
from memories.models.tree import MemoryQuerySet
from memories.providers import registry
from memories.providers.base import Candidate, Question, RecordVersion

from . import fusion, scope

SIGNALS = {"meaning": "query", "words": "query", "text": "text"}


@dataclass(frozen=True)
class Ask:
    """What a caller asks of a memory: the question, how far down, and the signals this server may not know."""

    question: Question
    depth: int | None = None
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hit:
    """One answer: the record, where it is, how well it fits, and which signals found it."""

    version: RecordVersion
    memory_name: str
    score: float | None
    why: tuple[str, ...]


@dataclass(frozen=True)
class Recalled:
    """What came back, best first, and what was not done."""

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    abstain: bool = False
    searched: Collection[str] = ()


def recall(memory: Memory, principals: Collection[str], ask: Ask, within: MemoryQuerySet | None = None) -> Recalled:
    """Answer a question asked of a memory that the caller reads; nothing the caller may not read is looked at.

    With `within`, nor is anything in other memories below.
    """
    covered = scope.readable(memory, principals, ask.depth, within)
    degraded = [*(f"{signal}:not_supported" for signal in ask.unsupported), *covered.degraded]
    if not ask.question.query and not ask.question.text:
        return Recalled((), tuple(degraded), searched=covered.memories)
    provider = registry.get(memory.provider)
    candidates = sorted(provider.candidates(covered.memories, ask.question), key=lambda one: one.key, reverse=True)
    ranked = fusion.fuse([(candidate, candidate.scores) for candidate in candidates])[: ask.question.limit]
    versions = provider.open([one.item.key for one in ranked], ask.question.view)
    names = scope.names({version.memory_id for version in versions.values()})
    hits = tuple(
        Hit(version, names[version.memory_id], one.score, why(one.item))
        for one in ranked
        if (version := versions.get(one.item.key))
    )
    return Recalled(hits, tuple(degraded), searched=covered.memories)


def why(candidate: Candidate) -> tuple[str, ...]:
    """The signals of the request that found a candidate, in the protocol's order."""
    return tuple(dict.fromkeys(SIGNALS[signal] for signal in SIGNALS if signal in candidate.scores))
