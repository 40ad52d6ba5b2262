"""Which words become vectors: what was said, alone and after what was said before; and what goes with an erasure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from members.ids import mint
from members.models import Member
from memories import embedders
from memories.content import Draft, read_draft
from memories.models import Embedding, Memory, Version
from memories.providers import registry, vectors
from memories.providers.base import RecordVersion, Writer
from memories.services import records, reembed
from memories.services.sight import look
from tests import factories
from tests.conftest import Api


def draft(content: str, **attributes: Any) -> Draft:
    return read_draft({"type": "episode", "content": content, "attributes": attributes})


@pytest.mark.parametrize(
    ("content", "attributes", "own"),
    [
        ("Hello there.", {"speaker": "Ada", "session_id": "s-1", "turn_id": "D1:3"}, "Hello there."),
        ("Ada: Hello there.", {"speaker": "Ada"}, "Hello there."),
        ("ada: Hello there.", {"author": "Ada"}, "Hello there."),
        ("Bob: Hello there.", {"speaker": "Ada"}, "Bob: Hello there."),
        ("Note: this is due.", {}, "Note: this is due."),
        ("Ada:", {"speaker": "Ada"}, "Ada:"),
        ("Hello there.", {"city": "Samarkand"}, "Hello there.\nSamarkand"),
    ],
)
def test_what_is_embedded_is_what_was_said(content: str, attributes: dict[str, Any], own: str) -> None:
    assert vectors.own_words(draft(content, **attributes)) == own


def test_the_name_of_the_writer_is_taken_from_the_beginning_too() -> None:
    assert vectors.own_words(draft("Alice: It is done."), ["Alice"]) == "It is done."


@pytest.mark.parametrize("value", [None, 7, "", "  ", ["Ada"], {"name": "Ada"}])
def test_only_words_name_a_speaker(value: object) -> None:
    assert vectors.speaker_of(draft("Hello.", speaker=value)) == ""


def test_only_the_end_of_a_long_turn_stands_before_the_next() -> None:
    joined = vectors.with_preceding("a" * 5_000 + " the end", "Yes.")
    assert joined.endswith("the end\nYes.")
    assert len(joined) < vectors.PRECEDING + 10


def said(who: Member, memory: Memory, text: str, session: str = "s", **more: Any) -> RecordVersion:
    return factories.record(who, memory, text, type="episode", attributes={"session_id": session}, **more)


def contexts() -> dict[str, tuple[float, ...]]:
    """The vectors of turns with the turn before, by what the turn says, once they are made."""
    reembed.sweep()
    rows = Embedding.objects.filter(aspect=Embedding.Aspect.CONTEXT)
    found = rows.values_list("version__content", "vector")
    return {content[0]["text"]: tuple(vector) for content, vector in found}


def embedded(text: str) -> Any:
    return pytest.approx(embedders.get().embed([text])[0], abs=1e-2)


pytestmark = pytest.mark.django_db


def test_a_turn_has_a_vector_of_its_own_and_one_with_the_turn_before(alice: Member, shared: Memory) -> None:
    said(alice, shared, "Where is the boat?")
    said(alice, shared, "In the harbour.")
    said(alice, shared, "Elsewhere entirely.", session="other")
    factories.record(alice, shared, "A fact in between.")
    said(alice, shared, "Good.")
    found = contexts()
    assert Embedding.objects.filter(aspect=Embedding.Aspect.OWN).count() == 5
    assert set(found) == {"In the harbour.", "Good."}
    assert np.array(found["In the harbour."]) == embedded("Where is the boat?\nIn the harbour.")
    assert np.array(found["Good."]) == embedded("In the harbour.\nGood.")


def test_no_turn_is_joined_to_one_of_another_memory(alice: Member, shared: Memory) -> None:
    said(alice, shared, "A secret.")
    said(alice, factories.memory(alice, shared), "Hello.")
    assert contexts() == {}


def test_a_forgotten_turn_is_passed_over(alice: Member, shared: Memory) -> None:
    said(alice, shared, "Where is the boat?")
    records.forget(look(factories.caller(alice), shared.id), said(alice, shared, "Forget this.").id)
    said(alice, shared, "In the harbour.")
    assert np.array(contexts()["In the harbour."]) == embedded("Where is the boat?\nIn the harbour.")


def test_erasing_a_turn_takes_the_vector_in_which_its_words_are_with_it(
    api: Api, alice: Member, shared: Memory
) -> None:
    said(alice, shared, "Where is the boat?")
    erased = said(alice, shared, "The canary sang.")
    last = said(alice, shared, "In the harbour.")
    assert set(contexts()) == {"The canary sang.", "In the harbour."}
    answer = api.ok("POST", f"/v1/memories/{shared.id}/erase", {"record_ids": [erased.id]}, alice)
    assert answer["erased"] == [erased.id]
    assert contexts() == {}
    assert Embedding.objects.filter(version__record_id=last.id).count() == 1
    recalled = api.ok("POST", f"/v1/memories/{shared.id}/recall", {"query": "harbour"}, alice)
    assert len(recalled["results"]) == 2


def test_many_turns_written_at_once_are_joined_as_one_by_one(alice: Member, shared: Memory) -> None:
    provider, began = registry.get("native"), datetime(2025, 1, 1, tzinfo=UTC)
    said_by = Writer("member", alice.id, "human")
    versions = [
        RecordVersion(
            mint("hrec_"), shared.id, 1, "active", draft(f"Turn {n}.", session_id=f"s{n % 2}"),
            began + timedelta(minutes=n), None, said_by,
        )
        for n in range(7)
    ]  # fmt: skip
    provider.restore(versions[:4])
    provider.restore(versions[4:])
    found = contexts()
    assert set(found) == {f"Turn {n}." for n in range(2, 7)}
    for n in range(2, 7):
        assert np.array(found[f"Turn {n}."]) == embedded(f"Turn {n - 2}.\nTurn {n}.")
    assert Version.objects.filter(speaker="").count() == 7
