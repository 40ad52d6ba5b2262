"""What is held in a branch, counted by runs of places, is what the rule says memory by memory; no database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from memories.access import Holding, Node, Privilege, effective, held_by_each
from memories.branch import ForSomebody, Layout, Run, Weights, by_principal, spread, spread_out
from tests.access.test_laws import PRINCIPALS, chains, privileges

ALL = int(Privilege.ALL)
callers = st.frozensets(st.sampled_from(PRINCIPALS))
sets = privileges.map(int)


@dataclass(frozen=True)
class Tree:
    """A branch: the number of every memory's parent, whether it is closed, and (principal, number, privileges)."""

    parents: Sequence[int]
    closed: Sequence[bool]
    held: Sequence[tuple[str, int, int]]

    def upward(self, number: int) -> list[int]:
        """The memory, its parent, and so on to the top."""
        return [number, *(self.upward(self.parents[number]) if number else [])]

    def nodes(self, number: int, on_top: Sequence[Holding] = ()) -> list[Node]:
        """The same as the rule wants it; the one on top may hold more."""
        return [
            Node(
                str(one),
                self.closed[one] and one > 0,
                (
                    *(Holding(principal, Privilege(bits)) for principal, at, bits in self.held if at == one),
                    *(on_top if one == 0 else ()),
                ),
            )
            for one in self.upward(number)
        ]

    def runs(self, who: frozenset[str]) -> list[Run]:
        """Where these principals hold something, in the order that `spread` wants."""
        by = by_principal(self.held, self.layout)
        return sorted(run for one in who for run in by.get(one, ()))

    @property
    def layout(self) -> Layout:
        return Layout(self.parents, self.closed)

    @property
    def open(self) -> set[int]:
        """The memories that are open from the top."""
        return {one for one in range(len(self.parents)) if not any(self.closed[up] for up in self.upward(one)[:-1])}


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    size = draw(st.integers(1, 14))
    parents = [0, *(draw(st.integers(0, number - 1)) for number in range(1, size))]
    closed = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    holding = st.tuples(st.sampled_from(PRINCIPALS), st.integers(0, size - 1), st.integers(1, ALL))
    below = [one for one in draw(st.lists(holding, max_size=12)) if one[1]]
    return Tree(parents, closed, below)


def places(tree: Tree, numbers: set[int]) -> set[int]:
    return {tree.layout.place[one] for one in numbers}


@given(trees())
def test_every_memory_has_a_place_and_the_open_ones_the_first(tree: Tree) -> None:
    assert sorted(tree.layout.place) == list(range(len(tree.parents)))
    assert places(tree, tree.open) == set(range(tree.layout.open))


@given(trees(), callers, callers)
def test_what_is_held_is_what_the_rule_says(tree: Tree, who: frozenset[str], watcher: frozenset[str]) -> None:
    count = len(tree.parents)
    seen = [one for one in range(count) if effective(watcher, tree.nodes(one))]
    weights = Weights(count, tree.runs(watcher))
    found = spread(tree.runs(who), count, weights)
    assert found.counts == [
        Counter(int(effective(who, tree.nodes(one))) for one in seen)[bits] for bits in range(ALL + 1)
    ]


@given(trees(), callers, sets, sets)
def test_what_changes_on_top_changes_below_as_the_rule_says(
    tree: Tree, who: frozenset[str], before: int, after: int
) -> None:
    layout, changes = tree.layout, Counter[tuple[int, int]]()
    on_top = {bits: (Holding("member:self", Privilege(bits)),) for bits in (before, after)}
    for one in tree.open:
        was, becomes = (effective(who | {"member:self"}, tree.nodes(one, on_top[bits])) for bits in (before, after))
        changes[int(was), int(becomes)] += 1
    found = spread(tree.runs(who), layout.open, Weights(len(tree.parents)), needed=before ^ after)
    counted = Counter[tuple[int, int]]()
    for below, times in enumerate(found.counts):
        counted[before | below, after | below] += times
    assert +counted == +changes


@given(trees(), st.lists(st.tuples(callers, sets, sets), max_size=4))
def test_what_changes_for_somebody_is_what_changes_for_one_of_them(
    tree: Tree, people: list[tuple[frozenset[str], int, int]]
) -> None:
    layout, somebody, expected = tree.layout, ForSomebody(), set[int]()
    for who, before, after in people:
        if before == after:
            continue
        found = spread(tree.runs(who), layout.open, Weights(len(tree.parents)), needed=before ^ after)
        somebody.add(found.enough)
        for one in tree.open:
            below = int(effective(who, tree.nodes(one)))
            if before | below != after | below:
                expected.add(layout.place[one])
    assert set(somebody.places(layout.open)) == expected


@given(trees(), callers)
def test_a_place_lies_in_a_run_when_something_is_held_there(tree: Tree, who: frozenset[str]) -> None:
    spread_ = spread_out(len(tree.parents), tree.runs(who))
    for one in range(len(tree.parents)):
        assert bool(spread_[tree.layout.place[one]]) == bool(effective(who, tree.nodes(one)))


@given(chains(), callers)
def test_several_hold_together_what_each_holds(chain: list[Node], who: frozenset[str]) -> None:
    each = held_by_each(chain)
    together = Privilege.NONE
    for one in who:
        together |= each.get(one, Privilege.NONE)
    assert together == effective(who, chain)
