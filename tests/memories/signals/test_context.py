"""What is remarkable about a record beside its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.signals.context import (
    Habit,
    Nearby,
    conflict,
    differences,
    lowest_trust,
    near_duplicate,
    overlap,
    unusual,
)

WORDS = st.lists(
    st.sampled_from(["the", "ferry", "leaves", "from", "pier", "on", "friday", "at", "nine", "ada", "not"]), min_size=1
)


def near(text: str, similarity: float = 0.0) -> Nearby:
    """A record that is there."""
    return Nearby("hrec_1", text, similarity)


def test_the_same_words_again_are_a_duplicate() -> None:
    assert near_duplicate("The ferry leaves from pier 3.", [near("the ferry leaves from pier 3")])


def test_one_number_makes_another_statement_and_no_duplicate() -> None:
    mine, theirs = "The ferry leaves from pier 3 on Friday.", near("The ferry leaves from pier 4 on Friday.", 0.99)
    assert near_duplicate(mine, [theirs]) is None


def test_nothing_nearby_is_neither() -> None:
    assert near_duplicate("Tea at four.", []) is None
    assert conflict("Tea at four.", [near("The ferry leaves from pier 3.")]) is None


@pytest.mark.parametrize(
    ("mine", "theirs", "kind"),
    [
        ("The ferry leaves from pier 3 today.", "The ferry leaves from pier 4 today.", "number"),
        ("Her flat is let from 1 May on.", "Her flat is let from 1 June on.", "date"),
        ("The key to the shed is with Ada now.", "The key to the shed is with Ben now.", "name"),
        ("The bridge is open to lorries.", "The bridge is not open to lorries.", "negation"),
        ("Der Schalter ist heute offen.", "Der Schalter ist heute nicht offen.", "negation"),
        ("Le pont est ouvert.", "Le pont n'est pas ouvert.", "negation"),
    ],
)
def test_a_conflict_says_in_what_it_differs(mine: str, theirs: str, kind: str) -> None:
    assert kind in {one.kind for one in differences(mine, theirs)}
    if overlap(mine, theirs) >= 0.6:
        found = conflict(mine, [near(theirs)])
        assert found is not None
        assert kind in found[0].reason


def test_a_difference_names_both_sides() -> None:
    [found] = differences("Pier 3", "Pier 4")
    assert (found.mine, found.theirs) == (("3",), ("4",))


@given(WORDS)
def test_a_text_differs_in_nothing_from_itself(words: list[str]) -> None:
    text = " ".join(words)
    assert differences(text, text) == ()
    assert overlap(text, text) == 1.0


@given(WORDS, WORDS)
def test_overlap_is_the_same_from_both_sides(one: list[str], other: list[str]) -> None:
    assert overlap(" ".join(one), " ".join(other)) == overlap(" ".join(other), " ".join(one))


def test_a_first_write_and_a_burst_are_unusual_and_a_steady_writer_is_not() -> None:
    assert [one.name for one in unusual(Habit(0, 0, 0.0))] == ["context.new_writer"]
    assert [one.name for one in unusual(Habit(400, 60, 4.0))] == ["context.burst"]
    assert unusual(Habit(400, 60, 50.0)) == ()


def test_the_least_trusted_source_counts() -> None:
    lowest = lowest_trust(["human", "outside", "agent"])
    assert lowest is not None
    assert "outside" in lowest.reason
    assert lowest_trust(["human"]) is None
    assert lowest_trust([]) is None


def test_one_number_in_many_words_is_a_conflict_and_no_duplicate() -> None:
    text = " ".join(f"word{chr(97 + number)}" for number in range(26))
    mine, theirs = f"{text} 3", near(f"{text} 4")
    assert near_duplicate(mine, [theirs]) is None
    found = conflict(mine, [theirs])
    assert found is not None
    assert found[0].records == ("hrec_1",)


def test_other_capitals_are_no_other_name() -> None:
    mine, theirs = "The key is with ada now.", near("The key is with Ada now")
    assert conflict(mine, [theirs]) is None
    found = near_duplicate(mine, [theirs])
    assert found is not None
    assert found.records == ("hrec_1",)


@given(WORDS, WORDS)
def test_nothing_is_said_again_and_otherwise_at_once(one: list[str], other: list[str]) -> None:
    mine, theirs = " ".join(one), near(" ".join(other))
    assert near_duplicate(mine, [theirs]) is None or conflict(mine, [theirs]) is None
