"""How a recall weighs what it finds: every number of the ranking, frozen, under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

DEFAULT = "default"
# What a recall without a part is called: to see what the part is worth.
WITHOUT = "without_"


@dataclass(frozen=True)
class Profile:
    """The settings of one way to rank.

    `weights` says how much each signal counts, over those that a question uses; `about` what being by or about whom
    the question names adds; `near` what the better of the two turns next to an episode lends it, then of the two after
    those. `depth` is how many candidates each signal brings at least. With `by_rank`, ranks are fused, not scores.
    """

    name: str
    weights: Mapping[str, float]
    about: float = 0.0
    near: tuple[float, ...] = ()
    names: bool = True
    by_rank: bool = False
    depth: int = 100
    fold: bool = True
    legs: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        # The words bring candidates, whichever way these are weighed.
        legs = {*self.weights, *(["words"] if "terms" in self.weights else [])}
        legs |= {leg for leg, used in (("fields", self.about), ("neighbours", self.near)) if used}
        object.__setattr__(self, "legs", frozenset(legs))


# Chosen on one half of a set of long conversations and measured on the other (docs/operations.md).
RANKING = Profile(
    DEFAULT,
    weights={"meaning": 0.2, "context": 0.25, "terms": 0.3, "text": 0.5},
    about=0.4,
    near=(0.45, 0.2),
)
SINGLE = {
    "words": Profile("words", {"words": 1.0, "text": 1.0}, names=False),
    "meaning": Profile("meaning", {"meaning": 1.0, "text": 1.0}),
    "rank_fusion": Profile("rank_fusion", {"meaning": 1.0, "words": 1.0, "text": 1.0}, names=False, by_rank=True),
}


def _lacking(*signals: str) -> Profile:
    return replace(RANKING, weights={name: weight for name, weight in RANKING.weights.items() if name not in signals})


PARTS = {
    "meaning": _lacking("meaning"),
    "context": _lacking("context"),
    "vectors": _lacking("meaning", "context"),
    "words": _lacking("terms"),
    "fields": replace(RANKING, about=0.0),
    "names": replace(RANKING, names=False),
    "neighbours": replace(RANKING, near=()),
}
PROFILES: Mapping[str, Profile] = {
    DEFAULT: RANKING,
    **SINGLE,
    **{f"{WITHOUT}{part}": replace(profile, name=f"{WITHOUT}{part}") for part, profile in PARTS.items()},
}
