"""Taking much back: a job does it in batches; killed anywhere it goes on, and nothing else begins meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from members.models import Event, Member
from memories.models import Job, Memory, Run, RunChange, Version
from memories.services import jobs, reverting, runs, tree, undoing_many
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Answer, Api
from tests.factories import at
from tests.memories.plain_engine import consolidate, derived
from uhp_site.http.errors import MemoryBusy, MemoryForbidden, MemoryNotFound

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain")]


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three changes are much, and two make a batch."""
    monkeypatch.setattr(undoing_many, "AT_ONCE", 2)
    monkeypatch.setattr(reverting, "TOGETHER", 2)


def revert(api: Api, who: Member, run: Run, body: Any = None, **headers: str) -> Answer:
    path = f"/v1/memories/{run.memory_id}/consolidations/{run.id}/revert"
    return api.call("POST", path, body, as_=who, headers=headers)


def begun(who: Member, memory: Memory, run: Run) -> Job:
    job = undoing_many.begin(at(who, memory), run.id, later=True)
    assert isinstance(job, Job)
    return job


@pytest.fixture
def large(alice: Member, shared: Memory) -> Run:
    """A run that wrote five records and replaced one of a run before it."""
    consolidate(alice, shared, "fact: Rent is 900.")
    return consolidate(
        alice, shared, *(f"fact: Number {index}." for index in range(5)), "now: Rent is 900. => Rent is 950."
    )


def test_a_large_one_is_answered_as_a_small_one(api: Api, alice: Member, shared: Memory, large: Run) -> None:
    answer = revert(api, alice, large)
    assert (answer.status, answer.json["object"], answer.json["reverted"]) == (200, "memory.consolidation", True)
    assert (len(answer.json["revert"]["forgotten"]), len(answer.json["revert"]["restored"])) == (5, 1)
    assert derived(shared) == {"Rent is 900."}
    job = Job.objects.get(kind="revert")
    assert (job.state, job.done, job.total) == ("completed", 6, 6)
    assert revert(api, alice, large).json == answer.json
    assert Event.objects.filter(action="consolidation.reverted").count() == 1


def test_who_would_rather_not_wait_is_given_the_job(api: Api, alice: Member, shared: Memory, large: Run) -> None:
    answer = revert(api, alice, large, prefer="respond-async")
    assert (answer.status, answer.json["object"], answer.json["status"]) == (202, "memory.job", "pending")
    assert "Number 0." in derived(shared)
    jobs.run(answer.json["id"], KINDS)
    assert api.get(f"/v1/memories/{shared.id}/jobs/{answer.json['id']}", alice)["status"] == "completed"
    assert derived(shared) == {"Rent is 900."}


def test_a_small_one_makes_no_job(api: Api, alice: Member, shared: Memory) -> None:
    run = consolidate(alice, shared, "fact: Tea.", "fact: Oak.")
    assert revert(api, alice, run, prefer="respond-async").json["reverted"] is True
    assert not Job.objects.filter(kind="revert").exists()


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("within", [False, True])
def test_killed_anywhere_it_goes_on_and_does_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, alice: Member, shared: Memory, large: Run, after: int, within: bool
) -> None:
    class Killed(BaseException):
        pass

    calls = 0

    def killed(original: Callable[..., Any]) -> Callable[..., Any]:
        def act(*args: Any, **named: Any) -> Any:
            nonlocal calls
            answer = original(*args, **named)
            calls += 1
            if calls == after + 1:
                raise Killed
            return answer

        return act

    job = begun(alice, shared, large)
    with monkeypatch.context() as patch:
        patch.setattr(
            *((jobs, "step") if within else (undoing_many, "batch")),
            killed(jobs.step if within else undoing_many.batch),
        )
        with pytest.raises(Killed):
            jobs.run(job.id, KINDS)
    jobs.run(job.id, KINDS)
    job.refresh_from_db()
    assert (job.state, job.done) == ("completed", 6)
    assert {name: job.result[name] for name in undoing_many.COUNTED} == {"restored": 1, "forgotten": 5, "skipped": 0}
    assert derived(shared) == {"Rent is 900."}
    assert Version.objects.filter(content=[{"type": "text", "text": "Rent is 900."}]).count() == 2
    assert Event.objects.filter(action="consolidation.reverted").count() == 1
    jobs.run(job.id, KINDS)
    assert Version.objects.filter(memory=shared, writer_kind="member").exclude(type="episode").count() == 1


def test_while_it_is_unfinished_no_run_begins_and_the_same_joins_it(
    api: Api, alice: Member, shared: Memory, large: Run
) -> None:
    job = begun(alice, shared, large)
    factories.record(alice, shared, "fact: New.", type="episode")
    refused = api.call("POST", f"/v1/memories/{shared.id}/consolidations", None, as_=alice)
    assert (refused.status, refused.json["error"]["code"]) == (409, "memory_busy")
    assert runs_begin_by_themselves(shared) == 0
    part = [RunChange.objects.filter(run=large)[0].id]
    for chosen in (None, part):
        joined = undoing_many.begin(at(alice, shared), large.id, chosen)
        assert isinstance(joined, Job)
        assert joined.id == job.id
    other = Run.objects.exclude(pk=large.pk).get()
    with pytest.raises(MemoryBusy):
        undoing_many.begin(at(alice, shared), other.id)
    jobs.run(job.id, KINDS)
    assert runs.start(at(alice, shared)).state == "queued"


def runs_begin_by_themselves(memory: Memory) -> int:
    """How many runs a sweep would begin: none, and it does not fail."""
    try:
        return int(runs.start_by_itself(memory.id, memory.organisation_id, Run.Trigger.IDLE) is not None)
    except MemoryBusy:
        return 0


def test_what_a_job_takes_back_in_part_does_not_cover_the_whole(alice: Member, shared: Memory, large: Run) -> None:
    part = list(RunChange.objects.filter(run=large, kind="created").values_list("id", flat=True)[:4])
    job = undoing_many.begin(at(alice, shared), large.id, part, later=True)
    assert isinstance(job, Job)
    with pytest.raises(MemoryBusy):
        undoing_many.begin(at(alice, shared), large.id)
    jobs.run(job.id, KINDS)
    assert derived(shared) == {"Number 4.", "Rent is 950."}


def test_a_request_that_waits_too_long_leaves_the_rest_to_a_worker(
    monkeypatch: pytest.MonkeyPatch, api: Api, alice: Member, shared: Memory, large: Run
) -> None:
    monkeypatch.setattr(undoing_many, "PATIENCE_SECONDS", 0.0)
    answer = revert(api, alice, large)
    job = Job.objects.get(kind="revert")
    assert (answer.status, answer.json["error"]["code"]) == (503, "memory_unavailable")
    assert (job.state, job.done) == ("queued", 2)
    jobs.run(job.id, KINDS)
    assert derived(shared) == {"Rent is 900."}


def test_a_memory_that_is_deleted_meanwhile_ends_it(alice: Member, shared: Memory, large: Run) -> None:
    job = begun(alice, shared, large)
    tree.delete(at(alice, shared))
    jobs.run(job.id, KINDS)
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_it_takes_delete_and_a_run_of_this_memory(alice: Member, bob: Member, shared: Memory, large: Run) -> None:
    with pytest.raises(MemoryForbidden):
        undoing_many.begin(at(bob, shared), large.id)
    with pytest.raises(MemoryNotFound):
        undoing_many.begin(at(alice, factories.memory(alice)), large.id)
    with pytest.raises(MemoryNotFound):
        undoing_many.find(at(alice, shared), large.job_id)
