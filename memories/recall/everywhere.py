"""Looking through everything that somebody may read, wherever in the tree it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memories.access import Privilege
from memories.models import Memory
from memories.providers import registry
from memories.providers.base import Question, RecordVersion, View
from memories.providers.inside import ALL_LEVELS, Branches

from . import scope


@dataclass(frozen=True)
class Found:
    """A record, and what its memory is called."""

    version: RecordVersion
    memory_name: str


def by_words(organisation_id: str, principals: Collection[str], words: str, limit: int) -> Sequence[Found]:
    """The current records that have most of the words, best first, of all memories that the principals read."""
    question = Question(text=words, limit=limit, legs=frozenset({"text"}))
    ranked: list[tuple[float, RecordVersion]] = []
    for provider in registry.connected():
        found = provider.candidates(_readable(organisation_id, principals), question).candidates
        best = sorted(found, key=lambda one: (-one.scores.get("text", 0.0), -one.key))[:limit]
        opened = provider.open([one.key for one in best], question.view)
        ranked += [(one.scores.get("text", 0.0), opened[one.key]) for one in best if one.key in opened]
    return _found([version for _, version in sorted(ranked, key=lambda pair: -pair[0])[:limit]])


def newest(organisation_id: str, principals: Collection[str], limit: int) -> Sequence[Found]:
    """The current records that were written last, newest first, of all memories that the principals read."""
    view, versions = View(), list[RecordVersion]()
    for provider in registry.connected():
        keys = provider.newest(_readable(organisation_id, principals), view, limit)
        opened = provider.open(keys, view)
        versions += [opened[key] for key in keys if key in opened]
    return _found(sorted(versions, key=lambda one: one.written_at, reverse=True)[:limit])


def _readable(organisation_id: str, principals: Collection[str]) -> Branches:
    tops = Memory.objects.of(organisation_id).tops(principals, Privilege.READ).values_list("id", flat=True)
    memories = Memory.objects.of(organisation_id).held_by(principals, Privilege.READ)
    return Branches(
        organisation_id, dict.fromkeys(tops, ALL_LEVELS), lambda: list(memories.values_list("id", flat=True))
    )


def _found(versions: Sequence[RecordVersion]) -> Sequence[Found]:
    called = scope.names({version.memory_id for version in versions})
    return [Found(version, called[version.memory_id]) for version in versions]
