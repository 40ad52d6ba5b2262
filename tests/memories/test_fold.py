"""Folding: what says the same gives its place to what says something else, and nothing is lost that has room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.fold import alike, fold, groups, print_of

LONG = (
    "after a long talk about the harbour and the weather we agreed that the boat should be painted once more before "
    "the summer and that somebody has to look after the ropes and the sails and the old engine in the shed"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Quillon renews in March.", "quillon renews in march"),
        ("Quillon  renews,\nin March!", "Quillon renews in March."),
        (LONG, LONG.replace("ropes", "lines")),
        (LONG, LONG + " today"),
    ],
)
def test_case_punctuation_and_one_word_in_twenty_make_no_difference(one: str, other: str) -> None:
    assert alike(print_of(one), print_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Quillon renews in March.", "Quillon renews in April."),
        ("The fee is 100 euros.", "The fee is 120 euros."),
        (f"{LONG}, says Ada", f"{LONG}, says Bea"),
        (f"{LONG}, in 2024", f"{LONG}, in 2025"),
        (LONG, LONG.replace("boat", "house").replace("painted", "sold").replace("ropes", "keys")),
        ("", ""),
        ("!", "?"),
    ],
)
def test_names_numbers_and_whole_phrases_make_a_difference(one: str, other: str) -> None:
    assert not alike(print_of(one), print_of(other))


def test_the_same_words_of_another_kind_are_something_else() -> None:
    assert not alike(print_of("Yes.", "episode|Ada"), print_of("Yes.", "episode|Bea"))


texts = st.lists(st.sampled_from(["heron", "Heron", "lake", "the boat 1", "the boat 2", ""]), max_size=12)


def folded(some: list[str], limit: int) -> list[tuple[int, int]]:
    return [(one.place, len(one.behind)) for one in fold(groups([print_of(text) for text in some]), limit)]


@given(texts, st.integers(1, 12))
def test_never_fewer_than_exist_and_never_more_than_asked_for(some: list[str], limit: int) -> None:
    shown = folded(some, limit)
    assert len(shown) == min(limit, len(some))
    assert [place for place, _ in shown] == sorted({place for place, _ in shown})


@given(texts, st.integers(1, 12))
def test_no_place_goes_to_a_repetition_while_there_is_something_else(some: list[str], limit: int) -> None:
    found = groups([print_of(text) for text in some])
    shown = {place for place, _ in folded(some, limit)}
    for group in found[:limit]:
        assert group[0] in shown
    repeated = sum(place in shown for group in found for place in group[1:])
    assert repeated == 0 or len(found) < limit


@given(texts, st.integers(1, 12))
def test_everything_found_is_shown_or_counted_or_beyond_the_limit(some: list[str], limit: int) -> None:
    found = groups([print_of(text) for text in some])
    assert sum(1 + similar for _, similar in folded(some, limit)) == sum(map(len, found[:limit]))


@given(texts)
def test_groups_part_the_ranking(some: list[str]) -> None:
    found = groups([print_of(text) for text in some])
    assert sorted(place for group in found for place in group) == list(range(len(some)))
    assert [group[0] for group in found] == sorted(group[0] for group in found)


def test_the_best_stays_and_says_how_many_stand_behind_it() -> None:
    assert folded(["heron", "lake", "HERON", "heron", "boat"], 3) == [(0, 2), (1, 0), (4, 0)]
    assert folded(["heron", "lake", "HERON", "heron"], 3) == [(0, 1), (1, 0), (2, 0)]
