"""Consolidation runs: what they read, write and may not touch; how they stop, go on and share the worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from members.models import Event, Member
from memories.consolidation.base import EngineFailed
from memories.content import read_changes, read_draft
from memories.models import Conflict, Job, Memory, Refused, Run, RunChange, Version
from memories.services import consolidating, deciding, erasure, fairness, jobs, records, runs, tree
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Answer, Api
from tests.factories import at
from tests.memories.plain_engine import PlainEngine, done
from uhp_site.http.errors import MemoryNotFound

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain")]


def path(memory: Memory, rest: str = "") -> str:
    return f"/v1/memories/{memory.id}/consolidations{rest}"


def say(who: Member, memory: Memory, *words: str) -> list[str]:
    return [factories.record(who, memory, one, type="episode").id for one in words]


def start(who: Member, memory: Memory, budget: runs.Budget | None = None) -> Run:
    return runs.start(at(who, memory), budget)


def run(who: Member, memory: Memory, budget: runs.Budget | None = None) -> Run:
    return done(start(who, memory, budget))


def current(memory: Memory) -> dict[str, Version]:
    """What a memory says now, episodes left out, by its words."""
    versions = Version.objects.current().filter(memory=memory).exclude(type="episode")
    return {version.title or version.content[0]["text"]: version for version in versions}


def test_a_run_says_what_it_read_wrote_and_used(api: Api, alice: Member, bob: Member, shared: Memory) -> None:
    [source, *_] = say(bob, shared, "fact: Tea is better.", "Hello there.")
    answer = api.ok("POST", path(shared), None, alice)
    assert answer == {
        "id": answer["id"],
        "object": "memory.consolidation",
        "memory_id": shared.id,
        "status": "queued",
        "trigger": "request",
        "started_at": None,
        "finished_at": None,
        "read": {"episodes": 0, "through": None},
        "changes": {"created": 0, "superseded": 0, "forgotten": 0},
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "budget": {"exhausted": False},
        "written_by": {"kind": "provider", "id": "plain"},
        "error": "",
        "x_supported": 0,
        "x_conflicts": 0,
    }
    done(Run.objects.get(pk=answer["id"]))
    ended = api.get(path(shared, f"/{answer['id']}"), alice)
    assert (ended["status"], ended["changes"]) == ("completed", {"created": 1, "superseded": 0, "forgotten": 0})
    newest = Version.objects.filter(type="episode").latest("written_at").written_at
    assert ended["read"] == {"episodes": 2, "through": newest.isoformat(timespec="microseconds").replace("+00:00", "Z")}
    assert ended["usage"] == {"input_tokens": 6, "output_tokens": 0}
    assert abs(ended["finished_at"] - time.time()) < 60
    assert api.get(path(shared), alice)["data"] == [ended]
    derived = current(shared)["Tea is better."]
    record = api.get(f"/v1/memories/{shared.id}/records/{derived.record_id}", alice)
    assert record["written_by"] == {
        "kind": "provider",
        "id": "plain",
        "on_behalf_of": bob.principal,
        "consolidation_id": answer["id"],
    }
    assert record["references"] == [
        {"rel": "derived_from", "record_id": source, "memory_id": shared.id, "available": True}
    ]
    assert record["trust"] == "untrusted"


@pytest.mark.parametrize(
    ("budget", "param"),
    [
        (7, "budget"),
        ({}, "budget.limit"),
        ({"limit": 0}, "budget.limit"),
        ({"limit": "1"}, "budget.limit"),
        ({"limit": True}, "budget.limit"),
        ({"limit": 1, "unit": "euros"}, "budget.unit"),
    ],
)
def test_a_wrong_budget_is_named(api: Api, alice: Member, shared: Memory, budget: Any, param: str) -> None:
    answer = api.call("POST", path(shared), {"budget": budget}, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)
    assert not Run.objects.exists()
    assert not Job.objects.exists()


def test_runs_are_paged_newest_first_and_read_by_readers_only(
    api: Api, alice: Member, carol: Member, stranger: Member, shared: Memory
) -> None:
    made = [run(alice, shared).id for _ in range(3)][::-1]
    first = api.get(path(shared, "?limit=2"), carol)
    rest = api.get(path(shared, f"?limit=2&cursor={first['next']}"), carol)
    assert [one["id"] for one in first["data"] + rest["data"]] == made
    assert rest["next"] is None
    assert api.call("POST", path(shared), None, as_=carol).status == 403
    assert api.call("GET", path(shared), as_=stranger).status == 404
    elsewhere = factories.memory(alice)
    unknown = api.call("GET", path(shared, "/hcon_" + "0" * 32), as_=alice)
    other = api.call("GET", path(elsewhere, f"/{made[0]}"), as_=alice)
    assert (other.status, other.raw) == (404, unknown.raw)


def test_one_run_at_a_time_and_nothing_moves_meanwhile(api: Api, alice: Member, shared: Memory) -> None:
    below = factories.memory(alice, shared)
    first = start(alice, below)
    for method, address, body in (
        ("POST", path(below), None),
        ("DELETE", f"/v1/memories/{shared.id}", None),
        ("PUT", f"/v1/memories/{below.id}", {"parent_id": None}),
        ("POST", path(below, f"/{first.id}/revert"), None),
    ):
        answer = api.call(method, address, body, as_=alice)
        assert (answer.status, answer.error["code"]) == (409, "memory_busy"), address
    assert api.call("POST", path(shared), None, as_=alice).status == 200
    factories.record(alice, below, "Writing goes on.")
    done(first)
    assert start(alice, below).id != first.id


def test_a_budget_of_episodes_stops_a_run_and_the_next_goes_on(
    api: Api, alice: Member, shared: Memory, plain: PlainEngine
) -> None:
    said = [f"fact: Number {number}." for number in range(5)]
    say(alice, shared, *said)
    body = {"budget": {"limit": 2, "unit": "episodes"}}
    first = api.ok("POST", path(shared), body, alice)
    stopped = done(Run.objects.get(pk=first["id"]))
    shown = api.get(path(shared, f"/{stopped.id}"), alice)
    assert (shown["status"], shown["budget"]) == ("stopped", {"limit": 2, "unit": "episodes", "exhausted": True})
    assert len(current(shared)) == 2
    rest = run(alice, shared)
    assert (rest.state, rest.episodes, rest.created) == ("completed", 3, 3)
    assert plain.seen == said


def test_a_budget_of_tokens_is_never_passed(alice: Member, shared: Memory, plain: PlainEngine) -> None:
    say(alice, shared, "fact: One two.", "fact: Three four five six.", "fact: Seven.")
    first = run(alice, shared, runs.Budget(4))
    assert (first.state, first.exhausted, first.episodes, first.tokens) == ("stopped", True, 1, 3)
    second = run(alice, shared, runs.Budget(2))
    assert (second.state, second.exhausted, second.episodes, second.tokens) == ("stopped", True, 0, 0)
    assert run(alice, shared).episodes == 2
    assert len(plain.seen) == 3


def test_a_budget_that_is_just_enough_completes(alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: One.", "fact: Two.")
    ended = run(alice, shared, runs.Budget(2, "episodes"))
    assert (ended.state, ended.exhausted, ended.episodes) == ("completed", False, 2)


def test_nothing_is_read_twice_and_what_comes_later_is_the_next_runs(
    alice: Member, shared: Memory, plain: PlainEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidating, "TOGETHER", 3)
    said = [f"fact: Number {number}." for number in range(8)]
    say(alice, shared, *said)
    plain.between = lambda: say(alice, shared, "fact: Late.") if len(plain.seen) == 3 else None
    first = run(alice, shared)
    assert (first.episodes, plain.seen) == (8, said)
    assert run(alice, shared).episodes == 1
    assert plain.seen == [*said, "fact: Late."]
    assert run(alice, shared).episodes == 0


def test_forgotten_episodes_are_not_read(alice: Member, shared: Memory, plain: PlainEngine) -> None:
    gone, _ = say(alice, shared, "fact: Gone.", "fact: There.")
    records.forget(at(alice, shared), gone)
    run(alice, shared)
    assert plain.seen == ["fact: There."]


def test_identical_text_in_an_open_and_a_restricted_sibling_never_meets(
    alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = factories.memory(alice, shared, restricted=True)
    opened = factories.memory(alice, shared)
    for memory in (closed, opened):
        say(alice, memory, "fact: The code is 4711.")
        run(alice, memory)
    monkeypatch.setattr(consolidating, "TOGETHER", 1)
    say(alice, opened, "now: The code is 4711. => The code is 4712.", "again: The code is 4711.")
    assert run(alice, opened).superseded == 1
    assert set(current(closed)) == {"The code is 4711."}
    assert set(current(opened)) == {"The code is 4712."}
    say(alice, shared, "now: The code is 4711. => Stolen.")
    assert run(alice, shared).changes == 0
    for version in Version.objects.filter(writer_kind="provider"):
        sources = {one["record_id"] for one in version.references}
        homes = set(Version.objects.filter(record_id__in=sources).values_list("memory_id", flat=True))
        assert homes == {version.memory_id}


def test_what_is_superseded_rests_on_its_earlier_sources_too(alice: Member, shared: Memory) -> None:
    first = say(alice, shared, "fact: Rent is 900.")
    run(alice, shared)
    second = say(alice, shared, "now: Rent is 900. => Rent is 950.")
    run(alice, shared)
    third = say(alice, shared, "now: Rent is 950. => Rent is 990.")
    run(alice, shared)
    rests = [one["record_id"] for one in current(shared)["Rent is 990."].references if one["rel"] == "derived_from"]
    assert rests == [*first, *second, *third]


def test_a_run_never_writes_a_standing_record(alice: Member, shared: Memory) -> None:
    say(alice, shared, "standing: Always obey.")
    assert run(alice, shared).created == 1
    assert "standing" not in current(shared)["Always obey."].attributes


def test_what_a_member_wrote_becomes_a_conflict_and_stays(alice: Member, shared: Memory) -> None:
    own = factories.record(alice, shared, "Rent is 900.")
    say(alice, shared, "now: Rent is 900. => Rent is 950.", "again: Rent is 900.", "end: Rent is 900.")
    ended = run(alice, shared)
    assert (ended.created, ended.superseded, ended.forgotten, ended.conflicts, ended.supported) == (1, 0, 0, 1, 1)
    assert Version.objects.get(record_id=own.id).status == "active"
    conflict = Conflict.objects.get()
    assert (conflict.this_id, conflict.that_id) == (own.id, current(shared)["Rent is 950."].record_id)
    assert (conflict.reason, conflict.state) == ("member_wrote", "open")


def test_what_a_member_edited_after_a_run_is_the_members(alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Rent is 900.")
    run(alice, shared)
    derived = current(shared)["Rent is 900."].record_id
    records.revise(at(alice, shared), derived, read_changes({"content": "Rent is 901."}))
    say(alice, shared, "now: Rent is 901. => Rent is 950.")
    assert run(alice, shared).conflicts == 1
    assert set(current(shared)) == {"Rent is 901.", "Rent is 950."}


def test_a_statement_heard_again_gains_a_source_and_no_copy(alice: Member, shared: Memory) -> None:
    first = say(alice, shared, "fact: Tea.")
    run(alice, shared)
    again = say(alice, shared, "again: Tea.")
    ended = run(alice, shared)
    assert (ended.supported, ended.created, ended.superseded) == (1, 0, 0)
    assert {one["record_id"] for one in current(shared)["Tea."].references} == {*first, *again}


def test_a_new_entity_is_pointed_at_by_its_key_and_made_up_ids_are_dropped(alice: Member, shared: Memory) -> None:
    source = say(alice, shared, "named: Acme")
    run(alice, shared)
    entity, about = current(shared)["Acme"], current(shared)["About Acme."]
    assert entity.type == "entity"
    assert [(one["rel"], one["record_id"]) for one in about.references] == [
        ("about", entity.record_id),
        ("derived_from", source[0]),
    ]


def test_what_is_over_is_closed_unless_a_member_wrote_it(alice: Member, shared: Memory) -> None:
    own = factories.record(alice, shared, "Own.", time={"valid_to": "2020-01-01T00:00:00Z"})
    say(alice, shared, "fact: Over.", "fact: Not over.")
    run(alice, shared)
    over = current(shared)["Over."]
    Version.objects.filter(pk=over.pk).update(valid_to=timezone.now() - timedelta(days=1))
    say(alice, shared, "end: Not over.")
    ended = run(alice, shared)
    assert (ended.forgotten, ended.state) == (1, "completed")
    assert set(current(shared)) == {"Own.", "Not over."}
    assert current(shared)["Own."].record_id == own.id
    assert not Refused.objects.exists()


def test_changes_show_each_record_with_before_after_sources_and_reason(
    api: Api, alice: Member, carol: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidating, "TOGETHER", 1)
    first, second, third = say(alice, shared, "fact: Tea.", "now: Tea. => Coffee.", "again: Coffee.")
    ended = run(alice, shared)
    data = api.get(path(shared, f"/{ended.id}/changes"), carol)["data"]
    assert [(one["change"], one["version"], one["x_change"]["reason"]) for one in data] == [
        ("created", 1, "stated"),
        ("superseded", 2, "corrected"),
        ("x_supported", 3, "repeated"),
    ]
    assert [one["x_change"]["sources"] for one in data] == [[first], [second], [third]]
    assert "x_before" not in data[0]
    assert data[1]["x_before"]["content"] == [{"type": "text", "text": "Tea."}]
    assert data[1]["content"] == [{"type": "text", "text": "Coffee."}]
    assert {one["object"] for one in data} == {"memory.record"}
    page = api.get(path(shared, f"/{ended.id}/changes?limit=1"), carol)
    rest = api.get(path(shared, f"/{ended.id}/changes?cursor={page['next']}"), carol)
    assert page["data"] + rest["data"] == data
    assert rest["next"] is None


def test_erased_records_are_gone_from_the_changes(api: Api, alice: Member, shared: Memory) -> None:
    source, _ = say(alice, shared, "fact: The secret is 4711.", "fact: Tea.")
    ended = run(alice, shared)
    report = api.ok("POST", f"/v1/memories/{shared.id}/erase", {"record_ids": [source]}, alice)
    assert len(report["erased"]) == 2
    answer = api.call("GET", path(shared, f"/{ended.id}/changes"), as_=alice)
    assert [one["content"][0]["text"] for one in answer.json["data"]] == ["Tea."]
    assert b"4711" not in answer.raw
    assert RunChange.objects.count() == 2
    for row in (*RunChange.objects.values_list(), *Run.objects.values_list(), *Refused.objects.values_list()):
        assert "4711" not in str(row)


def test_an_erasure_during_a_run_is_whole(alice: Member, shared: Memory, plain: PlainEngine) -> None:
    gone, kept = say(alice, shared, "fact: The secret is 4711.", "fact: Tea.")

    def erase() -> None:
        erasure.finish(at(alice, shared), erasure.begin(at(alice, shared), [gone]).id)

    plain.between = erase
    ended = run(alice, shared)
    assert (ended.state, ended.created) == ("completed", 1)
    assert set(current(shared)) == {"Tea."}
    assert not Version.objects.filter(content__icontains="4711").exists()
    assert Version.objects.filter(record_id=kept).exists()


def test_an_episode_forgotten_while_an_engine_thinks_is_not_derived_from(
    alice: Member, shared: Memory, plain: PlainEngine
) -> None:
    [gone] = say(alice, shared, "fact: Gone.")
    plain.between = lambda: records.forget(at(alice, shared), gone)
    assert run(alice, shared).created == 0


def test_an_edit_while_an_engine_thinks_wins(alice: Member, shared: Memory, plain: PlainEngine) -> None:
    say(alice, shared, "fact: Tea.")
    run(alice, shared)
    derived = current(shared)["Tea."].record_id
    say(alice, shared, "now: Tea. => Coffee.")
    plain.between = lambda: records.revise(at(alice, shared), derived, read_changes({"content": "Green tea."}))
    assert run(alice, shared).conflicts == 1
    assert set(current(shared)) == {"Green tea.", "Coffee."}


def test_what_a_person_forgot_is_not_written_again(alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea is better.")
    run(alice, shared)
    records.forget(at(alice, shared), current(shared)["Tea is better."].record_id)
    say(alice, shared, "fact: TEA is  better", "fact: Coffee.")
    assert run(alice, shared).created == 1
    assert set(current(shared)) == {"Coffee."}
    elsewhere = factories.memory(alice)
    say(alice, elsewhere, "fact: Tea is better.")
    assert run(alice, elsewhere).created == 1


def test_a_message_that_comes_twice_changes_nothing(alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.")
    ended = run(alice, shared)
    before = list(Version.objects.order_by("pk").values_list())
    again = done(ended)
    Job.objects.filter(pk=ended.job_id).update(state="running")
    done(again)
    assert list(Version.objects.order_by("pk").values_list()) == before
    assert Run.objects.get().state == "completed"


def test_a_batch_that_another_process_has_written_is_not_written_again(
    alice: Member, shared: Memory, plain: PlainEngine
) -> None:
    say(alice, shared, "fact: Tea.", "fact: Coffee.")
    begun = start(alice, shared)

    def overtake() -> None:
        plain.between = lambda: None
        consolidating.work(Job.objects.get(pk=begun.job_id))

    plain.between = overtake
    ended = done(begun)
    assert (ended.state, ended.created, ended.episodes) == ("completed", 2, 2)
    assert len(current(shared)) == 2


class Killed(BaseException):
    """The end of a process, as far as a test can have one."""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("where", ["engine", "writing", "after", "end"])
def test_killed_anywhere_a_run_goes_on_without_a_copy_or_a_gap(
    alice: Member, shared: Memory, plain: PlainEngine, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidating, "TOGETHER", 2)
    said = [f"fact: Number {number}." for number in range(5)]
    say(alice, shared, *said)
    begun = start(alice, shared)
    calls = []

    def killed_at(second: Callable[..., Any]) -> Callable[..., Any]:
        def stand_in(*args: Any, **kwargs: Any) -> Any:
            calls.append(1)
            if len(calls) == (1 if where == "end" else 2):
                raise Killed
            return second(*args, **kwargs)

        return stand_in

    with monkeypatch.context() as patch:
        if where == "engine":
            patch.setattr(plain, "between", killed_at(lambda: None))
        else:
            target: tuple[Any, str] = {
                "writing": (RunChange.objects, "bulk_create"),
                "after": (jobs, "step"),
                "end": (consolidating, "end"),
            }[where]
            patch.setattr(*target, killed_at(getattr(*target)))
        with pytest.raises(Killed):
            jobs.run(begun.job_id, KINDS)
    ended = done(begun)
    assert (ended.state, ended.episodes, ended.created) == ("completed", 5, 5)
    assert sorted(current(shared)) == sorted(one.removeprefix("fact: ") for one in said)
    assert RunChange.objects.count() == 5


def test_an_engine_that_fails_is_tried_again_and_then_the_run_has_failed(
    api: Api, alice: Member, shared: Memory, plain: PlainEngine
) -> None:
    say(alice, shared, "fact: Tea.")
    begun = start(alice, shared)

    def fail() -> None:
        raise EngineFailed("The model did not answer.", input_tokens=7)

    plain.between = fail
    for attempt in range(1, jobs.MOST_ATTEMPTS + 1):
        ended = done(begun)
        assert ended.is_active is (attempt < jobs.MOST_ATTEMPTS)
    shown = api.get(path(shared, f"/{begun.id}"), alice)
    assert (shown["status"], shown["error"], shown["usage"]["input_tokens"]) == (
        "failed",
        "The model did not answer.",
        35,
    )
    assert current(shared) == {}
    plain.between = lambda: None
    jobs.retry(Job.objects.get(pk=begun.job_id))
    again = done(begun)
    assert (again.state, again.created, again.error) == ("completed", 1, "")


def test_an_unexpected_failure_says_nothing_of_what_was_said(alice: Member, shared: Memory, plain: PlainEngine) -> None:
    say(alice, shared, "fact: The secret is 4711.")
    begun = start(alice, shared)

    def fail() -> None:
        raise RuntimeError(plain.seen[-1])

    plain.between = fail
    for _ in range(jobs.MOST_ATTEMPTS):
        ended = done(begun)
    assert (ended.state, ended.error) == ("failed", "It failed (RuntimeError).")
    assert "4711" not in Job.objects.get(pk=begun.job_id).error


def test_a_waiting_run_is_stopped_at_once(alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.")
    begun = start(alice, shared)
    stopped = runs.stop(at(alice, shared), begun.id)
    assert (stopped.state, Job.objects.get().state) == ("stopped", "cancelled")
    assert done(begun).state == "stopped"
    assert current(shared) == {}
    assert run(alice, shared).created == 1


def test_a_run_at_work_is_stopped_after_its_batch_and_keeps_what_it_did(
    alice: Member, carol: Member, shared: Memory, plain: PlainEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidating, "TOGETHER", 2)
    say(alice, shared, *(f"fact: Number {number}." for number in range(6)))
    begun = start(alice, shared)
    plain.between = lambda: runs.stop(at(alice, shared), begun.id)
    ended = done(begun)
    assert (ended.state, ended.exhausted, ended.created) == ("stopped", False, 2)
    assert runs.stop(at(alice, shared), begun.id).state == "stopped"
    plain.between = lambda: None
    assert run(alice, shared).created == 4
    assert Event.objects.filter(action="consolidation.stopped").count() == 1
    with pytest.raises(MemoryNotFound):
        runs.stop(at(alice, shared), "hcon_" + "0" * 32)


def test_a_job_is_cancelled_before_it_begins_or_not_at_all(alice: Member, shared: Memory) -> None:
    job = jobs.enqueue("purge", shared.organisation_id)
    assert jobs.cancel(job)
    jobs.run(job.id, {"purge": lambda _: pytest.fail("it was cancelled")})
    assert Job.objects.get(pk=job.id).state == "cancelled"
    begun = jobs.enqueue("purge", shared.organisation_id)
    jobs.run(begun.id, {"purge": lambda one: cancelled.append(jobs.cancel(one))})
    assert (cancelled, Job.objects.get(pk=begun.id).state) == ([False], "completed")


cancelled: list[bool] = []


@pytest.mark.django_db(transaction=True)
def test_a_noisy_organisation_does_not_delay_anothers_first_run(
    alice: Member, mallory: Member, plain: PlainEngine
) -> None:
    noisy = [factories.memory(alice) for _ in range(20)]
    for memory in noisy:
        say(alice, memory, "fact: Noise.")
        start(alice, memory)
    assert fairness.take_turn(KINDS)
    quiet = factories.memory(mallory)
    say(mallory, quiet, "fact: Quiet.")
    first = start(mallory, quiet)
    assert fairness.next_job() == first.job_id
    taken = [fairness.take_turn(KINDS) for _ in range(25)]
    assert taken[0] == first.job_id
    assert taken[20:] == [None] * 5
    assert not Run.objects.active().exists()


@pytest.mark.django_db(transaction=True)
def test_a_long_run_makes_room_and_goes_on_later(
    alice: Member, mallory: Member, plain: PlainEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidating, "TOGETHER", 2)
    monkeypatch.setattr(consolidating, "TURN_SECONDS", 0.0)
    long, short = factories.memory(alice), factories.memory(mallory)
    say(alice, long, *(f"fact: Number {number}." for number in range(6)))
    say(mallory, short, "fact: Short.")
    first, second = start(alice, long), start(mallory, short)
    turns = []
    while chosen := fairness.take_turn(KINDS):
        turns.append(chosen)
    assert turns[:3] == [first.job_id, second.job_id, first.job_id]
    assert {one.state for one in Run.objects.all()} == {"completed"}
    assert len(current(long)) == 6


@pytest.mark.django_db(transaction=True)
def test_what_a_dead_worker_left_is_ready_at_once_and_what_another_is_at_is_not(
    alice: Member, shared: Memory, plain: PlainEngine
) -> None:
    say(alice, shared, "fact: Tea.")
    begun = start(alice, shared)
    seen: list[str | None] = []
    plain.between = lambda: seen.append(fairness.next_job())
    jobs.run(begun.job_id, KINDS)
    assert seen == [None]
    Job.objects.filter(pk=begun.job_id).update(state="running")
    assert fairness.next_job() == begun.job_id


def test_conflicts_are_decided_once(alice: Member, carol: Member, shared: Memory) -> None:
    own = factories.record(alice, shared, "Rent is 900.")
    say(alice, shared, "against: Rent is 900. => Rent is 950.")
    run(alice, shared)
    [pair] = deciding.listed(at(carol, shared), 10)
    assert (pair.this.id, pair.that.draft.said if pair.that else "") == (own.id, "Rent is 950.")
    decided = deciding.decide(at(alice, shared), pair.conflict.id, deciding.Decision.THIS)
    assert (decided.state, decided.decided_by) == ("decided", alice.principal)
    assert set(current(shared)) == {"Rent is 900."}
    assert deciding.listed(at(alice, shared), 10) == []
    with pytest.raises(MemoryNotFound):
        deciding.decide(at(alice, shared), pair.conflict.id, deciding.Decision.THAT)
    say(alice, shared, "against: Rent is 900. => Rent is 950.")
    assert run(alice, shared).changes == 0


@pytest.mark.parametrize(
    ("decision", "left"),
    [
        (deciding.Decision.THAT, {"Rent is 950."}),
        (deciding.Decision.BOTH, {"Rent is 900.", "Rent is 950."}),
        (deciding.Decision.NEW, {"Rent is 925."}),
    ],
)
def test_a_person_keeps_one_both_or_writes_a_new_one(
    alice: Member, shared: Memory, decision: deciding.Decision, left: set[str]
) -> None:
    factories.record(alice, shared, "Rent is 900.")
    say(alice, shared, "against: Rent is 900. => Rent is 950.")
    run(alice, shared)
    draft = read_draft({"content": "Rent is 925."}) if decision == deciding.Decision.NEW else None
    deciding.decide(at(alice, shared), Conflict.objects.get().id, decision, draft)
    assert set(current(shared)) == left


def test_a_conflict_of_which_a_record_is_gone_is_not_listed(alice: Member, shared: Memory) -> None:
    own = factories.record(alice, shared, "Rent is 900.")
    say(alice, shared, "against: Rent is 900. => Rent is 950.")
    run(alice, shared)
    records.forget(at(alice, shared), own.id)
    assert deciding.listed(at(alice, shared), 10) == []


def test_runs_and_all_about_them_go_with_their_memory(alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "Rent is 900.")
    say(alice, shared, "against: Rent is 900. => Rent is 950.")
    run(alice, shared)
    tree.delete(at(alice, shared))
    jobs.run(Job.objects.get(kind=tree.PURGE).id, KINDS)
    assert not any(model.objects.exists() for model in (Run, RunChange, Conflict, Refused))


def test_a_repeated_key_starts_one_run(api: Api, alice: Member, shared: Memory) -> None:
    def send() -> Answer:
        return api.call("POST", path(shared), None, as_=alice, headers={"Idempotency-Key": "k"})

    first = send()
    done(Run.objects.get())
    assert send().raw == first.raw
    assert Run.objects.count() == 1
