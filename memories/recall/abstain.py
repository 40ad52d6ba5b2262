"""Saying that one does not know: whether the candidates look as they do where a question has an answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean, pstdev

from memories.providers.base import Candidate

from .fusion import covered, rarity

MEANING = "meaning"
# How many candidates are judged: about as many as a question for few results has.
JUDGED = 400
NOTHING, EVIDENCE, STRANGER, WORDS = "nothing_found", "weak_evidence", "unknown_name", "no_word_known"


@dataclass(frozen=True)
class Calibration:
    """A logistic regression over the evidence, for the vectors of one model.

    `threshold` is the probability of an answer below which a recall abstains; about one in twenty questions that had
    an answer fell below it (docs/operations.md).
    """

    weights: Mapping[str, float]
    intercept: float
    threshold: float


@dataclass(frozen=True)
class Evidence:
    """What speaks for an answer: how it was decided, and by which figures."""

    abstain: bool
    reason: str = ""
    probability: float | None = None
    threshold: float | None = None
    figures: Mapping[str, float] | None = None


CALIBRATED: Mapping[str, Calibration] = {
    "all-MiniLM-L6-v2-int8-mean-256": Calibration(
        weights={
            "best": 1.296,
            "above": 1.589,
            "spread": 3.704,
            "likeness": 3.392,
            "typical": 2.331,
            "unknown": -0.916,
            "length": 0.14,
        },
        intercept=-5.713,
        threshold=0.16,
    )
}


def figures(candidates: Sequence[Candidate], words: Sequence[str]) -> dict[str, float]:
    """What the decision rests on: likeness of meaning and share of the question's telling words, of the best and all.

    `best` is the most that one candidate has of both; `above` how far that is from the mean, `spread` how far apart
    they lie; `likeness` and `typical` the greatest and the mean likeness; `unknown` the share that nothing has of the
    telling words, `length` how many words there are.
    """
    shares = covered(candidates, words)

    def together(one: Candidate) -> float:
        return one.scores.get(MEANING, 0.0) + _in_context(one) + shares.get(one.key, 0.0)

    judged = sorted(candidates, key=together, reverse=True)[:JUDGED]
    own = [one.scores.get(MEANING, 0.0) for one in judged]
    context = [_in_context(one) for one in judged]
    sums = [together(one) for one in judged]
    tells = rarity(candidates, words)
    known = frozenset().union(*(one.matched for one in candidates))
    unknown = sum(tells[word] for word in words if word not in known)
    return {
        "best": max(sums),
        "above": max(sums) - fmean(sums),
        "spread": pstdev(sums),
        "likeness": max(*own, *context),
        "typical": fmean(own),
        "unknown": unknown / sum(tells.values()) if tells else 0.0,
        "length": float(min(len(words), 20)),
    }


def _in_context(one: Candidate) -> float:
    return one.scores.get("context", one.scores.get(MEANING, 0.0))


def decide(
    candidates: Sequence[Candidate],
    words: Sequence[str],
    model: str,
    strangers: Collection[str] = (),
    *,
    asked: bool = True,
) -> Evidence:
    """Whether nothing that was found answers. `strangers` are names in the question that occur nowhere it may look.

    Words asked for by themselves are found or not: `asked` says that there is a question, too. Without figures for a
    model, only a question of which no word is known is declined.
    """
    if not candidates:
        return Evidence(True, NOTHING)
    if not asked:
        return Evidence(False)
    if strangers:
        return Evidence(True, STRANGER)
    seen = figures(candidates, words)
    calibration = CALIBRATED.get(model)
    if calibration is None:
        return Evidence(
            bool(words) and seen["unknown"] >= 1.0, WORDS if words and seen["unknown"] >= 1.0 else "", None, None, seen
        )
    score = calibration.intercept + sum(weight * seen[name] for name, weight in calibration.weights.items())
    probability = 1 / (1 + exp(-score))
    weak = probability < calibration.threshold
    return Evidence(weak, EVIDENCE if weak else "", round(probability, 4), calibration.threshold, seen)
