"""The laws of the sharing rule, on chains of memories that a machine makes up; no database."""

from __future__ import annotations

from functools import reduce
from operator import or_

from hypothesis import given
from hypothesis import strategies as st

from memories.access import WORDS, Explanation, Holding, Node, Privilege, audience, effective, explain

PRINCIPALS = ("member:ann", "member:ben", "group:sales", "group:everyone")

principals = st.sampled_from(PRINCIPALS)
callers = st.frozensets(principals)
privileges = st.integers(0, 15).map(Privilege)
holdings = st.builds(Holding, principals, privileges, st.text("0123456789", max_size=2))
some_holdings = st.lists(holdings, max_size=4).map(tuple)


@st.composite
def chains(draw: st.DrawFn, at_least: int = 1) -> list[Node]:
    """A memory, its parent, and so on to the root, each with a name of its own."""
    length = draw(st.integers(at_least, 5))
    return [Node(f"m{level}", draw(st.booleans()), draw(some_holdings)) for level in range(length)]


def changed(
    chain: list[Node], level: int, *, restricted: bool | None = None, more: tuple[Holding, ...] = ()
) -> list[Node]:
    """The chain with one memory restricted or opened, or with more holdings on it."""
    old = chain[level]
    new = Node(old.id, old.restricted if restricted is None else restricted, (*old.holdings, *more))
    return [*chain[:level], new, *chain[level + 1 :]]


def union(explanation: Explanation) -> Privilege:
    return reduce(or_, (source.holding.privileges for source in explanation.sources), Privilege.NONE)


@given(chains(), st.data(), callers, holdings)
def test_one_more_grant_never_takes_anything_away(
    chain: list[Node], data: st.DataObject, who: frozenset[str], more: Holding
) -> None:
    level = data.draw(st.integers(0, len(chain) - 1))
    before = effective(who, chain)
    assert before & effective(who, changed(chain, level, more=(more,))) == before


@given(chains(), callers, callers)
def test_two_sets_of_principals_together_hold_what_each_holds(
    chain: list[Node], one: frozenset[str], other: frozenset[str]
) -> None:
    assert effective(one | other, chain) == effective(one, chain) | effective(other, chain)


@given(chains(), st.data(), callers)
def test_restricting_never_gives(chain: list[Node], data: st.DataObject, who: frozenset[str]) -> None:
    level = data.draw(st.integers(0, len(chain) - 1))
    opened = effective(who, changed(chain, level, restricted=False))
    assert opened & effective(who, changed(chain, level, restricted=True)) == effective(
        who, changed(chain, level, restricted=True)
    )


@given(chains(at_least=2), st.data(), callers)
def test_nothing_above_a_restricted_memory_counts(chain: list[Node], data: st.DataObject, who: frozenset[str]) -> None:
    level = data.draw(st.integers(0, len(chain) - 2))
    cut = changed(chain, level, restricted=True)
    assert effective(who, cut) == effective(who, cut[: level + 1])


@given(chains(), callers)
def test_what_sits_on_a_restricted_memory_itself_counts(chain: list[Node], who: frozenset[str]) -> None:
    own = effective(who, [Node(chain[0].id, False, chain[0].holdings)])
    assert effective(who, changed(chain, 0, restricted=True)) == own


@given(chains(at_least=2), callers)
def test_an_open_child_is_never_less_reachable_than_its_parent(chain: list[Node], who: frozenset[str]) -> None:
    above = effective(who, chain[1:])
    assert above & effective(who, changed(chain, 0, restricted=False)) == above


@given(chains(), privileges)
def test_no_privilege_implies_another(chain: list[Node], some: Privilege) -> None:
    bare = [Node(node.id, node.restricted, ()) for node in chain]
    assert effective({"member:ann"}, changed(bare, 0, more=(Holding("member:ann", some),))) == some


@given(chains())
def test_nobody_holds_nothing(chain: list[Node]) -> None:
    assert effective((), chain) == Privilege.NONE
    assert effective({"member:unheard-of"}, chain) == Privilege.NONE


@given(callers)
def test_no_memory_holds_nothing(who: frozenset[str]) -> None:
    assert effective(who, []) == Privilege.NONE


@given(chains(), st.data(), callers, holdings)
def test_taking_back_undoes_giving(
    chain: list[Node], data: st.DataObject, who: frozenset[str], given_: Holding
) -> None:
    level = data.draw(st.integers(0, len(chain) - 1))
    with_it = changed(chain, level, more=(given_,))
    kept = with_it[level].holdings[:-1]
    without = [*with_it[:level], Node(with_it[level].id, with_it[level].restricted, kept), *with_it[level + 1 :]]
    assert explain(who, without) == explain(who, chain)


@given(chains(), callers)
def test_the_reasons_given_add_up_to_what_is_held(chain: list[Node], who: frozenset[str]) -> None:
    explanation = explain(who, chain)
    assert union(explanation) == explanation.privileges == effective(who, chain)


@given(chains(), callers)
def test_every_reason_is_a_holding_of_the_caller_at_or_below_the_cutoff(chain: list[Node], who: frozenset[str]) -> None:
    explanation = explain(who, chain)
    first_cut = next((level for level, node in enumerate(chain) if node.restricted), len(chain) - 1)
    counted = {node.id: node.holdings for node in chain[: first_cut + 1]}
    assert all(source.holding.principal in who for source in explanation.sources)
    assert all(source.holding in counted[source.memory_id] for source in explanation.sources)


@given(chains(), callers)
def test_the_cutoff_named_is_the_first_restricted_memory(chain: list[Node], who: frozenset[str]) -> None:
    restricted = [node.id for node in chain if node.restricted]
    assert explain(who, chain).cutoff == (restricted[0] if restricted else None)


@given(chains(), st.lists(callers, max_size=4))
def test_the_audience_is_exactly_those_who_hold_something(chain: list[Node], people: list[frozenset[str]]) -> None:
    named = [(f"person{number}", who) for number, who in enumerate(people)]
    held = {name: effective(who, chain) for name, who in named}
    assert audience(chain, named) == {name: some for name, some in held.items() if some}


@given(privileges)
def test_words_and_sets_say_the_same(some: Privilege) -> None:
    assert Privilege.from_words(some.words) == some
    assert [word for word in WORDS if word in some.words] == some.words
