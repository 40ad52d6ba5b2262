"""What a memory asks of a review: its own, or as the memories above have it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from members.models import Event, Member
from memories.models import Memory
from memories.services import policies
from memories.signals.base import Signal
from memories.signals.policy import Mode, Outcome, Policy, Rule, Written, read_rules
from tests import factories
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid

WRITERS = st.sampled_from(["human", "agent", "provider"])
MODES = st.sampled_from(list(Mode))


def fresh(memory: Memory) -> Policy:
    return policies.policy_of(Memory.objects.get(pk=memory.pk))


@pytest.mark.django_db
def test_what_nobody_has_set_is_flag(shared: Memory) -> None:
    assert fresh(shared) == Policy(Mode.FLAG, (), None)


@pytest.mark.django_db
def test_the_nearest_memory_that_sets_something_decides_and_each_setting_by_itself(alice: Member) -> None:
    top = factories.memory(alice)
    middle = factories.memory(alice, top)
    low = factories.memory(alice, middle)
    policies.change(at(alice, top), mode="hold", accept_after_days=7)
    policies.change(at(alice, middle), mode="off")
    assert (fresh(low).mode, fresh(low).accept_after_days) == (Mode.OFF, 7)
    policies.change(at(alice, middle), mode=None)
    assert fresh(low).mode == Mode.HOLD
    policies.change(at(alice, low), accept_after_days=0)
    assert fresh(low).accept_after_days is None


@pytest.mark.django_db
def test_a_control_above_reaches_into_a_closed_branch_whose_members_are_told_that_it_does_and_not_from_where(
    alice: Member, bob: Member, shared: Memory
) -> None:
    policies.change(at(alice, shared), mode="hold")
    closed = factories.memory(alice, shared, restricted=True)
    stranger = factories.member(alice.organisation)
    factories.grant(alice, closed, stranger, "read", "delete")
    assert fresh(closed).mode == Mode.HOLD
    theirs = policies.shown(at(stranger, closed))["mode"]
    assert (theirs.value, theirs.own, theirs.source, theirs.hidden) == ("hold", False, None, True)
    hers = policies.shown(at(alice, closed))["mode"]
    assert hers.source == shared
    assert not hers.hidden


@pytest.mark.django_db
def test_a_policy_costs_one_query_however_deep_the_tree_and_none_when_asked_again(alice: Member) -> None:
    memory = factories.memory(alice)
    for _ in range(5):
        policies.change(at(alice, memory), mode="flag")
        memory = factories.memory(alice, memory)
    asked = Memory.objects.get(pk=memory.pk)
    with CaptureQueriesContext(connection) as queries:
        policies.policy_of(asked)
        policies.policy_of(asked)
    assert len(queries) == 1


@pytest.mark.django_db
def test_only_a_holder_of_delete_sets_a_policy_and_it_is_an_event(alice: Member, bob: Member, shared: Memory) -> None:
    with pytest.raises(MemoryForbidden):
        policies.change(at(bob, shared), mode="off")
    policies.change(at(alice, shared), mode="hold")
    assert Event.objects.get(action="review.policy_changed").detail["mode"] == "hold"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"mode": "sometimes"}, "mode"),
        ({"accept_after_days": 9999}, "accept_after_days"),
        ({"accept_after_days": True}, "accept_after_days"),
        ({"rules": {}}, "rules"),
        ({"rules": [{"then": "hold", "if": {}}]}, "rules.0"),
        ({"rules": [{"when": {}, "then": "maybe"}]}, "rules.0.then"),
        ({"rules": [{"when": {"mood": 1}, "then": "off"}]}, "rules.0.when.mood"),
        ({"rules": [{"when": {"writer": ["nobody"]}, "then": "off"}]}, "rules.0.when.writer"),
        ({"rules": [{"when": {"signals": []}, "then": "off"}]}, "rules.0.when.signals"),
        ({"rules": [{"when": {"confidence_below": 2}, "then": "off"}]}, "rules.0.when.confidence_below"),
        ({"rules": [{"when": {"standing": "yes"}, "then": "off"}]}, "rules.0.when.standing"),
    ],
)
def test_a_wrong_policy_is_refused_by_its_field(alice: Member, shared: Memory, given: Any, param: str) -> None:
    with pytest.raises(MemoryInvalid) as refusal:
        policies.change(at(alice, shared), **given)
    assert refusal.value.param == param


@given(WRITERS)
def test_by_mode_alone_hold_holds_everybody_flag_flags_agents_and_providers_and_off_nobody(writer: str) -> None:
    written = Written(writer, "member:1", "fact")
    assert Policy(Mode.HOLD).decide(written) == Outcome.HOLD
    assert Policy(Mode.OFF).decide(written) == Outcome.LIVE
    assert Policy(Mode.FLAG).decide(written) == (Outcome.LIVE if writer == "human" else Outcome.FLAG)


@given(MODES, MODES, WRITERS)
def test_the_first_rule_that_fits_decides(first: Mode, second: Mode, writer: str) -> None:
    rules = (Rule(first, writer=(writer,)), Rule(second))
    expected = Outcome.LIVE if first == Mode.OFF else Outcome(first.value)
    assert Policy(Mode.FLAG, rules).decide(Written(writer, "member:1", "fact")) == expected


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ({"writer": "member:7"}, True),
        ({"writer": ["human"]}, False),
        ({"type": ["procedure"]}, True),
        ({"type": "fact"}, False),
        ({"standing": True}, True),
        ({"standing": False}, False),
        ({"confidence_below": 0.5}, True),
        ({"confidence_below": 0.3}, False),
        ({"signals": ["secret"]}, True),
        ({"signals": ["secret.jwt"]}, False),
        ({"signals": ["secret"], "weight": 0.95}, False),
        ({"writer": "agent", "type": "procedure", "standing": True}, True),
        ({}, True),
    ],
)
def test_a_rule_fits_when_all_of_its_conditions_are_met(when: dict[str, Any], fits: bool) -> None:
    signals = (Signal("secret.assigned", 0.8, "It has a password."),)
    written = Written("agent", "member:7", "procedure", standing=True, confidence=0.4, signals=signals)
    [rule] = read_rules([{"when": when, "then": "hold"}])
    assert rule.fits(written) is fits
