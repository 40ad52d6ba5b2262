"""Names in a question: who may be known of, and what is left to be compared by meaning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from members.models import Member
from memories.models import Memory
from memories.providers import registry
from memories.providers.base import Named, View
from memories.recall import names
from memories.services import records
from memories.services.sight import look
from tests import factories


@pytest.mark.parametrize(
    ("question", "known", "left"),
    [
        ("When did Melanie paint a sunrise?", ["melanie"], "When did paint a sunrise?"),
        ("What is Melanie's favourite book?", ["melanie"], "What is favourite book?"),
        ("What is Melanie\u2019s favourite book?", ["melanie"], "What is favourite book?"),
        ("Where is James' old boat?", ["james"], "Where is old boat?"),
        ("where did melanie go camping", ["melanie"], "where did go camping"),
        ("What did Ada Lovelace and Ada say of it?", ["ada", "ada lovelace"], "What did and say of it?"),
        ("Did Melanies go there?", ["melanie"], "Did Melanies go there?"),
        ("How old is O'Brien's dog now?", ["o'brien"], "How old is dog now?"),
        ("Which fee does Quillon  Freight pay?", ["quillon freight"], "Which fee does pay?"),
        ("Who is Melanie?", ["melanie"], "Who is Melanie?"),
        ("What of it?", [], "What of it?"),
    ],
)
def test_known_names_are_taken_out_unless_too_little_is_left(question: str, known: list[str], left: str) -> None:
    assert names.without(question, known) == left


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_taking_out_names_never_fails_and_never_leaves_nothing(question: str, known: list[str]) -> None:
    left = names.without(question, [name.lower() for name in known])
    assert left.strip() or not question.strip()


@given(st.text(max_size=400))
def test_what_could_be_a_name_is_bounded(question: str) -> None:
    assert len(names.phrases(question)) <= names.MOST_WORDS * names.LONGEST


def test_what_is_written_small_is_no_name_where_names_are_written_large() -> None:
    assert names.phrases("Will Ada will it?") == {"will", "will ada", "will ada will", "will ada will it", "ada"} | {
        "ada will",
        "ada will it",
    }
    assert "melanie" in names.phrases("where did melanie go")


def known(memory: Memory, *phrases: str, view: View | None = None) -> set[str]:
    return set(registry.get("native").named([memory.id], phrases, view or View()).names)


@pytest.mark.django_db
def test_members_are_known_by_their_whole_name_or_its_first_word(alice: Member, mallory: Member) -> None:
    ada = factories.member(alice.organisation, "Ada Lovelace")
    for asked in ("ada lovelace", "ada"):
        found = names.of_members(alice.organisation_id, [asked, "lovelace", "nobody"])
        assert found == Named(frozenset({asked}), frozenset({ada.id}))
    assert not names.of_members(alice.organisation_id, ["mallory", "lovelace"]).names


@pytest.mark.django_db
def test_speakers_and_entities_are_known_where_they_are_recorded(alice: Member, shared: Memory) -> None:
    elsewhere = factories.memory(alice)
    factories.record(alice, shared, "Hello.", type="episode", attributes={"speaker": "Jolana Novak"})
    factories.record(alice, shared, "Hello.", type="episode", attributes={"author": "Ivo"})
    factories.record(alice, shared, "A carrier.", type="company", title="Quillon Freight")
    factories.record(alice, shared, "The new one.", type="person", title="Orla Byrne")
    asked = ["jolana novak", "jolana", "novak", "ivo", "quillon freight", "quillon", "orla", "orla byrne", "byrne"]
    assert known(shared, *asked) == {"jolana novak", "jolana", "ivo", "quillon freight", "orla", "orla byrne"}
    assert known(elsewhere, *asked) == set()


@pytest.mark.django_db
def test_the_title_of_a_note_is_no_name(alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "It renews in March.", type="note", title="Quillon")
    assert known(shared, "quillon") == set()


@pytest.mark.django_db
def test_whoever_was_forgotten_is_no_longer_known_but_was_then(alice: Member, shared: Memory) -> None:
    person = factories.record(alice, shared, "The new one.", type="person", title="Orla")
    records.forget(look(factories.caller(alice), shared.id), person.id)
    assert known(shared, "orla") == set()
    assert known(shared, "orla", view=View(as_of=person.written_at)) == {"orla"}
    assert known(shared, "orla", view=View(include_all=True)) == {"orla"}
