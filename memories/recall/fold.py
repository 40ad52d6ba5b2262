"""Folding near-identical records: the second of two gives its place to what says something else. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

WORD = re.compile(r"\w+")
# Of so many words one may differ.
ONE_IN = 20


@dataclass(frozen=True)
class Print:
    """What is compared of a record: its words in order, those among them that may not differ, and what else may not."""

    words: tuple[str, ...]
    fixed: tuple[str, ...]
    kind: str = ""

    @cached_property
    def counted(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(self.words)


@dataclass(frozen=True)
class Kept:
    """The place in a ranking of what is shown, and the places of those alike that stand behind it unseen."""

    place: int
    behind: tuple[int, ...] = ()


def print_of(text: str, kind: str = "") -> Print:
    """The words of a text whatever its case and punctuation; numbers and what is written large are fixed."""
    words = WORD.findall(text)
    telling = tuple(word.casefold() for word in words if _is_fixed(word))
    return Print(tuple(word.casefold() for word in words), telling, kind)


def alike(one: Print, other: Print) -> bool:
    """Whether two texts say the same, but for one word in twenty that is neither a number nor a name.

    Texts without words are like no other.
    """
    if one.kind != other.kind:
        return False
    if one.words == other.words:
        return bool(one.words)
    longer = max(len(one.words), len(other.words))
    allowed = longer // ONE_IN
    if not allowed or one.fixed != other.fixed or abs(len(one.words) - len(other.words)) > allowed:
        return False
    had, has = one.counted, other.counted
    # Most texts have next to no words in common, and comparing which there are is cheaper than how often.
    if len(had.keys() ^ has.keys()) > 2 * allowed:
        return False
    return max((had - has).total(), (has - had).total()) <= allowed


def groups(prints: Sequence[Print]) -> list[list[int]]:
    """The places of a ranking, best first, each with those further down that are like it."""
    found: list[list[int]] = []
    for place, printed in enumerate(prints):
        near = next((group for group in found if alike(prints[group[0]], printed)), None)
        if near is None:
            found.append([place])
        else:
            near.append(place)
    return found


def fold(found: Sequence[Sequence[int]], limit: int) -> list[Kept]:
    """What is shown of a ranking: the best of each group; those behind them only in places that nothing else takes."""
    shown = found[:limit]
    repeated = sorted(place for group in shown for place in group[1:])
    filling = set(repeated[: limit - len(shown)])
    kept = [Kept(group[0], tuple(place for place in group[1:] if place not in filling)) for group in shown]
    return sorted([*kept, *map(Kept, filling)], key=lambda one: one.place)


def _is_fixed(word: str) -> bool:
    return word != word.lower() or (not word.isalpha() and any(sign.isdigit() for sign in word))
