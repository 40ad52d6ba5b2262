"""The laws of why and why not, on chains that a machine makes up: what is named is the cause, and the only one."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memories import access
from memories.access import WORDS, Cause, Node, Privilege, Tally, Verdict, effective, flow, judge
from tests.access.test_laws import callers, chains, privileges

single = st.sampled_from(list(WORDS.values()))
hindrances = st.sampled_from([None, Cause.DEACTIVATED, Cause.NO_KEY])


def without(chain: list[Node], verdict: Verdict) -> list[Node]:
    """The chain without the sources that a verdict names."""
    named = {(source.memory_id, source.holding) for source in verdict.sources}
    return [
        replace(node, holdings=tuple(one for one in node.holdings if (node.id, one) not in named)) for node in chain
    ]


@given(chains(), callers, single, hindrances)
def test_a_yes_is_what_the_rule_says_of_somebody_who_can_act(
    chain: list[Node], who: frozenset[str], privilege: Privilege, hindered: Cause | None
) -> None:
    verdict = judge(who, chain, privilege, hindered)
    assert verdict.yes == (hindered is None and privilege in effective(who, chain))
    assert (verdict.cause is None) == verdict.yes


@settings(max_examples=300)
@given(chains(), callers, single)
def test_without_what_a_yes_names_it_is_a_no(chain: list[Node], who: frozenset[str], privilege: Privilege) -> None:
    verdict = judge(who, chain, privilege)
    assume(verdict.yes)
    assert verdict.sources
    assert not judge(who, without(chain, verdict), privilege).yes


@settings(max_examples=300)
@given(chains(), callers, single, hindrances)
def test_without_the_cause_of_a_no_it_is_a_yes(
    chain: list[Node], who: frozenset[str], privilege: Privilege, hindered: Cause | None
) -> None:
    verdict = judge(who, chain, privilege, hindered)
    assume(not verdict.yes)
    if verdict.cause in {Cause.DEACTIVATED, Cause.NO_KEY}:
        assert judge(who, chain, privilege).yes
    elif verdict.cause is Cause.CUT_OFF:
        assert verdict.cutoffs
        opened = [replace(node, restricted=node.restricted and node.id not in verdict.cutoffs) for node in chain]
        assert judge(who, opened, privilege).yes
    elif verdict.cause is Cause.NOT_IN_GROUP:
        for source in verdict.sources:
            assert judge(who | {source.holding.principal}, chain, privilege).yes
    else:
        # Whatever is opened and joined, there is no grant that would count.
        groups = {one.principal for node in chain for one in node.holdings if one.principal.startswith("group:")}
        reached = chain[: next((level for level, node in enumerate(chain) if node.restricted), len(chain)) + 1]
        assert not judge(who | groups, reached, privilege).yes
        assert not judge(who, [replace(node, restricted=False) for node in chain], privilege).yes


@given(chains(), callers, single)
def test_each_cutoff_that_is_named_stops_it_alone(chain: list[Node], who: frozenset[str], privilege: Privilege) -> None:
    verdict = judge(who, chain, privilege)
    for kept in verdict.cutoffs if verdict.cause is Cause.CUT_OFF else ():
        others = [replace(node, restricted=node.restricted and node.id == kept) for node in chain]
        assert not judge(who, others, privilege).yes


@given(chains(), callers)
def test_level_by_level_it_is_the_same_rule(chain: list[Node], who: frozenset[str]) -> None:
    assert reduce(lambda above, node: flow(above, who, node), reversed(chain), Privilege.NONE) == effective(who, chain)


@given(st.lists(st.tuples(privileges, privileges)))
def test_a_tally_counts_each_change_as_what_it_is(changes: list[tuple[Privilege, Privilege]]) -> None:
    tally = Tally()
    for before, after in changes:
        tally.count(before, after)
    assert tally.loses == sum(bool(before) and not after for before, after in changes)
    assert tally.gains == sum(bool(after) and not before for before, after in changes)
    kept = [(before, after) for before, after in changes if before and after]
    assert tally.narrows == sum(bool(before & ~after) for before, after in kept)
    assert tally.widens == sum(bool(after & ~before) for before, after in kept)
    assert tally.changed == any(before != after for before, after in changes)


@pytest.mark.parametrize("law", [test_without_what_a_yes_names_it_is_a_no, test_without_the_cause_of_a_no_it_is_a_yes])
def test_a_law_notices_a_verdict_that_names_only_the_nearest_source(
    law: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nearest_only(*asked: object) -> Verdict:
        found = access.judge(*asked)  # type: ignore[arg-type]
        return replace(found, sources=found.sources[:1], cutoffs=found.cutoffs[:1], cause=found.cause)

    monkeypatch.setitem(globals(), "judge", nearest_only)
    assert callable(law)
    with pytest.raises(AssertionError):
        law()
