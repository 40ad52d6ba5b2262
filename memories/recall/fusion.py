"""Fusing what several signals found into one ranking; pure.

Scores are normalised over the candidates of one question and blended. Fusing ranks instead was measured to lower a
good signal whenever a weak one stood beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from memories.providers.base import Candidate

from .profiles import Profile

# How little a place counts that is far down, when ranks are fused.
RANK_OFFSET = 60
TERMS, FIELDS = "terms", "fields"
# Less than this apart, candidates are much alike to a signal whose scores mean something by themselves (cosines, and
# shares of a question), and are not driven to the ends of the scale.
LEAST_SPREAD = {"meaning": 0.2, "context": 0.2, "terms": 0.2}


@dataclass(frozen=True)
class Leg:
    """What one signal says of a candidate: its own score, that score between 0 and 1, and the place, 1 for the best."""

    raw: float
    normalised: float
    rank: int


@dataclass(frozen=True)
class Ranked:
    """A candidate with its final score, 0 to 1, and how that came about.

    `blended` is the weighted mean of the signals, `about` what the fields add, `lent` what the neighbours do; the sum
    of them, over the most that it can be, is the score.
    """

    candidate: Candidate
    score: float
    legs: Mapping[str, Leg]
    blended: float
    about: float = 0.0
    lent: float = 0.0

    @property
    def key(self) -> int:
        """The provider's key of the candidate."""
        return self.candidate.key


def rarity(candidates: Sequence[Candidate], words: Sequence[str]) -> Mapping[str, float]:
    """How much each word of a question tells, by how few of the candidates have it; most for one that none has."""
    held = {word: sum(word in one.matched for one in candidates) for word in words}
    return {word: log((len(candidates) + 1) / (count + 0.5)) for word, count in held.items()}


def covered(candidates: Sequence[Candidate], words: Sequence[str]) -> Mapping[int, float]:
    """What share of the question each candidate has, 0 to 1, its words weighed by their rarity; only those with any."""
    tells = rarity(candidates, words)
    total = sum(tells.values())
    if not total:
        return {}
    shares = {one.key: sum(tells[word] for word in words if word in one.matched) / total for one in candidates}
    return {key: share for key, share in shares.items() if share > 0}


def normalise(scores: Mapping[int, float], least_spread: float = 0.0) -> dict[int, float]:
    """Stretch the scores of one signal to 0..1, but no less a spread than one; where all are the same, each is 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    spread = max(high - low, least_spread)
    return {key: 1.0 - (high - score) / spread if spread > 0 else 1.0 for key, score in scores.items()}


def fuse(candidates: Sequence[Candidate], profile: Profile, words: Sequence[str] = ()) -> list[Ranked]:
    """Rank candidates, best first: blend their signals, add what is by or about the named, let neighbours lend.

    A signal that missed a candidate counts 0 for it, one that found nothing is left out and the rest carry its weight.
    Between equals the higher key, the newer version, comes first.
    """
    ordered = sorted(candidates, key=lambda one: one.key, reverse=True)
    legs = _legs(ordered, profile, words)
    total = sum(profile.weights[signal] for signal in legs)
    blended = {
        one.key: sum(
            profile.weights[signal] / total * (_by_rank(leg[one.key]) if profile.by_rank else leg[one.key].normalised)
            for signal, leg in legs.items()
            if one.key in leg
        )
        for one in ordered
    }
    about = {one.key: profile.about if one.scores.get(FIELDS) else 0.0 for one in ordered}
    # A question that names nobody known gives to nobody.
    so_far = {key: score + about[key] for key, score in blended.items()}
    lent = lend(ordered, so_far, profile.near)
    most = 1.0 + (profile.about if any(about.values()) else 0.0)
    most *= 1.0 + sum(profile.near)
    ranked = [
        Ranked(
            one,
            round(min(1.0, (so_far[one.key] + lent[one.key]) / most), 6),
            {signal: leg[one.key] for signal, leg in legs.items() if one.key in leg},
            blended[one.key],
            about[one.key],
            lent[one.key],
        )
        for one in ordered
    ]
    return sorted(ranked, key=lambda one: one.score, reverse=True)


def lend(candidates: Sequence[Candidate], scores: Mapping[int, float], shares: Sequence[float]) -> Mapping[int, float]:
    """What each candidate is lent: of the better one next to it the first share, of the better one beyond the second.

    What was said in no conversation is lent in proportion to its own score what the others are on the whole, so that
    where something was said is neither for nor against it.
    """
    if not shares:
        return {one.key: 0.0 for one in candidates}
    by_key = {one.key: one for one in candidates}
    lent: dict[int, float] = {}
    alone: list[int] = []
    for one in candidates:
        if one.before is None and one.after is None:
            alone.append(one.key)
            continue
        before: int | None = one.key
        after: int | None = one.key
        sum_lent = 0.0
        for share in shares:
            before = by_key[before].before if before in by_key else None
            after = by_key[after].after if after in by_key else None
            near = [scores[key] for key in (before, after) if key is not None and key in scores]
            sum_lent += share * max(near, default=0.0)
        lent[one.key] = sum_lent
    held = sum(scores[key] for key in lent)
    rate = sum(lent.values()) / held if held else 0.0
    return {**lent, **{key: min(rate, sum(shares)) * scores[key] for key in alone}}


def _legs(candidates: Sequence[Candidate], profile: Profile, words: Sequence[str]) -> dict[str, dict[int, Leg]]:
    legs: dict[str, dict[int, Leg]] = {}
    for signal in profile.weights:
        if signal == TERMS:
            raw = dict(covered(candidates, words))
        else:
            raw = {one.key: one.scores[signal] for one in candidates if signal in one.scores}
        if not raw:
            continue
        # A signal that did not find a candidate at all says zero: no more than the worst it did find.
        missed = {one.key: min(0.0, *raw.values()) for one in candidates if one.key not in raw}
        stretched = normalise({**missed, **raw}, LEAST_SPREAD.get(signal, 0.0))
        places = {key: place for place, key in enumerate(sorted(raw, key=lambda key: (-raw[key], -key)), 1)}
        legs[signal] = {key: Leg(raw[key], stretched[key], places[key]) for key in raw}
    return legs


def _by_rank(leg: Leg) -> float:
    return (RANK_OFFSET + 1) / (RANK_OFFSET + leg.rank)
