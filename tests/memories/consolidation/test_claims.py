"""Same, newer, otherwise, or nothing to do with each other: told by words alone."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.consolidation.claims import Relation, Said, agree, relate

DAY = date(2023, 5, 1)


def between(new: str, old: str, who: str = "Ann", other: str = "Ann") -> Relation:
    return relate(Said(new, who, DAY), Said(old, other, DAY))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I like tea.", "I really like tea!"),
        ("I do not eat meat.", "I don't eat meat."),
        ("Oh, I'm a nurse in Ghent.", "I am a nurse in Ghent."),
    ],
)
def test_the_same_words_are_the_same_statement(new: str, old: str) -> None:
    assert between(new, old) is Relation.SAME


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The budget is 6,000 euros.", "The budget is 5,000 euros."),
        ("The ticket costs 20 €.", "The ticket costs 20 $."),
        ("We take three dogs to the park.", "We take two dogs to the park."),
        ("The deadline is 5 March 2024.", "The deadline is 3 March 2024."),
        ("I live in Munich.", "I live in Berlin."),
        ("My favourite colour is cyan.", "My favourite colour is purple."),
        ("I can not eat nuts.", "I can eat nuts."),
        ("The parcel weighs 5 pounds.", "The parcel weighs 5 kg."),
        ("Our login name is heron.", "Our login name is stork."),
        ("The server room key hangs in Ghent.", "The server room key hangs in Bruges."),
        ("The alarm rings before the parade.", "The alarm rings after the parade."),
    ],
)
def test_another_number_name_date_unit_or_a_not_is_never_the_same(new: str, old: str) -> None:
    assert between(new, old) is not Relation.SAME
    assert between(old, new) is not Relation.SAME


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The budget is 6,000 euros.", "The budget is 5,000 euros."),
        ("We take three dogs to the park.", "We take two dogs to the park."),
        ("The deadline is 5 March 2024.", "The deadline is 3 March 2024."),
        ("I live in Munich.", "I live in Berlin."),
        ("My favourite colour is cyan.", "My favourite colour is purple."),
        ("I can not eat nuts.", "I can eat nuts."),
        ("The server room key hangs in Ghent.", "The server room key hangs in Bruges."),
    ],
)
def test_another_value_of_the_same_thing_differs(new: str, old: str) -> None:
    assert between(new, old) is Relation.DIFFERS


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I live in Munich now.", "I live in Berlin."),
        ("I moved to Munich last week.", "I live in Berlin."),
        ("Actually, my sister lives in Porto.", "My sister lives in Lisbon."),
        ("I no longer eat fish.", "I eat fish."),
        ("I hate cilantro.", "I love cilantro."),
        ("My favourite colour is cyan now.", "My favourite colour is purple."),
    ],
)
def test_what_says_that_something_changed_is_newer(new: str, old: str) -> None:
    assert between(new, old) is Relation.NEWER


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("I like coffee.", "I like tea."),
        ("I like Berlin.", "I like Munich."),
        ("I met Bob for lunch.", "I met Ann for lunch."),
        ("I bought a red bike.", "I bought a new house."),
        ("[image: three men on a court]", "[image: two men on a court]"),
        ("My house is old.", "My garden is large."),
    ],
)
def test_two_things_that_can_both_be_true_have_nothing_to_do_with_each_other(new: str, old: str) -> None:
    assert between(new, old) is Relation.OTHER


def test_two_speakers_saying_i_do_not_say_the_same() -> None:
    assert between("I like tea.", "I like tea.", "Ann", "Bob") is Relation.OTHER
    assert between("I live in Munich.", "I live in Berlin.", "Ann", "Bob") is Relation.OTHER
    assert between("We keep it up in 2 teams.", "We keep it up in 3 teams.", "Ann", "Bob") is not Relation.SAME


def test_the_same_on_another_day_is_another_event() -> None:
    new, old = Said("I swam yesterday.", "Ann", date(2023, 5, 9)), Said("I swam yesterday.", "Ann", date(2023, 5, 2))
    assert relate(new, old) is Relation.OTHER
    assert relate(new, new) is Relation.SAME


def test_texts_agree_unless_a_value_of_one_stands_against_one_of_the_other() -> None:
    old = [Said("Ann pays 20 euros to Globex Ltd.")]
    assert agree([Said("20 euros go from Ann to Globex Ltd.")], old)
    assert agree([Said("Ann pays Globex Ltd.")], old)
    assert not agree([Said("Ann pays 30 euros to Globex Ltd.")], old)
    assert not agree([Said("Ann does not pay 20 euros to Globex Ltd.")], old)


number = st.integers(2, 10_000)


@given(number, number)
def test_two_numbers_are_never_merged(one: int, other: int) -> None:
    new, old = f"The hall holds {one} people.", f"The hall holds {other} people."
    assert (between(new, old) is Relation.SAME) == (one == other)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_compared(new: str, old: str) -> None:
    assert between(new, old) in Relation
    assert between(new, new) is Relation.SAME
