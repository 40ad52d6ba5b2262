"""How good a ranking is. Ids are compared as they are; an id that a ranking repeats counts where it first stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil, log2


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
