"""Recall against brute force, after anything that can happen to a tree: exactly what may be read, never fewer."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from members.callers import caller_for
from members.models import Member
from memories import embedders
from memories.access import Privilege
from memories.models import Version
from memories.providers.base import Question
from memories.recall import pipeline, profiles
from memories.services import recall as verb
from memories.services.sight import look
from tests import factories
from tests.access.test_parity import histories
from tests.access.worlds import Step, Truth, World
from uhp_site.http.errors import UHPError

ASKED = ["heron lake", "bread", "zeppelin", "Who saw the heron?"]
SAID = ("The heron of {} stands in the lake.", "The heron stands.", "Bread is baked in {}.")


class TestWorlds(TestCase):
    world: ClassVar[World]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = World.begin()

    @settings(max_examples=20)
    @given(
        histories,
        st.sampled_from(ASKED),
        st.none() | st.integers(0, 2),
        st.sampled_from(sorted(profiles.PROFILES)),
        st.sampled_from([1, 2, 5, 100]),
    )
    def test_exactly_what_may_be_read_and_never_fewer_than_exist(
        self, history: list[Step], query: str, depth: int | None, profile: str, limit: int
    ) -> None:
        written = self.written(history)
        truth = Truth(self.world)
        for member in self.world.members:
            readable = truth.holding(member, Privilege.READ)
            for memory_id in sorted(readable):
                below = truth.below(memory_id)
                near = {one for one, level in below.items() if depth is None or level <= depth} | {memory_id}
                exist = {record for one in near & readable for record in written[one]}
                found = self.found(member, memory_id, query, depth, profiles.PROFILES[profile], limit)
                assert len(found) == len(set(found))
                assert set(found) <= exist
                if profiles.PROFILES[profile].legs & {"meaning", "context"}:
                    assert len(found) == min(limit, len(exist))

    @settings(max_examples=15)
    @given(histories, st.sampled_from(ASKED), st.sampled_from([1, 3, 100]))
    def test_by_meaning_the_best_are_those_that_comparing_with_all_would_find(
        self, history: list[Step], query: str, limit: int
    ) -> None:
        written = self.written(history)
        truth, embedder = Truth(self.world), embedders.get()
        asked = embedder.embed_query(query)
        profile = replace(profiles.PROFILES["meaning"], fold=False, names=False)
        for member in self.world.members:
            readable = truth.holding(member, Privilege.READ)
            for memory_id in sorted(readable):
                exist = {record for one in {*truth.below(memory_id), memory_id} & readable for record in written[one]}
                said = {one.record_id: one.content[0]["text"] for one in Version.objects.filter(record_id__in=exist)}
                likeness = {record: float(embedder.embed([text])[0] @ asked) for record, text in said.items()}
                found = self.found(member, memory_id, query, None, profile, limit)
                best = sorted(likeness.values(), reverse=True)[:limit]
                assert [likeness[record] for record in found] == pytest.approx(best, abs=2e-3)

    def written(self, history: list[Step]) -> dict[str, list[str]]:
        """Change the tree, then write into every memory of it; the records of each."""
        for step in history:
            with contextlib.suppress(UHPError):
                step.take(self.world)
        creators = Member.objects.in_bulk()
        return {
            memory.id: [
                factories.record(creators[memory.creator.removeprefix("member:")], memory, text.format(number)).id
                for text in SAID
            ]
            for number, memory in enumerate(self.world.memories)
        }

    def found(
        self, member: Member, memory_id: str, query: str, depth: int | None, profile: profiles.Profile, limit: int
    ) -> list[str]:
        """The records that a member finds, best first."""
        ask = pipeline.Ask(Question(query, limit=limit), depth=depth, profile=profile)
        return [hit.version.id for hit in verb.recall(look(caller_for(member), memory_id), ask).hits]
