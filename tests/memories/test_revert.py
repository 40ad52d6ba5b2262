"""Taking a run back: what it changed is as it was, and what somebody edited since is left alone and named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from members.models import Event, Member
from memories.content import read_changes
from memories.models import Conflict, Job, Memory, Run, RunChange, Version
from memories.services import consolidating, deciding, records, reverting, runs, schedules
from tests import factories
from tests.conftest import Answer, Api
from tests.factories import at
from tests.memories.plain_engine import PlainEngine, done

pytestmark = pytest.mark.django_db


def path(memory: Memory, rest: str = "") -> str:
    return f"/v1/memories/{memory.id}/consolidations{rest}"


def say(who: Member, memory: Memory, *words: str) -> list[str]:
    return [factories.record(who, memory, one, type="episode").id for one in words]


def run(who: Member, memory: Memory) -> Run:
    return done(runs.start(at(who, memory)))


def revert(api: Api, who: Member, one: Run, body: Any = None) -> Answer:
    return api.call("POST", f"/v1/memories/{one.memory_id}/consolidations/{one.id}/revert", body, as_=who)


def said(memory: Memory) -> dict[str, tuple[Any, ...]]:
    """What a memory says now, to the byte: of each record that is not an episode all that a client can write."""
    fields = ("type", "title", "content", "attributes", "references", "valid_from", "valid_to")
    versions = Version.objects.current().filter(memory=memory).exclude(type="episode")
    return {row[0]: row[1:] for row in versions.values_list("record_id", *fields)}


def words(memory: Memory) -> set[str]:
    return {row[2][0]["text"] for row in said(memory).values()}


@pytest.fixture(autouse=True)
def singly(monkeypatch: pytest.MonkeyPatch, plain: PlainEngine) -> None:
    """One episode in each batch, so that a later one can be about what an earlier one said."""
    monkeypatch.setattr(consolidating, "TOGETHER", 1)


def test_after_a_revert_every_record_is_as_it_was_to_the_byte(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.", "fact: Rent is 900.", "fact: Over.")
    run(alice, shared)
    over = Version.objects.get(content=[{"type": "text", "text": "Over."}])
    Version.objects.filter(pk=over.pk).update(valid_to="2020-01-01T00:00:00Z", attributes={"deep": {"x": [1, None]}})
    Version.objects.filter(content=[{"type": "text", "text": "Tea."}]).update(title="Drinks", attributes={"n": 1.5})
    factories.record(alice, shared, "Own.", attributes={"a": 1})
    before = said(shared)
    say(alice, shared, "fact: New.", "now: Drinks\nTea. => Coffee.", "again: Rent is 900.", "against: Own. => Owned.")
    say(alice, shared, "end: Over.")
    second = run(alice, shared)
    assert (second.created, second.forgotten, second.conflicts) == (2, 1, 1)
    assert said(shared) != before
    answer = revert(api, alice, second)
    assert answer.status == 200
    assert said(shared) == before
    assert (answer.json["status"], answer.json["reverted"]) == ("completed", True)
    assert answer.json["revert"]["skipped"] == []
    assert over.record_id in answer.json["revert"]["restored"]
    assert len(answer.json["revert"]["forgotten"]) == 2
    history = api.get(f"/v1/memories/{shared.id}/records/{over.record_id}/history", alice)["data"]
    assert [one["status"] for one in history] == ["forgotten", "active"]
    assert history[1]["written_by"] == {"kind": "member", "id": alice.id, "type": "human"}
    assert history[0]["content"] == history[1]["content"]
    assert not deciding.listed(at(alice, shared), 10)
    assert Conflict.objects.get().state == "withdrawn"


def test_again_it_changes_nothing(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.", "now: Tea. => Coffee.", "fact: Rent.")
    one = run(alice, shared)
    first = revert(api, alice, one)
    rows = list(Version.objects.order_by("pk").values_list())
    again = revert(api, alice, one)
    assert (again.status, again.raw) == (200, first.raw)
    assert list(Version.objects.order_by("pk").values_list()) == rows
    assert Event.objects.filter(action="consolidation.reverted").count() == 1


def test_what_somebody_changed_since_is_left_alone_and_named(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.", "fact: Rent.", "fact: Gone.")
    one = run(alice, shared)
    ids = {version.content[0]["text"]: version.record_id for version in Version.objects.exclude(type="episode")}
    records.revise(at(alice, shared), ids["Tea."], read_changes({"content": "Green tea."}))
    records.forget(at(alice, shared), ids["Gone."])
    planned = {step.record_id: (step.outcome, step.skip) for step in reverting.preview(at(alice, shared), one.id)}
    assert planned == {
        ids["Tea."]: ("forgotten", "changed_since"),
        ids["Rent."]: ("forgotten", ""),
        ids["Gone."]: ("forgotten", "forgotten"),
    }
    shown = revert(api, alice, one).json["revert"]
    assert (shown["forgotten"], set(shown["skipped"])) == ([ids["Rent."]], {ids["Tea."], ids["Gone."]})
    assert words(shared) == {"Green tea."}


def test_a_preview_changes_nothing(alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.")
    one = run(alice, shared)
    before = said(shared)
    assert [step.outcome for step in reverting.preview(at(alice, shared), one.id)] == ["forgotten"]
    assert said(shared) == before
    assert RunChange.objects.get().outcome == ""


def test_chosen_changes_alone_are_taken_back(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.", "fact: Rent.", "now: Rent. => Rent is 900.")
    one = run(alice, shared)
    tea, rent, revised = (row.id for row in RunChange.objects.order_by("position"))
    shown = revert(api, alice, one, {"x_changes": [tea]}).json["revert"]
    assert (len(shown["forgotten"]), shown["restored"]) == (1, [])
    assert words(shared) == {"Rent is 900."}
    # Its making cannot be taken back while what came after it stays.
    assert revert(api, alice, one, {"x_changes": [rent]}).json["revert"]["skipped"] != []
    assert words(shared) == {"Rent is 900."}
    assert len(revert(api, alice, one, {"x_changes": [revised]}).json["revert"]["restored"]) == 1
    assert words(shared) == {"Rent."}
    revert(api, alice, one)
    assert words(shared) == set()
    data = api.get(path(shared, f"/{one.id}/changes"), alice)["data"]
    assert [one["x_change"]["outcome"] for one in data] == ["forgotten", "forgotten", "restored"]


@pytest.mark.parametrize("chosen", [7, [7], ["hchg_" + "0" * 32]])
def test_changes_of_nothing_are_refused(api: Api, alice: Member, shared: Memory, chosen: Any) -> None:
    say(alice, shared, "fact: Tea.")
    answer = revert(api, alice, run(alice, shared), {"x_changes": chosen})
    assert (answer.status, answer.error["code"]) == (422, "memory_invalid")
    assert words(shared) == {"Tea."}


def test_what_was_taken_back_does_not_come_again(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.", "fact: Rent is 900.", "now: Rent is 900. => Rent is 950.")
    revert(api, alice, run(alice, shared))
    say(alice, shared, "fact: Tea.", "fact: Coffee.", "fact: Rent is 950.")
    assert run(alice, shared).created == 1
    assert words(shared) == {"Coffee."}


def test_nor_after_it_was_erased(api: Api, alice: Member, shared: Memory) -> None:
    sources = say(alice, shared, "fact: The secret is 4711.")
    revert(api, alice, run(alice, shared))
    api.ok("POST", f"/v1/memories/{shared.id}/erase", {"record_ids": sources}, alice)
    assert not Version.objects.exists()
    say(alice, shared, "fact: The secret is 4711.")
    assert run(alice, shared).created == 0


def test_a_revert_of_erased_records_skips_them(api: Api, alice: Member, shared: Memory) -> None:
    source, _ = say(alice, shared, "fact: The secret is 4711.", "fact: Tea.")
    one = run(alice, shared)
    api.ok("POST", f"/v1/memories/{shared.id}/erase", {"record_ids": [source]}, alice)
    shown = revert(api, alice, one).json["revert"]
    assert (len(shown["forgotten"]), len(shown["skipped"])) == (1, 1)
    assert words(shared) == set()


def test_what_was_erased_before_a_restore_does_not_come_back(api: Api, alice: Member, shared: Memory) -> None:
    [source] = say(alice, shared, "fact: The secret is 4711.")
    run(alice, shared)
    say(alice, shared, "now: The secret is 4711. => No secret.")
    second = run(alice, shared)
    api.ok("POST", f"/v1/memories/{shared.id}/erase", {"record_ids": [source]}, alice)
    revert(api, alice, second)
    assert said(shared) == {}


def test_taking_back_needs_delete(api: Api, alice: Member, bob: Member, stranger: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.")
    one = run(alice, shared)
    assert revert(api, bob, one).error["code"] == "memory_forbidden"
    assert revert(api, stranger, one).error["code"] == "memory_not_found"
    elsewhere = factories.memory(alice)
    assert api.call("POST", path(elsewhere, f"/{one.id}/revert"), as_=alice).status == 404
    assert words(shared) == {"Tea."}


def test_nothing_is_taken_back_while_a_run_is_active(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.")
    one = run(alice, shared)
    second = runs.start(at(alice, shared))
    assert revert(api, alice, one).error["code"] == "memory_busy"
    done(second)
    assert revert(api, alice, one).status == 200


def test_a_later_run_is_left_alone(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.")
    first = run(alice, shared)
    say(alice, shared, "now: Tea. => Coffee.")
    second = run(alice, shared)
    assert len(revert(api, alice, first).json["revert"]["skipped"]) == 1
    assert words(shared) == {"Coffee."}
    revert(api, alice, second)
    assert words(shared) == {"Tea."}
    revert(api, alice, first)
    assert words(shared) == set()


STEPS = st.lists(
    st.one_of(
        st.builds("fact: S{}.".format, st.integers(0, 5)),
        st.builds("now: S{}. => S{}.".format, st.integers(0, 5), st.integers(0, 5)),
        st.builds("again: S{}.".format, st.integers(0, 5)),
        st.builds("against: S{}. => S{}.".format, st.integers(0, 5), st.integers(0, 5)),
    ),
    max_size=8,
)


@given(before=STEPS, later=STEPS, own=st.lists(st.integers(0, 5), max_size=2))
def test_whatever_a_run_did_a_revert_makes_equal(before: list[str], later: list[str], own: list[int]) -> None:
    alice = factories.member(factories.organisation(), "Alice")
    memory = factories.memory(alice)
    for number in own:
        factories.record(alice, memory, f"S{number}.")
    say(alice, memory, *before)
    run(alice, memory)
    was = said(memory)
    say(alice, memory, *later)
    second = run(alice, memory)
    reverting.revert(at(alice, memory), second.id)
    assert said(memory) == was
    assert not RunChange.objects.filter(run=second, outcome="skipped").exists()
    assert not Job.objects.filter(memory_id=memory.id).unfinished().exists()
    assert schedules.engine_of(memory).name == "plain"
