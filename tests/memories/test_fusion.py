"""The laws of fusing what several signals found."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall.fusion import WEIGHTS, fuse, normalise

Scores = Mapping[str, float]

# Far enough apart that a difference survives the rounding of blended scores.
scores = st.integers(1, 1000).map(float)
found = st.dictionaries(st.sampled_from(sorted(WEIGHTS)), scores, max_size=3)
candidates = st.lists(found, max_size=8).map(lambda all_found: list(enumerate(all_found)))


def by_item(some: list[tuple[int, Scores]]) -> dict[int, float]:
    return {one.item: one.score for one in fuse(some)}


@given(candidates)
def test_every_candidate_comes_back_once_best_first(some: list[tuple[int, Scores]]) -> None:
    ranked = fuse(some)
    assert sorted(one.item for one in ranked) == [item for item, _ in some]
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


@given(candidates)
def test_scores_lie_between_nothing_and_one(some: list[tuple[int, Scores]]) -> None:
    assert all(0 <= one.score <= 1 for one in fuse(some))


@given(candidates, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_change_a_score(some: list[tuple[int, Scores]], random: Random) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)
    assert by_item(shuffled) == by_item(some)


@given(candidates)
def test_equal_scores_keep_the_order_of_the_candidates(some: list[tuple[int, Scores]]) -> None:
    ranked = [(-one.score, one.item) for one in fuse(some)]
    assert ranked == sorted(ranked)


@given(candidates)
def test_who_is_at_least_as_good_by_every_signal_is_never_ranked_below(some: list[tuple[int, Scores]]) -> None:
    fused = by_item(some)
    for one, better in some:
        for other, worse in some:
            if all(better.get(signal, 0) >= worse.get(signal, 0) for signal in WEIGHTS):
                assert fused[one] >= fused[other]


@given(candidates, st.sampled_from(sorted(WEIGHTS)), scores)
def test_found_by_one_more_signal_beats_the_same_without_it(
    others: list[tuple[int, Scores]], signal: str, score: float
) -> None:
    alike = {one: 500.0 for one in WEIGHTS if one != signal}
    fused = by_item([*others, (100, {**alike, signal: score}), (101, alike)])
    assert fused[100] > fused[101]


@given(st.lists(scores, min_size=1, max_size=6), st.integers(1, 9).map(float))
def test_one_signal_alone_does_not_depend_on_its_scale(values: list[float], factor: float) -> None:
    plain = by_item([(place, {"text": value}) for place, value in enumerate(values)])
    scaled = by_item([(place, {"text": value * factor}) for place, value in enumerate(values)])
    assert scaled == pytest.approx(plain, abs=1e-6)


@given(st.lists(scores, min_size=1, max_size=6))
def test_one_signal_alone_ranks_as_it_does_itself(values: list[float]) -> None:
    ranked = fuse([(value, {"meaning": value}) for value in values])
    assert [one.item for one in ranked] == sorted(values, reverse=True)


def test_a_signal_that_nothing_was_found_by_does_not_count() -> None:
    assert by_item([(0, {"meaning": 0.9}), (1, {"meaning": 0.1})]) == {0: 1.0, 1: 0.0}


def test_nothing_found_is_nothing_ranked() -> None:
    assert fuse([]) == []
    assert normalise({}) == {}
    assert by_item([(0, {})]) == {0: 0.0}


@given(st.dictionaries(st.integers(0, 9), scores, min_size=1))
def test_normalised_scores_reach_one_and_keep_their_order(raw: dict[int, float]) -> None:
    shown = normalise(raw)
    assert max(shown.values()) == 1
    assert min(shown.values()) >= 0
    assert all((shown[one] >= shown[other]) for one in raw for other in raw if raw[one] >= raw[other])
