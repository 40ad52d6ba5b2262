"""Which sentences are kept, of what kind, and which are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shelf import WRITTEN
from memories.consolidation.select import Sort, judge, question_of, select
from memories.consolidation.turns import Turn


def turn(text: str, role: str = "user") -> Turn:
    return Turn("ep", "Ann", role, text, WRITTEN)


@pytest.mark.parametrize(
    "sentence",
    [
        "Hey Bob!",
        "Good to see you!",
        "How have you been?",
        "Thanks so much!",
        "Wow, that's amazing!",
        "Yeah, totally agree.",
        "Sounds great, talk to you soon!",
        "You're doing an awesome job.",
        "Hmm, let me think about the budget for May.",
        "I wonder whether 300 euros is a lot.",
        "What do you do on 3 March?",
        "Congrats!",
        "Okay.",
    ],
)
def test_greetings_questions_praise_and_thinking_aloud_are_dropped(sentence: str) -> None:
    assert select(turn(sentence)) is None


@pytest.mark.parametrize(
    ("sentence", "sort"),
    [
        ("I prefer window seats on long flights.", Sort.PREFERENCE),
        ("My favourite composer is Arvo Pärt.", Sort.PREFERENCE),
        ("I'm allergic to shellfish and sesame.", Sort.PREFERENCE),
        ("We decided to use Postgres for the ledger.", Sort.DECISION),
        ("I chose the agency in Porto.", Sort.DECISION),
        ("I'll send the contract to Dana by Friday.", Sort.COMMITMENT),
        ("The meeting has been moved to Tuesday at 10.", Sort.CORRECTION),
        ("Actually, my sister lives in Porto.", Sort.CORRECTION),
        ("My daughter Mina was born on 4 July 2019.", Sort.FACT),
        ("The invoice came to 1,250 euros.", Sort.FACT),
        ("Our office in Lyon has 40 desks.", Sort.FACT),
        ("I ran a charity race last Saturday.", Sort.FACT),
    ],
)
def test_what_one_could_ask_for_later_is_kept_with_its_kind(sentence: str, sort: Sort) -> None:
    selected = select(turn(sentence))
    assert selected is not None
    assert selected.sort is sort
    assert selected.text == sentence


def test_only_what_is_worth_keeping_is_kept_of_a_turn() -> None:
    selected = select(turn("Hey Bob! I adopted a dog from the shelter in Porto. How are you?"))
    assert selected is not None
    assert selected.sentences == ("I adopted a dog from the shelter in Porto.",)


def test_a_short_answer_is_worth_more_than_the_same_words_unasked() -> None:
    assert select(turn("It was Matt Patterson!")) is None
    answer = select(turn("It was Matt Patterson!"), asked="Who played at the wedding?")
    assert answer is not None
    assert answer.sentences == ("It was Matt Patterson!",)


def test_of_an_assistant_only_what_it_decides_or_promises_is_kept() -> None:
    assert select(turn("The capital of Peru is Lima, founded in 1535.", "assistant")) is None
    assert select(turn("I'll send the report to Dana on Friday.", "assistant")) is not None


def test_what_a_picture_shows_is_kept() -> None:
    assert judge("[image: a red barn in the snow]") is not None


def test_the_question_of_a_turn_is_its_last_sentence() -> None:
    assert question_of("I row. Do you row, too? [image: a boat]") == "Do you row, too?"
    assert question_of("Do you row? I do.") == ""


@given(st.text(max_size=300))
def test_whatever_is_said_only_its_own_sentences_are_kept(text: str) -> None:
    selected = select(turn(text))
    if selected is not None:
        assert all(sentence in text for sentence in selected.sentences)
