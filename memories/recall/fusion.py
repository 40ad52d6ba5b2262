"""Fusing what several signals found into one ranking; pure.

Scores are normalised over the candidates of one question and blended. Fusing ranks instead was measured to lower a
good signal whenever a weak one stood beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

# How much each signal counts; what a question does not use is left out and the rest carries the whole weight.
WEIGHTS: Mapping[str, float] = {"meaning": 0.5, "words": 0.5, "text": 0.5}


@dataclass(frozen=True)
class Ranked(Generic[T]):
    """An item with its blended score, 0 (worst candidate) to 1 (best by every signal)."""

    item: T
    score: float


def normalise(scores: Mapping[int, float]) -> dict[int, float]:
    """Stretch the scores of one signal to 0..1; where all are the same, each is 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    spread = high - low
    return {key: (score - low) / spread if spread else 1.0 for key, score in scores.items()}


def fuse(
    candidates: Sequence[tuple[T, Mapping[str, float]]], weights: Mapping[str, float] = WEIGHTS
) -> list[Ranked[T]]:
    """Rank candidates by the weighted mean of their normalised scores; a signal that missed one counts 0 for it.

    The order of the candidates decides between equals, so pass them in a stable order.
    """
    signals = [signal for signal in weights if any(signal in scores for _, scores in candidates)]
    total = sum(weights[signal] for signal in signals)
    if not total:
        return [Ranked(item, 0.0) for item, _ in candidates]
    blended = [0.0] * len(candidates)
    for signal in signals:
        # A signal that did not find a candidate at all says zero: below the worst it did find.
        found = {index: scores[signal] for index, (_, scores) in enumerate(candidates) if signal in scores}
        floor = {index: 0.0 for index in range(len(candidates)) if index not in found}
        for index, score in normalise({**floor, **found}).items():
            blended[index] += weights[signal] / total * score
    ranked = [Ranked(item, round(score, 6)) for (item, _), score in zip(candidates, blended, strict=True)]
    return sorted(ranked, key=lambda one: one.score, reverse=True)
