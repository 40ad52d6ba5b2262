"""Looking through a run: accepting its changes, one decision with the inbox, what waits, and when a run asks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from members.models import Event, Member
from memories.models import Held, Memory, ReviewItem, Run, RunChange, Version
from memories.services import accepting, judging, policies, records, reverting, reviewing, run_asking, undoing
from tests import factories
from tests.conftest import Api
from tests.factories import at
from tests.memories.plain_engine import consolidate, derived
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound, VersionConflict

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain")]


def change(run: Run, said: str) -> RunChange:
    record = Version.objects.filter(memory_id=run.memory_id, content=[{"type": "text", "text": said}]).first()
    assert record is not None
    return RunChange.objects.get(run=run, record_id=record.record_id)


def items(memory: Memory, **about: object) -> list[str]:
    found = ReviewItem.objects.filter(memory=memory, **about).exclude(type="episode")
    return sorted(found.values_list("state", flat=True))


def decide(who: Member, kind: str = "new") -> tuple[str, str]:
    [item] = [one for one in reviewing.inbox(factories.caller(who)).items if one.kind == kind and one.type != "episode"]
    return item.id, reviewing.find(factories.caller(who), item.id).fingerprint


def test_an_accepted_change_says_who_and_when_and_stays_when_the_rest_is_undone(
    api: Api, alice: Member, agent: Member, shared: Memory
) -> None:
    run = consolidate(agent, shared, "fact: Tea.", "fact: Oak.", "fact: Ash.")
    assert accepting.accept(at(alice, shared), run.id, [change(run, "Oak.").id]) == accepting.Accepted(1, 0)
    accepted = change(run, "Oak.")
    assert accepted.accepted_by == f"member:{alice.id}"
    assert accepted.accepted_at is not None
    assert accepting.progress([run])[run.id] == accepting.Progress(3, 1)
    planned = {step.record_id for step in reverting.steps(at(alice, shared), run.id, rest=True)}
    assert planned == {change(run, one).record_id for one in ("Tea.", "Ash.")}
    reverting.revert(at(alice, shared), run.id, rest=True)
    assert derived(shared) == {"Oak."}
    shown = api.get(f"/v1/memories/{shared.id}/consolidations/{run.id}/changes", alice)["data"]
    assert {one["x_change"]["accepted_by"] for one in shown} == {"", f"member:{alice.id}"}
    reverting.revert(at(alice, shared), run.id, [accepted.id])
    assert derived(shared) == set()


def test_what_came_before_an_accepted_change_of_a_record_stays_with_it(
    monkeypatch: pytest.MonkeyPatch, alice: Member, agent: Member, shared: Memory
) -> None:
    monkeypatch.setattr("memories.services.consolidating.TOGETHER", 1)
    run = consolidate(agent, shared, "fact: Tea.", "now: Tea. => Mint.", "fact: Oak.")
    [first, second] = RunChange.objects.filter(run=run, record_id=change_of(run, "Mint.")).order_by("position")
    accepting.accept(at(alice, shared), run.id, [second.id])
    reverting.revert(at(alice, shared), run.id, rest=True)
    first.refresh_from_db()
    assert (derived(shared), first.outcome) == ({"Mint."}, "")


def change_of(run: Run, said: str) -> str:
    return Version.objects.filter(memory_id=run.memory_id, content=[{"type": "text", "text": said}])[0].record_id


def test_accepting_here_decides_the_item_of_the_inbox_and_the_other_way_round(
    alice: Member, agent: Member, shared: Memory
) -> None:
    run = consolidate(agent, shared, "fact: Tea.")
    assert items(shared) == ["open"]
    accepting.accept(at(alice, shared), run.id, [change(run, "Tea.").id])
    [item] = ReviewItem.objects.filter(memory=shared, type="fact")
    assert (item.state, item.reviewer) == ("kept", f"member:{alice.id}")
    undoing.undo(factories.caller(alice), item.id)
    assert change(run, "Tea.").accepted_by == ""
    judging.keep(factories.caller(alice), *decide(alice))
    assert change(run, "Tea.").accepted_by == f"member:{alice.id}"


def test_declining_in_the_inbox_takes_the_change_back_and_undoing_that_brings_it_again(
    alice: Member, agent: Member, shared: Memory
) -> None:
    run = consolidate(agent, shared, "fact: Tea.")
    item_id, shown = decide(alice)
    judging.decline(factories.caller(alice), item_id, shown)
    assert (derived(shared), change(run, "Tea.").outcome) == (set(), "forgotten")
    undoing.undo(factories.caller(alice), item_id)
    assert change(run, "Tea.").outcome == ""


def test_undoing_a_run_closes_what_asked_about_its_records(alice: Member, agent: Member, shared: Memory) -> None:
    run = consolidate(agent, shared, "fact: Tea.", "fact: Oak.")
    reverting.revert(at(alice, shared), run.id)
    assert items(shared) == ["declined", "declined"]
    assert all(one.type == "episode" for one in reviewing.inbox(factories.caller(alice)).items)


def test_nobody_accepts_what_was_written_on_their_behalf(alice: Member, agent: Member, shared: Memory) -> None:
    run = consolidate(alice, shared, "fact: Tea.")
    with pytest.raises(MemoryForbidden):
        accepting.accept(at(alice, shared), run.id, [change(run, "Tea.").id])
    assert accepting.accept(at(alice, shared), run.id) == accepting.Accepted(0, 1)
    assert change(run, "Tea.").accepted_by == ""


def test_accepting_takes_a_person_who_reads_and_deletes(
    alice: Member, bob: Member, agent: Member, shared: Memory
) -> None:
    run = consolidate(agent, shared, "fact: Tea.")
    for who in (bob, agent):
        with pytest.raises(MemoryForbidden):
            accepting.accept(at(who, shared), run.id)
    with pytest.raises(MemoryNotFound):
        accepting.accept(at(alice, shared), "hcon_" + "0" * 32)
    with pytest.raises(MemoryInvalid):
        accepting.accept(at(alice, shared), run.id, ["hchg_" + "0" * 32])


def test_what_was_undone_meanwhile_is_not_accepted(alice: Member, agent: Member, shared: Memory) -> None:
    run = consolidate(agent, shared, "fact: Tea.")
    reverting.revert(at(alice, shared), run.id)
    with pytest.raises(VersionConflict):
        accepting.accept(at(alice, shared), run.id, [change(run, "Tea.").id])
    assert accepting.accept(at(alice, shared), run.id) == accepting.Accepted(0, 0)


def test_the_rest_is_accepted_once_and_noted_once(alice: Member, agent: Member, shared: Memory) -> None:
    run = consolidate(agent, shared, "fact: Tea.", "fact: Oak.", "fact: Ash.")
    reverting.revert(at(alice, shared), run.id, [change(run, "Ash.").id])
    assert accepting.accept(at(alice, shared), run.id).accepted == 2
    assert accepting.accept(at(alice, shared), run.id).accepted == 0
    assert Event.objects.filter(action="consolidation.accepted").count() == 1
    assert accepting.progress([run])[run.id] == accepting.Progress(3, 3)


@settings(max_examples=6, deadline=None)
@given(st.lists(st.sampled_from(["accept", "undo", "leave"]), min_size=1, max_size=4))
def test_undoing_the_rest_leaves_exactly_what_was_accepted(plan: list[str]) -> None:
    organisation = factories.organisation()
    alice, agent = factories.member(organisation, is_owner=True), factories.member(organisation, type="agent")
    memory = factories.memory(alice)
    factories.grant(alice, memory, agent, "read", "write")
    run = consolidate(agent, memory, *(f"fact: Number {index}." for index in range(len(plan))))
    for index, what in enumerate(plan):
        one = [change(run, f"Number {index}.").id]
        if what == "accept":
            accepting.accept(at(alice, memory), run.id, one)
        if what == "undo":
            reverting.revert(at(alice, memory), run.id, one)
    reverting.revert(at(alice, memory), run.id, rest=True)
    assert derived(memory) == {f"Number {index}." for index, what in enumerate(plan) if what == "accept"}


def test_what_a_person_lets_through_is_a_change_of_the_run_and_no_more_when_that_is_taken_back(
    alice: Member, agent: Member, shared: Memory
) -> None:
    policies.change(at(alice, shared), mode="off", rules=[{"when": {"writer": ["provider"]}, "then": "hold"}])
    run = consolidate(agent, shared, "fact: Tea.")
    assert (run.created, Held.objects.get().state) == (0, "waiting")
    item_id, shown = decide(alice)
    judging.keep(factories.caller(alice), item_id, shown)
    run.refresh_from_db()
    made = change(run, "Tea.")
    assert (run.created, made.kind, made.reason) == (1, "created", "approved")
    assert made.accepted_by == f"member:{alice.id}"
    assert Version.objects.get(record_id=made.record_id).consolidation_id == run.id
    undoing.undo(factories.caller(alice), item_id)
    run.refresh_from_db()
    assert (run.created, RunChange.objects.filter(run=run).count()) == (0, 0)
    judging.keep(factories.caller(alice), *decide(alice))
    reverting.revert(at(alice, shared), run.id)
    assert derived(shared) == set()


def test_a_run_of_which_something_waits_asks_once_and_is_answered_by_keeping_all(
    alice: Member, agent: Member, shared: Memory
) -> None:
    policies.change(at(alice, shared), mode="off", rules=[{"when": {"writer": ["provider"]}, "then": "hold"}])
    run = consolidate(agent, shared, "fact: Tea.")
    [item] = ReviewItem.objects.filter(kind="run")
    assert (item.subject, [one["name"] for one in item.signals]) == (run.id, ["run.waits"])
    accepting.accept(at(alice, shared), run.id)
    assert items(shared, kind="run") == ["kept"]


@pytest.mark.parametrize(
    ("mode", "records", "asks"), [("notable", 2, 1), ("notable", 3, 0), ("always", 9, 2), ("off", 1, 0)]
)
def test_a_run_asks_as_the_rule_of_its_memory_says(
    alice: Member, agent: Member, shared: Memory, mode: str, records: int, asks: int
) -> None:
    run_asking.set_rule(at(alice, shared), mode, records)
    consolidate(agent, shared, "fact: Tea.", "fact: Oak.")
    consolidate(agent, shared, "now: Tea. => Mint.", "now: Oak. => Ash.")
    assert ReviewItem.objects.filter(kind="run").count() == asks


def test_the_item_of_a_run_follows_when_the_run_is_undone_elsewhere(
    alice: Member, agent: Member, shared: Memory
) -> None:
    run_asking.set_rule(at(alice, shared), "always")
    run = consolidate(agent, shared, "fact: Tea.", "fact: Oak.")
    reverting.revert(at(alice, shared), run.id, [change(run, "Tea.").id])
    assert items(shared, kind="run") == ["open"]
    reverting.revert(at(alice, shared), run.id)
    assert items(shared, kind="run") == ["declined"]


def test_a_run_is_looked_through_by_dismissing_and_not_declined(alice: Member, agent: Member, shared: Memory) -> None:
    run_asking.set_rule(at(alice, shared), "always")
    run = consolidate(agent, shared, "fact: Tea.")
    item_id, shown = decide(alice, "run")
    with pytest.raises(MemoryInvalid):
        judging.decline(factories.caller(alice), item_id, shown)
    judging.dismiss(factories.caller(alice), item_id, shown)
    assert (derived(shared), change(run, "Tea.").accepted_by) == ({"Tea."}, "")


def test_the_rule_takes_delete_and_is_checked(alice: Member, bob: Member, shared: Memory) -> None:
    with pytest.raises(MemoryForbidden):
        run_asking.set_rule(at(bob, shared), "off")
    for mode, most in (("sometimes", 20), ("notable", 0)):
        with pytest.raises(MemoryInvalid):
            run_asking.set_rule(at(alice, shared), mode, most)
    assert run_asking.rule_of(shared) == run_asking.Rule()


def test_a_record_that_was_changed_after_the_run_keeps_its_item(alice: Member, agent: Member, shared: Memory) -> None:
    run = consolidate(agent, shared, "fact: Tea.")
    ReviewItem.objects.filter(memory=shared).update(version=2)
    accepting.accept(at(alice, shared), run.id)
    assert items(shared) == ["open"]
    records.forget(at(alice, shared), change(run, "Tea.").record_id)
