"""A deleted memory is nobody's at once, and its job leaves nothing of it, however often it is interrupted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.apps import apps
from django.db import connection

from members.models import Group, Member
from memories.models import Grant, Job, LastUse, Memory, Reach, Record, Version
from memories.services import jobs, purge, tree
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Api
from tests.factories import at
from uhp_site.http.errors import MemoryBusy, MemoryNotFound

pytestmark = pytest.mark.django_db


def the_job() -> Job:
    return Job.objects.get(kind=tree.PURGE)


def rows_naming(memory_ids: Sequence[str]) -> dict[str, int]:
    """How many rows of any table of ours still point to these memories, by table."""
    found = {}
    for model in apps.get_app_config("memories").get_models():
        for field in model._meta.fields:
            if field.is_relation and field.related_model is Memory and field.name != "parent":
                count = model._base_manager.filter(**{f"{field.name}__in": memory_ids}).count()
                found[f"{model._meta.db_table}.{field.name}"] = count
    found["memories_memory"] = Memory.deleted_too.filter(pk__in=memory_ids).count()
    return found


@pytest.fixture
def branch(alice: Member, shared: Memory, team: Group) -> list[Memory]:
    """The shared memory and two below, with a record each, a pointer and a grant."""
    child = factories.memory(alice, shared)
    leaf = factories.memory(alice, child, restricted=True)
    for memory in (shared, child, leaf):
        factories.record(alice, memory, "canary words")
        factories.grant(alice, memory, team)
    return [shared, child, leaf]


def test_a_deleted_branch_is_a_made_up_one_before_its_job_ran(
    api: Api, alice: Member, bob: Member, branch: list[Memory]
) -> None:
    elsewhere = factories.memory(alice, name="Elsewhere")
    record = Record.objects.get(memory=branch[1])
    pointer = {"record_id": record.id, "memory_id": branch[1].id}
    pointing = factories.record(alice, elsewhere, "points", references=[pointer])
    api.ok("DELETE", f"/v1/memories/{branch[0].id}", None, alice)
    assert Record.objects.filter(memory__in=branch).count() == 3, "the job has not run yet"
    for who in (alice, bob):
        for memory in branch:
            path = f"/v1/memories/{memory.id}"
            gone = [api.call("GET", path, as_=who), api.call("POST", f"{path}/recall", {"query": "canary"}, as_=who)]
            gone += [api.call("GET", f"{path}/records/{record.id}", as_=who), api.call("PUT", path, {}, as_=who)]
            gone += [api.call("POST", "/v1/memories", {"name": "x", "parent_id": memory.id}, as_=who)]
            assert {(one.status, one.error["code"]) for one in gone} == {(404, "memory_not_found")}
        for listing in ("", "?granted=true", f"?ancestor={elsewhere.id}" if who == alice else ""):
            listed = api.get(f"/v1/memories{listing}", who)["data"]
            assert {one["id"] for one in listed} <= {elsewhere.id}
    shown = api.get(f"/v1/memories/{elsewhere.id}/records/{pointing.id}", alice)
    assert shown["references"] == [{"record_id": record.id, "available": False}]
    everything = Memory.objects.of(alice.organisation_id)
    assert [one.id for one in everything] == [elsewhere.id]
    assert not Reach.objects.filter(descendant__in=branch).exists()
    assert not Grant.objects.filter(memory__in=branch).exists()


def test_the_job_leaves_nothing_and_says_how_far_it_came(
    alice: Member, branch: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "MEMORIES", 2)
    monkeypatch.setattr(purge, "RECORDS", 1)
    LastUse.objects.note(alice.organisation_id, alice.id, branch[1].id)
    kept = factories.record(alice, factories.memory(alice), "kept")
    ids = [memory.id for memory in branch]
    tree.delete(at(alice, branch[0]))
    jobs.run(the_job().id, KINDS)
    job = the_job()
    assert (job.state, job.done, job.total) == (Job.State.COMPLETED, 6, 6)
    assert set(rows_naming(ids).values()) == {0}
    assert [one.record_id for one in Version.objects.all()] == [kept.id]


def test_a_job_that_died_goes_on_where_it_was(
    alice: Member, branch: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "MEMORIES", 1)
    monkeypatch.setattr(purge, "RECORDS", 1)
    removed, dies_at = purge.remove, [2]

    def dying(job: Job, batch: dict[str, str]) -> None:
        dies_at[0] -= 1
        if not dies_at[0]:
            raise RuntimeError("the worker was killed")
        removed(job, batch)

    monkeypatch.setattr(purge, "remove", dying)
    tree.delete(at(alice, branch[0]))
    jobs.run(the_job().id, KINDS)
    halfway = the_job()
    assert (halfway.state, halfway.done) == (Job.State.QUEUED, 3)
    jobs.run(halfway.id, KINDS)
    assert (the_job().state, the_job().done, the_job().total) == (Job.State.COMPLETED, 6, 6)
    assert set(rows_naming([memory.id for memory in branch]).values()) == {0}


def test_running_it_again_harms_nothing(alice: Member, branch: list[Memory]) -> None:
    tree.delete(at(alice, branch[0]))
    jobs.run(the_job().id, KINDS)
    purge.purge(the_job())
    assert set(rows_naming([memory.id for memory in branch]).values()) == {0}


def test_each_deletion_removes_its_own(alice: Member, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    factories.record(alice, child)
    factories.record(alice, shared)
    tree.delete(at(alice, child))
    first = the_job()
    tree.delete(at(alice, shared))
    jobs.run(first.id, KINDS)
    assert not Memory.deleted_too.filter(pk=child.id).exists()
    assert Record.objects.get().memory_id == shared.id


def test_work_that_waits_for_a_deleted_memory_is_cancelled(alice: Member, branch: list[Memory]) -> None:
    waiting = jobs.enqueue("anything", alice.organisation_id, memory_id=branch[2].id)
    other = jobs.enqueue("anything", alice.organisation_id, memory_id=factories.memory(alice).id)
    tree.delete(at(alice, branch[0]))
    states = dict(Job.objects.filter(kind="anything").values_list("id", "state"))
    assert states == {waiting.id: Job.State.CANCELLED, other.id: Job.State.QUEUED}


@pytest.mark.parametrize("state", [Job.State.QUEUED, Job.State.RUNNING])
def test_a_branch_that_is_being_consolidated_is_not_moved_or_deleted(
    api: Api, alice: Member, branch: list[Memory], state: str
) -> None:
    job = jobs.enqueue(tree.CONSOLIDATION, alice.organisation_id, memory_id=branch[2].id)
    Job.objects.filter(pk=job.pk).update(state=state)
    elsewhere = factories.memory(alice)
    for memory in branch:
        path = f"/v1/memories/{memory.id}"
        moved = api.call("PUT", path, {"parent_id": elsewhere.id}, as_=alice)
        deleted = api.call("DELETE", path, as_=alice)
        assert (moved.status, moved.error["code"]) == (409, "memory_busy")
        assert (deleted.status, deleted.error["code"]) == (409, "memory_busy")
        api.ok("PUT", path, {"restricted": True, "name": "Other"}, alice)
    jobs.finish(job, Job.State.COMPLETED)
    api.ok("PUT", f"/v1/memories/{branch[1].id}", {"parent_id": elsewhere.id}, alice)
    api.ok("DELETE", f"/v1/memories/{branch[0].id}", None, alice)


def test_a_consolidation_beside_or_above_hinders_nobody(alice: Member, branch: list[Memory]) -> None:
    jobs.enqueue(tree.CONSOLIDATION, alice.organisation_id, memory_id=branch[0].id)
    jobs.enqueue(tree.CONSOLIDATION, alice.organisation_id, memory_id=factories.memory(alice).id)
    tree.delete(at(alice, branch[1]))
    with pytest.raises(MemoryBusy):
        tree.delete(at(alice, branch[0]))


def test_deleting_costs_the_same_statements_whatever_the_size(alice: Member, branch: list[Memory]) -> None:
    lone = factories.memory(alice)
    with connection.execute_wrapper(count := Counter()):
        tree.delete(at(alice, lone))
    small = count.statements
    for _ in range(10):
        factories.record(alice, factories.memory(alice, branch[1]))
    with connection.execute_wrapper(count := Counter()):
        tree.delete(at(alice, branch[0]))
    assert count.statements == small


def test_whoever_looked_before_writes_nothing_after(alice: Member, branch: list[Memory]) -> None:
    place = at(alice, branch[1])
    tree.delete(at(alice, branch[0]))
    with pytest.raises(MemoryNotFound):
        tree.create(place.caller, name="New", parent_id=branch[1].id)


class Counter:
    """Counts statements."""

    def __init__(self) -> None:
        self.statements = 0

    def __call__(self, execute: object, *args: object) -> object:
        self.statements += 1
        assert callable(execute)
        return execute(*args)
