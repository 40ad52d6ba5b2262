"""Snapshots: a name for an instant, exact to the write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from members.models import Event, Member
from memories.content import read_changes, read_draft
from memories.models import Job, Memory, Snapshot, Version
from memories.providers import locks
from memories.providers.base import View
from memories.services import jobs, records, snapshots, tree
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Api
from tests.factories import at
from tests.parallel import at_once
from uhp_site.http.errors import MemoryForbidden


def path(memory: Memory, rest: str = "/snapshots") -> str:
    return f"/v1/memories/{memory.id}{rest}"


pytestmark = pytest.mark.django_db


def test_reading_as_of_a_snapshot_is_reading_what_there_was(api: Api, alice: Member, shared: Memory) -> None:
    kept, changed, forgotten = (factories.record(alice, shared, text) for text in ("Kept.", "Azure.", "Forgotten."))
    before = api.get(path(shared, "/records"), alice)["data"]
    taken = api.ok("POST", path(shared), {"name": " Before the audit ", "message": "Asked by Ada."}, alice)
    assert (taken["object"], taken["name"], taken["message"]) == (
        "memory.snapshot",
        "Before the audit",
        "Asked by Ada.",
    )
    assert taken["memory_id"] == shared.id
    records.revise(at(alice, shared), changed.id, read_changes({"content": "Crimson."}))
    records.forget(at(alice, shared), forgotten.id)
    factories.record(alice, shared, "New.")
    assert api.get(path(shared, f"/records?as_of={taken['at']}"), alice)["data"] == before
    assert api.get(path(shared, f"/records/{changed.id}?as_of={taken['at']}"), alice)["version"] == 1
    recalled = api.ok("POST", path(shared, "/recall"), {"text": "Azure", "as_of": taken["at"]}, alice)
    assert [hit["record"]["id"] for hit in recalled["results"]] == [changed.id]
    assert kept.id in {one["id"] for one in before}


def test_snapshots_are_listed_newest_first_page_by_page(api: Api, alice: Member, bob: Member, shared: Memory) -> None:
    for number in range(5):
        api.ok("POST", path(shared), {"name": f"Number {number}"}, bob)
    names: list[str] = []
    cursor = ""
    while True:
        page: Any = api.get(f"{path(shared)}?limit=2{cursor}", alice)
        names += [one["name"] for one in page["data"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert names == [f"Number {number}" for number in range(4, -1, -1)]
    assert Event.objects.filter(action="snapshot.taken", actor=bob.principal).count() == 5


def test_names_need_not_be_unique(api: Api, alice: Member, shared: Memory) -> None:
    first, second = (api.ok("POST", path(shared), {"name": "Same"}, alice) for _ in range(2))
    assert first["id"] != second["id"]
    assert first["at"] < second["at"]


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": 1}, {"name": "a\nb"}, {"name": "a" * 161}, {"name": "\0"}])
def test_a_snapshot_needs_a_name(api: Api, alice: Member, shared: Memory, body: dict[str, Any]) -> None:
    answer = api.call("POST", path(shared), body, as_=alice)
    assert (answer.status, answer.error["param"]) == (422, "name")


def test_a_reader_cannot_take_one_and_it_belongs_to_one_memory(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    with pytest.raises(MemoryForbidden):
        snapshots.take(at(carol, shared), "Mine")
    below = factories.memory(alice, shared)
    snapshots.take(at(alice, shared), "Above")
    assert api.get(path(below), alice)["data"] == []


def test_the_name_of_a_snapshot_is_no_instant(api: Api, alice: Member, shared: Memory) -> None:
    taken = api.ok("POST", path(shared), {"name": "now"}, alice)
    for value in ("now", taken["id"]):
        assert api.call("GET", path(shared, f"/records?as_of={value}"), as_=alice).status == 422


def test_a_write_is_after_every_snapshot_even_when_the_clock_was_set_back(alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    place = at(alice, shared)
    ahead = record.written_at + timedelta(hours=1)
    Version.objects.filter(record_id=record.id).update(written_at=ahead)
    taken = snapshots.take(place, "From a clock that ran ahead")
    assert taken.at == ahead
    later = [
        factories.record(alice, shared).written_at,
        records.revise(place, record.id, read_changes({"title": "T"})).written_at,
    ]
    forgotten = records.forget(place, record.id).invalidated_at
    assert forgotten is not None
    assert min(*later, forgotten) > taken.at
    assert [one.id for one in records.page(place, View(as_of=taken.at), 10).versions] == [record.id]


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_waits_for_the_write_that_runs(alice: Member, shared: Memory) -> None:
    place, taken = at(alice, shared), []
    written, snapped = threading.Event(), threading.Event()

    def snap() -> None:
        try:
            assert written.wait(10)
            taken.append(snapshots.take(place, "Meanwhile"))
            snapped.set()
        finally:
            connection.close()

    thread = threading.Thread(target=snap)
    thread.start()
    with transaction.atomic():
        record = factories.record(alice, shared, "Written, not committed.")
        written.set()
        assert not snapped.wait(0.3), "the snapshot did not wait"
    thread.join(10)
    assert taken[0].at >= record.written_at
    assert [one.id for one in records.page(place, View(as_of=taken[0].at), 10).versions] == [record.id]


@pytest.mark.django_db(transaction=True)
def test_among_many_writers_each_snapshot_reads_the_same_for_ever(alice: Member, shared: Memory) -> None:
    place = at(alice, shared)
    seed = [factories.record(alice, shared, f"Seed {number}.") for number in range(4)]

    def write(number: int) -> list[Any]:
        for step in range(6):
            one = seed[(number + step) % len(seed)]
            records.revise(place, one.id, read_changes({"content": f"{number} {step}"}))
            records.remember(place, read_draft({"content": f"New {number} {step}"}))
        return []

    def snap() -> list[Any]:
        found = []
        for number in range(8):
            instant = snapshots.take(place, f"Number {number}").at
            found.append((instant, read(instant)))
        return found

    def read(instant: Any) -> list[tuple[str, int]]:
        return [(one.id, one.number) for one in records.page(place, View(as_of=instant), 200).versions]

    calls: list[Callable[[], list[Any]]] = [*(partial(write, number) for number in range(3)), snap, snap]
    answers = at_once(calls)
    instants = [pair for answer in answers for pair in answer]
    assert len(instants) == 16
    for instant, then in instants:
        assert read(instant) == then
    assert Snapshot.objects.values("at").distinct().count() == 16
    for version in Version.objects.exclude(invalidated_at=None):
        assert version.invalidated_at is not None
        assert version.written_at < version.invalidated_at


@pytest.mark.django_db(transaction=True)
def test_snapshots_go_with_their_memory(alice: Member, shared: Memory) -> None:
    snapshots.take(at(alice, shared), "Gone")
    tree.delete(at(alice, shared))
    jobs.run(Job.objects.get(kind=tree.PURGE).id, KINDS)
    assert not Snapshot.objects.exists()


def test_a_memory_that_is_not_there_has_no_clock(alice: Member, shared: Memory) -> None:
    with pytest.raises(Memory.DoesNotExist):
        locks.enter("hmem_" + "0" * 32)
