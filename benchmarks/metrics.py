"""How good a ranking is. Ids are compared as they are; an id that a ranking repeats counts where it first stands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from math import ceil, log2
from random import Random


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of the gold ids among the first k places, 0 to 1. Raises ValueError without gold ids."""
    wanted = _wanted(gold)
    return len(wanted.intersection(_distinct(ranking)[:k])) / len(wanted)


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return 1 / the place of the first gold id, or 0 when there is none. Raises ValueError without gold ids."""
    wanted = _wanted(gold)
    return next((1 / place for place, item in enumerate(_distinct(ranking), 1) if item in wanted), 0.0)


def ndcg_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the discounted gain of the first k places over the best possible. Raises ValueError without gold ids."""
    wanted = _wanted(gold)
    gain = sum(1 / log2(place + 1) for place, item in enumerate(_distinct(ranking)[:k], 1) if item in wanted)
    return gain / sum(1 / log2(place + 1) for place in range(1, min(k, len(wanted)) + 1))


def mean(values: Collection[float]) -> float:
    """Return the mean, 0 for no values."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Collection[float], percent: float) -> float:
    """Return the smallest value that at least so many percent do not exceed (nearest rank), 0 for no values."""
    ordered = sorted(values)
    return ordered[max(1, ceil(percent / 100 * len(ordered))) - 1] if ordered else 0.0


def _distinct(ranking: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ranking))


def _wanted(gold: Collection[str]) -> set[str]:
    if not gold:
        raise ValueError("a ranking can only be judged against at least one gold id")
    return set(gold)


def interval(values: Sequence[float], seed: int = 7, times: int = 1000) -> tuple[float, float]:
    """Return where the mean lies in 95 of 100 samples drawn from these values with replacement; 0, 0 for no values."""
    if not values:
        return 0.0, 0.0
    random = Random(seed)
    means = sorted(mean(random.choices(values, k=len(values))) for _ in range(times))
    return means[int(times * 0.025)], means[int(times * 0.975) - 1]


def area(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Return how often one of the positives scores higher than one of the negatives, ties half (AUROC); 0 for none."""
    if not positives or not negatives:
        return 0.0
    ordered = sorted(negatives)
    wins = sum((bisect_left(ordered, one) + bisect_right(ordered, one)) / 2 for one in positives)
    return wins / (len(positives) * len(negatives))


def caught(positives: Sequence[float], negatives: Sequence[float], false: float) -> float:
    """Return the share of negatives below the threshold under which at most that share of the positives lies."""
    if not positives or not negatives:
        return 0.0
    threshold = sorted(positives)[int(false * len(positives))]
    return sum(one < threshold for one in negatives) / len(negatives)
