"""A branch of any size, laid out so that what is held on a memory reaches one run of places. Pure.

What a grant reaches is the memory it sits on and what is open below it (`memories.access`). Cut at its closed memories,
a branch falls into trees in which everything is open; numbered tree by tree, parents before what is below them and
each with all of that right behind it, what a grant reaches is a run. So what somebody holds on ten thousand memories
follows from their few grants, without looking at the memories one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from .access import Privilege

# From the first place to the one behind the last, and the privileges that are held there.
Run = tuple[int, int, int]
SETS = int(Privilege.ALL) + 1


class Layout:
    """The places of a branch: `parents` says of every memory the number of the one above it, which comes before it.

    The first is the one on top; whether it is closed itself does not matter to what is below.
    """

    def __init__(self, parents: Sequence[int], closed: Sequence[bool]) -> None:
        count = len(parents)
        sizes = [1] * count
        for number in range(count - 1, 0, -1):
            if not closed[number]:
                sizes[parents[number]] += sizes[number]
        self.open = sizes[0]
        """How many memories are open from the top, itself included: they have the first places."""
        self.place = [0] * count
        free, following = sizes[0], [1] * count
        for number in range(1, count):
            if closed[number]:
                self.place[number], free = free, free + sizes[number]
            else:
                parent = parents[number]
                self.place[number] = following[parent]
                following[parent] += sizes[number]
            following[number] = self.place[number] + 1
        self.sizes = sizes

    def run(self, number: int, privileges: int) -> Run:
        """Where something comes through that is held on a memory."""
        place = self.place[number]
        return place, place + self.sizes[number], privileges


def lean(runs: Iterable[Run]) -> list[Run]:
    """Runs in order, without those that add nothing to what is held there by the ones around them."""
    kept: list[Run] = []
    around: list[tuple[int, int]] = []
    for run in sorted(runs):
        start, end, privileges = run
        while around and around[-1][0] <= start:
            around.pop()
        above = around[-1][1] if around else 0
        if union := privileges & ~above:
            kept.append(run)
            around.append((end, above | union))
    return kept


class Weights:
    """How many of some memories lie in a run; without any marks every memory counts."""

    def __init__(self, count: int, marked: Sequence[Run] | None = None) -> None:
        if marked is None:
            self.before: Sequence[int] = range(count + 1)
        else:
            self.before = list(accumulate(map(bool, spread_out(count, marked)), initial=0))

    def of(self, start: int, end: int) -> int:
        """How many of the places from one up to another."""
        return self.before[end] - self.before[start]


def spread_out(count: int, runs: Iterable[Run]) -> list[int]:
    """How many runs every place lies in."""
    steps = [0] * (count + 1)
    for start, end, _ in runs:
        steps[start] += 1
        steps[end] -= 1
    return list(accumulate(steps))[:count]


@dataclass
class Spread:
    """What one member holds by what sits below the top: how many memories by set of privileges, and the runs where
    that makes up for everything in `needed`."""

    counts: list[int]
    enough: list[Run] = field(default_factory=list)


def spread(runs: Sequence[Run], count: int, weights: Weights, needed: int = 0) -> Spread:
    """What these runs, in the order of `lean`, come to on the first so many places."""
    counts = [0] * SETS
    counts[0] = weights.of(0, count)
    found = Spread(counts)
    around: list[tuple[int, int]] = []
    for start, end, privileges in runs:
        if start >= count:
            break
        while around and around[-1][0] <= start:
            around.pop()
        above = around[-1][1] if around else 0
        union = above | privileges
        if union == above:
            continue
        size = weights.of(start, end)
        counts[above] -= size
        counts[union] += size
        if needed & above != needed and needed & union == needed:
            found.enough.append((start, end, union))
        around.append((end, union))
    return found


class ForSomebody:
    """Where something is so for at least one of many: each is so everywhere but in some runs."""

    def __init__(self) -> None:
        self.many = 0
        self._spared: list[Run] = []

    def add(self, spared: Sequence[Run]) -> None:
        """One more, for whom it is so but in these runs, which do not overlap."""
        self.many += 1
        self._spared.extend(spared)

    def places(self, count: int) -> Sequence[int]:
        """The places, of so many, where it is so for somebody."""
        if not self.many:
            return ()
        spared = spread_out(count, self._spared)
        return [place for place, times in enumerate(spared) if times < self.many]


def by_principal(held: Iterable[tuple[str, int, int]], layout: Layout) -> dict[str, list[Run]]:
    """The runs of every principal, from (principal, number of the memory, privileges)."""
    runs: defaultdict[str, list[Run]] = defaultdict(list)
    for principal, number, privileges in held:
        runs[principal].append(layout.run(number, privileges))
    return {principal: lean(some) for principal, some in runs.items()}
