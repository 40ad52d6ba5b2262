"""Observing: what was said is kept at once and as it was said, all of it or nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from members.models import Member
from memories import fence
from memories.models import Job, Memory, Record, Run, Schedule, Version
from tests import factories
from tests.conftest import Answer, Api
from tests.memories.plain_engine import PlainEngine, done
from tests.parallel import at_once

pytestmark = pytest.mark.django_db


def observe(api: Api, who: Member, memory: Memory, *episodes: Any, **headers: str) -> Answer:
    body = {"episodes": [one if isinstance(one, dict) else {"content": one} for one in episodes]}
    return api.call("POST", f"/v1/memories/{memory.id}/observe", body, as_=who, headers=headers)


def test_each_episode_is_a_record_of_the_caller_at_once(api: Api, bob: Member, shared: Memory) -> None:
    turn = [
        {"type": "text", "text": "I prefer tea.", "role": "user"},
        {"type": "text", "text": "Noted.", "role": "assistant"},
    ]
    answer = observe(api, bob, shared, {"content": turn, "attributes": {"session_id": "s1"}}, "And coffee on Sundays.")
    assert answer.status == 200
    assert "job" not in answer.json
    first, second = answer.json["data"]
    assert (first["type"], first["content"], first["attributes"]) == ("episode", turn, {"session_id": "s1"})
    assert first["written_by"] == {"kind": "member", "id": bob.id, "type": "human"}
    assert second["content"] == [{"type": "text", "text": "And coffee on Sundays."}]
    assert api.get(f"/v1/memories/{shared.id}/records/{first['id']}", bob) == first
    assert Version.objects.get(record_id=first["id"]).session == "s1"


def test_an_episode_is_only_ever_appended_to(api: Api, alice: Member, shared: Memory) -> None:
    kept = observe(api, alice, shared, "Said.").json["data"][0]
    address = f"/v1/memories/{shared.id}/records/{kept['id']}"
    assert api.call("PATCH", address, {"content": "Never said."}, as_=alice).status == 422
    assert api.ok("DELETE", address, None, alice)["status"] == "forgotten"


@pytest.mark.parametrize(
    ("episodes", "param"),
    [
        (7, "episodes"),
        ([], "episodes"),
        (None, "episodes"),
        (["Said."], "episodes.0"),
        ([{"content": "Said."}, {}], "episodes.1.content"),
        ([{"content": []}], "episodes.0.content"),
        ([{"content": " "}], "episodes.0.content"),
        ([{"content": [{"type": "image"}]}], "episodes.0.content.0.type"),
        ([{"content": [{"type": "text", "text": "x", "role": "narrator"}]}], "episodes.0.content.0.role"),
        ([{"content": "Said.", "attributes": 7}], "episodes.0.attributes"),
        ([{"content": [{"type": "file", "file": {"id": "file_x"}}]}], "episodes.0.content.0.file.id"),
        ([{"content": "x"}] * 201, "episodes"),
    ],
)
def test_a_wrong_episode_is_named_and_nothing_is_kept(
    api: Api, alice: Member, shared: Memory, episodes: Any, param: str
) -> None:
    answer = api.call("POST", f"/v1/memories/{shared.id}/observe", {"episodes": episodes}, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)
    assert not Record.objects.exists()


def test_with_one_episode_that_cannot_be_kept_none_is(api: Api, alice: Member, shared: Memory) -> None:
    bad = {"content": [{"type": "file", "file": {"id": "file_" + "0" * 32}}]}
    answer = observe(api, alice, shared, "Said.", bad)
    assert (answer.status, answer.error["param"]) == (422, "episodes.1.content.0.file.id")
    assert not Record.objects.exists()
    assert not Schedule.objects.exists()


def test_who_may_not_write_observes_nothing(api: Api, carol: Member, stranger: Member, shared: Memory) -> None:
    assert observe(api, carol, shared, "Said.").error["code"] == "memory_forbidden"
    assert observe(api, stranger, shared, "Said.").error["code"] == "memory_not_found"
    assert not Record.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_keep_twenty_turns(api: Api, alice: Member, shared: Memory) -> None:
    api.key(alice)
    calls = [partial(observe, api, alice, shared, f"Turn {number}.", f"Reply {number}.") for number in range(20)]
    answers = at_once(calls)
    assert {answer.status for answer in answers} == {200}
    said = {version.content[0]["text"] for version in Version.objects.filter(type="episode")}
    assert said == {f"{word} {number}." for word in ("Turn", "Reply") for number in range(20)}
    assert Version.objects.count() == 40


def test_who_prefers_not_to_wait_gets_a_job_that_shows_the_records(
    api: Api, alice: Member, bob: Member, shared: Memory
) -> None:
    answer = observe(api, bob, shared, "Canary one.", "Canary two.", Prefer="respond-async")
    assert (answer.status, answer.headers["Preference-Applied"]) == (202, "respond-async")
    assert answer.json["data"] == []
    job = answer.json["job"]
    assert set(job) == {"id", "status"}
    shown = api.get(f"/v1/memories/{shared.id}/jobs/{job['id']}", bob)
    assert [one["content"][0]["text"] for one in shown["data"]] == ["Canary one.", "Canary two."]
    assert shown["status"] == job["status"] == "completed"
    # What was said is in the records, and nowhere else.
    assert "Canary" not in str(Job.objects.values_list("payload", "result").get())
    api.ok("POST", f"/v1/memories/{shared.id}/erase", {"record_ids": [shown["data"][0]["id"]]}, alice)
    left = api.get(f"/v1/memories/{shared.id}/jobs/{job['id']}", bob)["data"]
    assert [one["content"][0]["text"] for one in left] == ["Canary two."]


def test_the_job_is_read_through_its_memory_by_its_readers(
    api: Api, alice: Member, carol: Member, stranger: Member, shared: Memory
) -> None:
    job = observe(api, alice, shared, "Said.", Prefer="respond-async").json["job"]["id"]
    assert len(api.get(f"/v1/memories/{shared.id}/jobs/{job}", carol)["data"]) == 1
    other = factories.memory(alice)
    for who, memory in ((alice, other), (stranger, shared)):
        assert api.call("GET", f"/v1/memories/{memory.id}/jobs/{job}", as_=who).status == 404


@pytest.mark.parametrize("headers", [{}, {"Prefer": "respond-async"}])
def test_a_repeated_key_keeps_one_episode(api: Api, alice: Member, shared: Memory, headers: dict[str, str]) -> None:
    first, again = (observe(api, alice, shared, "Said once.", **{"Idempotency-Key": "k"}, **headers) for _ in range(2))
    assert again.status == first.status == (202 if headers else 200)
    assert again.raw == first.raw
    assert Record.objects.count() == 1


def test_what_was_recalled_is_kept_as_said_and_learned_from_by_nobody(
    api: Api, alice: Member, shared: Memory, plain: PlainEngine
) -> None:
    quoted = fence.fenced(["fact: The code is 4711."], "Shared")
    kept = observe(api, alice, shared, quoted, f"fact: Tea is better. {quoted}").json["data"]
    assert quoted in kept[1]["content"][0]["text"]
    run = api.ok("POST", f"/v1/memories/{shared.id}/consolidations", None, alice)
    assert done(Run.objects.get(pk=run["id"])).created == 1
    assert not any("4711" in said for said in plain.seen)
    derived = Version.objects.get(writer_kind="provider")
    assert derived.content[0]["text"].strip() == "Tea is better."
