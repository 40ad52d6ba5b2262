"""The laws of fusing what several signals found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.providers.base import Candidate
from memories.recall.fusion import covered, fuse, lend, normalise, rarity
from memories.recall.profiles import PROFILES, RANKING, Profile

Some = list[Candidate]

WORDS = ("heron", "lake", "quiet", "boat")
SIGNALS = ("meaning", "context", "words", "text", "fields")
PLAIN = Profile("plain", {"meaning": 0.5, "words": 0.3, "text": 0.2})
# Far enough apart that a difference survives the rounding of blended scores.
scores = st.integers(1, 1000).map(float)


def found(scored: Mapping[str, float], words: frozenset[str], key: int) -> Candidate:
    return Candidate(key, scored, words)


@st.composite
def several(draw: st.DrawFn, most: int = 8) -> Some:
    """Candidates of which some were said one after the other."""
    some = [
        Candidate(key, draw(st.dictionaries(st.sampled_from(SIGNALS), scores, max_size=5)), draw(matched))
        for key in range(draw(st.integers(0, most)))
    ]
    for earlier in range(len(some) - 1):
        if draw(st.booleans()):
            some[earlier] = replace(some[earlier], after=earlier + 1)
            some[earlier + 1] = replace(some[earlier + 1], before=earlier)
    return some


matched = st.frozensets(st.sampled_from(WORDS))
profiles = st.sampled_from([PLAIN, *PROFILES.values()])


def by_key(some: Some, profile: Profile = PLAIN) -> dict[int, float]:
    return {one.key: one.score for one in fuse(some, profile, WORDS)}


@given(several(), profiles)
def test_every_candidate_comes_back_once_best_first(some: Some, profile: Profile) -> None:
    ranked = fuse(some, profile, WORDS)
    assert sorted(one.key for one in ranked) == [one.key for one in some]
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


@given(several(), profiles)
def test_scores_lie_between_nothing_and_one(some: Some, profile: Profile) -> None:
    assert all(0 <= one.score <= 1 for one in fuse(some, profile, WORDS))


@given(several(), profiles, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_changes_nothing(some: Some, profile: Profile, random: Random) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)
    assert fuse(shuffled, profile, WORDS) == fuse(some, profile, WORDS)


@given(several(), profiles)
def test_between_equals_the_newer_version_comes_first(some: Some, profile: Profile) -> None:
    ranked = [(-one.score, -one.key) for one in fuse(some, profile, WORDS)]
    assert ranked == sorted(ranked)


@given(several())
def test_who_is_at_least_as_good_by_every_signal_is_never_ranked_below(some: Some) -> None:
    fused = by_key(some)
    for better in some:
        for worse in some:
            if all(better.scores.get(signal, 0) >= worse.scores.get(signal, 0) for signal in PLAIN.weights):
                assert fused[better.key] >= fused[worse.key]


@given(several(), st.sampled_from(sorted(PLAIN.weights)), scores)
def test_found_by_one_more_signal_beats_the_same_without_it(others: Some, signal: str, score: float) -> None:
    alike = {one: 500.0 for one in PLAIN.weights if one != signal}
    fused = by_key([*others, Candidate(100, {**alike, signal: score}), Candidate(101, alike)])
    assert fused[100] > fused[101]


@given(st.lists(scores, min_size=1, max_size=6), st.integers(1, 9).map(float))
def test_one_signal_alone_does_not_depend_on_its_scale(values: list[float], factor: float) -> None:
    plain = by_key([Candidate(key, {"text": value}) for key, value in enumerate(values)])
    scaled = by_key([Candidate(key, {"text": value * factor}) for key, value in enumerate(values)])
    assert scaled == pytest.approx(plain, abs=1e-6)


@given(st.lists(scores, min_size=1, max_size=6), st.sampled_from(["meaning", "words", "text"]))
def test_one_signal_alone_ranks_as_it_does_itself(values: list[float], signal: str) -> None:
    ranked = fuse([Candidate(key, {signal: value}) for key, value in enumerate(values)], PLAIN)
    assert [one.candidate.scores[signal] for one in ranked] == sorted(values, reverse=True)


@given(several(), st.sampled_from(sorted(RANKING.weights)))
def test_every_leg_says_its_own_score_and_place(some: Some, signal: str) -> None:
    ranked = fuse(some, RANKING, WORDS)
    legs = [one.legs[signal] for one in ranked if signal in one.legs]
    assert sorted(leg.rank for leg in legs) == list(range(1, len(legs) + 1))
    by_place = sorted(legs, key=lambda leg: leg.rank)
    assert [leg.raw for leg in by_place] == sorted((leg.raw for leg in legs), reverse=True)
    assert all(0 <= leg.normalised <= 1 for leg in legs)


def test_a_signal_that_nothing_was_found_by_does_not_count() -> None:
    assert by_key([Candidate(0, {"meaning": 0.9}), Candidate(1, {"meaning": 0.1})]) == {0: 1.0, 1: 0.0}


def test_nothing_found_is_nothing_ranked() -> None:
    assert fuse([], RANKING) == []
    assert normalise({}) == {}
    assert by_key([Candidate(0, {})]) == {0: 0.0}


@given(st.dictionaries(st.integers(0, 9), scores, min_size=1))
def test_normalised_scores_reach_one_and_keep_their_order(raw: dict[int, float]) -> None:
    stretched = normalise(raw)
    assert max(stretched.values()) == 1
    assert sorted(raw, key=lambda key: (raw[key], key)) == sorted(raw, key=lambda key: (stretched[key], key))


def test_ranks_are_fused_when_a_profile_says_so() -> None:
    profile = PROFILES["rank_fusion"]
    close = [
        Candidate(0, {"meaning": 0.99, "words": 1.0}),
        Candidate(1, {"meaning": 1.0}),
        Candidate(2, {"words": 9.0}),
    ]
    assert [one.key for one in fuse(close, profile)] == [0, 2, 1]


def test_what_is_much_alike_to_a_signal_is_not_driven_to_the_ends_of_the_scale() -> None:
    assert normalise({0: 0.80, 1: 0.82}, 0.2) == pytest.approx({0: 0.9, 1: 1.0})
    fused = by_key([Candidate(0, {"meaning": 0.80, "fields": 1.0}), Candidate(1, {"meaning": 0.82})], RANKING)
    assert fused[0] > fused[1]


# Words


@given(several())
def test_the_share_of_a_question_lies_between_nothing_and_all(some: Some) -> None:
    shares = covered(some, WORDS)
    assert all(0 < share <= 1 for share in shares.values())
    assert {one.key for one in some if one.matched} == set(shares)


@given(several())
def test_who_has_more_of_the_words_has_the_greater_share(some: Some) -> None:
    shares = covered(some, WORDS)
    for more in some:
        for less in some:
            if more.matched > less.matched:
                assert shares[more.key] > shares.get(less.key, 0)


def test_a_rare_word_tells_more_than_a_common_one_and_one_that_none_has_the_most() -> None:
    some = [Candidate(key, {}, frozenset({"lake"} | ({"heron"} if key == 0 else set()))) for key in range(9)]
    tells = rarity(some, ("lake", "heron", "boat"))
    assert 0 <= tells["lake"] < tells["heron"] < tells["boat"]


# Fields


@given(several(), st.integers(0, 7))
def test_what_is_by_or_about_the_named_beats_the_same_that_is_not(others: Some, key: int) -> None:
    named = Candidate(100, {"meaning": 500.0, "fields": 1.0})
    fused = by_key([*others, named, Candidate(101, {"meaning": 500.0})], RANKING)
    assert fused[100] > fused[101]


def test_what_everything_is_by_makes_no_difference_to_the_order() -> None:
    some = [Candidate(key, {"meaning": float(key)}) for key in range(5)]
    by_one = [replace(one, scores={**one.scores, "fields": 1.0}) for one in some]
    assert [one.key for one in fuse(by_one, RANKING)] == [one.key for one in fuse(some, RANKING)]


# Neighbours


def turns(*own: float) -> Some:
    last = len(own) - 1
    return [
        Candidate(key, {"meaning": score}, before=key - 1 if key else None, after=key + 1 if key < last else None)
        for key, score in enumerate(own)
    ]


def lent(some: Some, *shares: float) -> Mapping[int, float]:
    return lend(some, {one.key: one.scores["meaning"] for one in some}, shares)


def test_a_turn_is_lent_a_share_of_the_better_one_next_to_it() -> None:
    assert lent(turns(0.2, 1.0, 0.4), 0.5) == pytest.approx({0: 0.5, 1: 0.2, 2: 0.5})


def test_a_turn_is_lent_less_of_the_one_beyond() -> None:
    assert lent(turns(1.0, 0.0, 0.0, 0.0), 0.5, 0.2) == pytest.approx({0: 0.0, 1: 0.5, 2: 0.2, 3: 0.0})


def test_nothing_is_lent_across_conversations() -> None:
    first, second = turns(1.0, 0.0), [replace(one, key=one.key + 10) for one in turns(0.0)]
    assert lent([*first, *second], 0.5)[10] == 0.0


def test_a_neighbour_that_is_no_candidate_lends_nothing() -> None:
    some = [replace(turns(0.6, 0.4)[0], after=99)]
    assert lent(some, 0.5, 0.2) == {0: 0.0}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0, 1))
def test_what_was_said_in_no_conversation_is_lent_as_much_in_proportion(own: list[float], score: float) -> None:
    some = [*turns(*own), Candidate(50, {"meaning": score}), Candidate(51, {"meaning": score / 2})]
    given_out = lent(some, 0.5, 0.2)
    assert given_out[51] == pytest.approx(given_out[50] / 2)
    assert given_out[50] <= 0.7 * score + 1e-9


@given(st.lists(st.floats(0, 1), max_size=6))
def test_without_conversations_nothing_is_lent(own: list[float]) -> None:
    some = [Candidate(key, {"meaning": score}) for key, score in enumerate(own)]
    assert set(lent(some, 0.5, 0.2).values()) <= {0.0}


def test_a_weak_turn_between_good_ones_is_lifted_above_a_middling_one_alone() -> None:
    some = [*turns(0.9, 0.3, 0.8), *[replace(one, key=one.key + 10) for one in turns(0.4, 0.0, 0.0)]]
    order = [one.key for one in fuse(some, RANKING)]
    assert order.index(1) < order.index(10)
