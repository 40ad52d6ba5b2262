"""Holds: what is on hold stays, on every path, until somebody lifts the hold."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, transaction

from members.models import Event, Member
from memories.models import Hold, Job, Memory, Record
from memories.services import erasure, holds, jobs, records, tree
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Api
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound, OnHold, RecordNotFound, UHPError

pytestmark = pytest.mark.django_db


def test_a_hold_says_what_why_who_and_when(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    body = {"memory_id": shared.id, "record_id": record.id, "reason": " Case 17 "}
    hold = api.ok("POST", "/v1/x-holds", body, alice)
    assert hold["id"].startswith("hold_")
    expected = {
        "object": "memory.hold",
        "memory_id": shared.id,
        "record_id": record.id,
        "reason": "Case 17",
        "placed_by": alice.principal,
        "lifted_by": None,
        "lifted_at": None,
    }
    assert {name: hold[name] for name in expected} == expected
    assert api.get(f"/v1/x-holds?memory={shared.id}", alice)["data"] == [hold]
    lifted = api.ok("DELETE", f"/v1/x-holds/{hold['id']}", None, alice)
    assert (lifted["deleted"], lifted["lifted_by"]) == (True, alice.principal)
    assert api.get(f"/v1/x-holds?memory={shared.id}", alice)["data"] == []
    assert [one["id"] for one in api.get(f"/v1/x-holds?memory={shared.id}&include=all", alice)["data"]] == [hold["id"]]
    assert api.call("DELETE", f"/v1/x-holds/{hold['id']}", as_=alice).status == 404
    assert set(Event.objects.filter(subject=hold["id"]).values_list("action", flat=True)) == {
        "hold.placed",
        "hold.lifted",
    }


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"reason": "R"}, "memory_id"),
        ({"memory_id": 1, "reason": "R"}, "memory_id"),
        ({"memory_id": None, "reason": "R"}, "memory_id"),
        ({"memory_id": "{memory}"}, "reason"),
        ({"memory_id": "{memory}", "reason": " "}, "reason"),
        ({"memory_id": "{memory}", "reason": "R" * 501}, "reason"),
        ({"memory_id": "{memory}", "reason": "R", "record_id": 1}, "record_id"),
    ],
)
def test_a_malformed_hold_is_refused(api: Api, alice: Member, shared: Memory, body: dict[str, Any], param: str) -> None:
    sent = {name: shared.id if value == "{memory}" else value for name, value in body.items()}
    answer = api.call("POST", "/v1/x-holds", sent, as_=alice)
    assert (answer.status, answer.error["param"]) == (422, param)
    assert not Hold.objects.exists()


def test_holds_are_for_those_who_may_delete(
    api: Api, alice: Member, bob: Member, stranger: Member, shared: Memory
) -> None:
    hold = holds.place_hold(at(alice, shared), "Case 17")
    body = {"memory_id": shared.id, "reason": "Mine."}
    for who, status in ((bob, 403), (stranger, 404)):
        assert api.call("POST", "/v1/x-holds", body, as_=who).status == status
        assert api.call("GET", f"/v1/x-holds?memory={shared.id}", as_=who).status == status
        assert api.call("DELETE", f"/v1/x-holds/{hold.id}", as_=who).status == status
    unknown = api.call("DELETE", "/v1/x-holds/hold_" + "0" * 32, as_=stranger)
    assert unknown.raw == api.call("DELETE", f"/v1/x-holds/{hold.id}", as_=stranger).raw


def test_a_record_is_held_through_its_own_memory(alice: Member, shared: Memory) -> None:
    elsewhere = factories.record(alice, factories.memory(alice))
    with pytest.raises(RecordNotFound):
        holds.place_hold(at(alice, shared), "Case 17", elsewhere.id)


def test_a_held_record_is_not_erased_and_the_others_are(api: Api, alice: Member, shared: Memory) -> None:
    kept, gone = factories.record(alice, shared), factories.record(alice, shared)
    hold = holds.place_hold(at(alice, shared), "Case 17", kept.id)
    address = f"/v1/memories/{shared.id}/erase"
    refused = api.call("POST", address, {"record_ids": [gone.id, kept.id]}, as_=alice)
    assert (refused.status, refused.error["code"]) == (409, "heartwood_on_hold")
    assert refused.error["message"] == "On hold: Case 17"
    assert [one["id"] for one in refused.error["detail"]["holds"]] == [hold.id]
    assert Record.objects.count() == 2
    assert api.ok("POST", address, {"record_ids": [gone.id]}, alice)["erased"] == [gone.id]
    holds.lift(factories.caller(alice), hold.id)
    assert api.ok("POST", address, {"record_ids": [kept.id]}, alice)["erased"] == [kept.id]


@pytest.mark.parametrize("where", ["above", "itself", "below", "record below"])
def test_a_memory_is_not_deleted_while_anything_in_it_or_over_it_is_held(
    api: Api, alice: Member, shared: Memory, where: str
) -> None:
    middle = factories.memory(alice, shared)
    below = factories.memory(alice, middle)
    record = factories.record(alice, below)
    target = {"above": shared, "itself": middle}.get(where, below)
    hold = holds.place_hold(at(alice, target), "Case 17", record.id if where == "record below" else None)
    refused = api.call("DELETE", f"/v1/memories/{middle.id}", as_=alice)
    assert (refused.status, refused.error["code"]) == (409, "heartwood_on_hold")
    assert Memory.objects.count() == 3
    holds.lift(factories.caller(alice), hold.id)
    assert api.call("DELETE", f"/v1/memories/{middle.id}", as_=alice).status == 200


def test_a_hold_on_a_memory_covers_the_records_below_it(api: Api, alice: Member, shared: Memory) -> None:
    below = factories.memory(alice, shared, restricted=True)
    record = factories.record(alice, below)
    beside = factories.memory(alice)
    free = factories.record(alice, beside)
    holds.place_hold(at(alice, shared), "Case 17")
    assert api.call("POST", f"/v1/memories/{below.id}/erase", {"record_ids": [record.id]}, as_=alice).status == 409
    assert api.call("POST", f"/v1/memories/{beside.id}/erase", {"record_ids": [free.id]}, as_=alice).status == 200


def test_what_is_held_from_above_cannot_be_moved_out(api: Api, alice: Member, shared: Memory) -> None:
    middle, elsewhere = factories.memory(alice, shared), factories.memory(alice)
    below = factories.memory(alice, middle)
    holds.place_hold(at(alice, shared), "Case 17")
    for target in (None, elsewhere.id):
        refused = api.call("PUT", f"/v1/memories/{below.id}", {"parent_id": target}, as_=alice)
        assert (refused.status, refused.error["code"]) == (409, "heartwood_on_hold")
    assert api.call("PUT", f"/v1/memories/{below.id}", {"parent_id": shared.id}, as_=alice).status == 200
    assert api.call("PUT", f"/v1/memories/{shared.id}", {"parent_id": elsewhere.id}, as_=alice).status == 200


def test_work_goes_on_under_a_hold(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "First.")
    holds.place_hold(at(alice, shared), "Case 17", record.id)
    address = f"/v1/memories/{shared.id}/records/{record.id}"
    assert api.ok("PATCH", address, {"content": "Second."}, alice)["version"] == 2
    assert api.ok("DELETE", address, None, alice)["status"] == "forgotten"
    assert [one["content"][0]["text"] for one in api.get(f"{address}/history", alice)["data"]] == ["First.", "Second."]


def test_a_hold_that_is_not_seen_is_not_told(api: Api, alice: Member, bob: Member, shared: Memory) -> None:
    factories.grant(alice, shared, bob, "read", "delete")
    hidden = factories.memory(alice, shared, restricted=True)
    holds.place_hold(at(alice, hidden), "Very secret")
    refused = api.call("DELETE", f"/v1/memories/{shared.id}", as_=bob)
    assert (refused.status, refused.error["detail"]) == (409, {"holds": [], "hidden": True})
    assert b"secret" not in refused.raw
    assert hidden.id.encode() not in refused.raw


def test_an_erasure_that_waits_when_the_hold_comes_is_refused_for_good(alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    job = erasure.begin(at(alice, shared), [record.id], later=True)
    hold = holds.place_hold(at(alice, shared), "Case 17", record.id)
    jobs.run(job.id, KINDS)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED
    assert Record.objects.count() == 1
    with pytest.raises(OnHold, match="Case 17"):
        erasure.finish(at(alice, shared), job.id)
    holds.lift(factories.caller(alice), hold.id)
    jobs.run(job.id, KINDS)
    assert Record.objects.count() == 1


def test_lifting_needs_delete_now(alice: Member, bob: Member, shared: Memory) -> None:
    hold = holds.place_hold(at(alice, shared), "Case 17")
    with pytest.raises(MemoryForbidden):
        holds.lift(factories.caller(bob), hold.id)
    with pytest.raises(MemoryNotFound):
        holds.lift(factories.caller(factories.member(factories.organisation())), hold.id)


@pytest.mark.django_db(transaction=True)
def test_a_hold_outlives_what_it_was_on(alice: Member, shared: Memory) -> None:
    hold = holds.place_hold(at(alice, shared), "Case 17")
    holds.lift(factories.caller(alice), hold.id)
    tree.delete(at(alice, shared))
    jobs.run(Job.objects.get(kind=tree.PURGE).id, KINDS)
    assert not Memory.deleted_too.exists()
    assert Hold.objects.get().reason == "Case 17"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("removal", ["erase", "delete"])
def test_a_hold_placed_during_a_removal_comes_after_it(alice: Member, shared: Memory, removal: str) -> None:
    record = factories.record(alice, shared)
    place, placed = at(alice, shared), threading.Event()
    outcome: list[Hold | UHPError] = []

    def hold() -> None:
        try:
            outcome.append(holds.place_hold(place, "Too late", record.id))
        except (MemoryNotFound, RecordNotFound) as refusal:
            outcome.append(refusal)
        finally:
            placed.set()
            connection.close()

    thread = threading.Thread(target=hold)
    with transaction.atomic():
        if removal == "erase":
            erasure.finish(place, erasure.begin(place, [record.id]).id)
        else:
            tree.delete(place)
        thread.start()
        assert not placed.wait(0.3), "the hold did not wait"
    thread.join(10)
    assert type(outcome[0]) is (RecordNotFound if removal == "erase" else MemoryNotFound)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("removal", ["erase", "delete"])
def test_a_removal_during_the_placing_of_a_hold_is_refused(alice: Member, shared: Memory, removal: str) -> None:
    record = factories.record(alice, shared)
    place, outcome, done = at(alice, shared), [], threading.Event()

    def remove() -> None:
        try:
            if removal == "erase":
                erasure.begin(place, [record.id])
            else:
                tree.delete(place)
        except OnHold as refusal:
            outcome.append(refusal)
        finally:
            done.set()
            connection.close()

    thread = threading.Thread(target=remove)
    with transaction.atomic():
        holds.place_hold(place, "In time")
        thread.start()
        assert not done.wait(0.3), "the removal did not wait"
    thread.join(10)
    assert [str(one) for one in outcome] == ["On hold: In time"]
    assert records.get(place, record.id).status == "active"
