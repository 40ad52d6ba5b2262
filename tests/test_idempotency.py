"""Idempotency-Key: a write is done once, whoever asks again gets the first answer, and nobody else does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from members import idempotency
from members.models import KeptAnswer, Member
from members.services import revoke_key
from members.tasks import purge_answers
from memories.models import Grant, Hold, Job, Memory, Record, Snapshot, Version
from memories.services import grants, jobs
from memories.services.sight import look
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Answer, Api
from tests.parallel import at_once
from uhp_site.http.views import Asked

pytestmark = pytest.mark.django_db

BODY = {"content": "Said once."}


def path(memory: Memory, rest: str = "/records") -> str:
    return f"/v1/memories/{memory.id}{rest}"


def send(api: Api, who: Member, address: str, body: object = None, *, key: str = "one", method: str = "POST") -> Answer:
    return api.call(method, address, body, as_=who, headers={"Idempotency-Key": key})


def test_a_repeat_gets_the_first_answer_to_the_byte(api: Api, alice: Member, shared: Memory) -> None:
    first, again = (send(api, alice, path(shared), BODY) for _ in range(2))
    assert (first.status, again.status) == (200, 200)
    assert again.raw == first.raw
    assert again.headers["ETag"] == first.headers["ETag"] == '"1"'
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Record.objects.count() == 1


def test_the_first_answer_is_given_whatever_the_body_says(api: Api, alice: Member, shared: Memory) -> None:
    first = send(api, alice, path(shared), BODY)
    for body in ({"content": "Something else."}, {"content": 1}, "not JSON", None):
        assert send(api, alice, path(shared), body).raw == first.raw
    assert Record.objects.count() == 1


def test_a_key_belongs_to_one_caller_one_method_and_one_address(
    api: Api, alice: Member, bob: Member, shared: Memory
) -> None:
    below = factories.memory(alice, shared)
    ids = {send(api, who, address, BODY).json["id"] for who in (alice, bob) for address in (path(shared), path(below))}
    assert len(ids) == 4
    assert send(api, alice, path(shared, ""), {"name": "Other"}, method="PUT").json["name"] == "Other"
    assert send(api, alice, path(shared), BODY, key="two").json["id"] not in ids


WRITES: list[tuple[str, str, Any, Callable[[], int]]] = [
    ("POST", "/v1/memories", {"name": "New"}, Memory.objects.count),
    ("POST", "/v1/memories", {"name": "New", "parent_id": "{memory}"}, Memory.objects.count),
    ("PUT", "/v1/memories/{memory}", {"name": "Other"}, lambda: Memory.objects.filter(name="Other").count()),
    ("DELETE", "/v1/memories/{memory}", None, Memory.objects.count),
    ("POST", "/v1/memories/{memory}/grants", {"principal": "member:x", "privileges": ["read"]}, Grant.objects.count),
    ("DELETE", "/v1/memories/{memory}/grants/{grant}", None, Grant.objects.count),
    ("POST", "/v1/memories/{memory}/records", BODY, Record.objects.count),
    ("PATCH", "/v1/memories/{memory}/records/{record}", BODY, Version.objects.count),
    ("DELETE", "/v1/memories/{memory}/records/{record}", None, Version.objects.filter(status="active").count),
    ("POST", "/v1/memories/{memory}/erase", {"record_ids": ["{record}"]}, Job.objects.count),
    ("POST", "/v1/memories/{memory}/snapshots", {"name": "Now"}, Snapshot.objects.count),
    ("POST", "/v1/x-holds", {"memory_id": "{memory}", "reason": "Asked."}, Hold.objects.count),
]


@pytest.mark.parametrize(("method", "address", "body", "count"), WRITES, ids=[f"{one[0]} {one[1]}" for one in WRITES])
def test_every_write_is_done_once(
    api: Api,
    alice: Member,
    carol: Member,
    shared: Memory,
    method: str,
    address: str,
    body: Any,
    count: Callable[[], int],
) -> None:
    record = factories.record(alice, shared)
    grant = Grant.objects.get(principal=carol.principal)
    names = {"{memory}": shared.id, "{record}": record.id, "{grant}": grant.id}
    text = "" if body is None else json.dumps(body)
    for name, value in names.items():
        address, text = address.replace(name, value), text.replace(name, value)
    before = count()
    first = send(api, alice, address, text, method=method)
    assert first.status == 200, first.raw
    after = count()
    assert after != before
    again = send(api, alice, address, text, method=method)
    assert (again.status, again.raw) == (200, first.raw)
    assert count() == after


def test_a_refusal_leaves_the_key_free(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    assert send(api, alice, path(shared), {"content": 1}).status == 422
    assert send(api, carol, path(shared), BODY).status == 403
    assert not KeptAnswer.objects.exists()
    factories.grant(alice, shared, carol, "read", "write")
    assert {send(api, who, path(shared), BODY).status for who in (alice, carol)} == {200}


def test_access_is_asked_before_an_answer_is_given_again(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    factories.grant(alice, shared, carol, "read", "write")
    send(api, carol, path(shared), BODY)
    factories.grant(alice, shared, carol, "read")
    assert send(api, carol, path(shared), BODY).error["code"] == "memory_forbidden"
    grants.take_back(look(factories.caller(alice), shared.id), Grant.objects.get(principal=carol.principal).id)
    assert send(api, carol, path(shared), BODY).error["code"] == "memory_not_found"


def test_a_memory_made_below_one_that_is_closed_now_is_not_shown_again(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    factories.grant(alice, shared, carol, "create")
    body = {"name": "Below", "parent_id": shared.id}
    assert send(api, carol, "/v1/memories", body).status == 200
    grants.take_back(look(factories.caller(alice), shared.id), Grant.objects.get(principal=carol.principal).id)
    assert send(api, carol, "/v1/memories", body).error["code"] == "memory_not_found"


def test_who_deleted_a_memory_is_told_so_again_and_nobody_else_is(
    api: Api, alice: Member, bob: Member, shared: Memory
) -> None:
    first, again = (send(api, alice, path(shared, ""), method="DELETE") for _ in range(2))
    assert (first.status, again.raw) == (200, first.raw)
    assert send(api, bob, path(shared, ""), method="DELETE").error["code"] == "memory_not_found"
    assert send(api, alice, path(shared, ""), method="DELETE", key="two").error["code"] == "memory_not_found"


def test_a_revoked_key_gets_no_answer_again(api: Api, alice: Member, shared: Memory) -> None:
    send(api, alice, path(shared), BODY)
    revoke_key(alice.credentials.get())
    assert send(api, alice, path(shared), BODY).status == 401


@pytest.mark.parametrize("key", ["", " ", "k" * 256])
def test_a_key_has_1_to_255_characters(api: Api, alice: Member, shared: Memory, key: str) -> None:
    answer = send(api, alice, path(shared), BODY, key=key)
    assert (answer.status, answer.error["param"]) == (422, "Idempotency-Key")
    assert send(api, alice, path(shared), BODY, key="k" * 255).status == 200


def test_a_key_on_a_question_changes_nothing(api: Api, alice: Member, shared: Memory) -> None:
    send(api, alice, path(shared), None, method="GET")
    assert send(api, alice, path(shared, "/recall"), {"query": "words"}).status == 200
    assert not KeptAnswer.objects.exists()


def test_an_answer_is_kept_for_a_day(api: Api, alice: Member, shared: Memory) -> None:
    first = send(api, alice, path(shared), BODY)
    kept = KeptAnswer.objects.get()
    assert kept.expires_at - kept.created_at == timedelta(hours=24)
    KeptAnswer.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    purge_answers()
    assert send(api, alice, path(shared), BODY).raw == first.raw
    KeptAnswer.objects.update(expires_at=timezone.now())
    assert send(api, alice, path(shared), BODY).json["id"] != first.json["id"]
    KeptAnswer.objects.update(expires_at=timezone.now())
    purge_answers()
    assert not KeptAnswer.objects.exists()


def test_an_erased_record_does_not_come_back_with_its_key(api: Api, alice: Member, shared: Memory) -> None:
    record = send(api, alice, path(shared), BODY).json
    address = path(shared, f"/records/{record['id']}")
    send(api, alice, address, {"title": "Said twice"}, method="PATCH")
    other = send(api, alice, path(shared), {"content": "Something else."}, key="two")
    api.ok("POST", path(shared, "/erase"), {"record_ids": [record["id"]]}, alice)
    again = send(api, alice, path(shared), BODY)
    assert (again.status, again.error["code"]) == (404, "memory_record_not_found")
    assert send(api, alice, address, {"title": "Said twice"}, method="PATCH").status == 404
    assert Record.objects.count() == 1
    assert not any("Said" in kept.body for kept in KeptAnswer.objects.all())
    assert send(api, alice, path(shared), BODY, key="two").raw == other.raw


def test_what_a_deleted_memory_held_does_not_come_back_with_a_key(api: Api, alice: Member, shared: Memory) -> None:
    record = send(api, alice, path(shared), BODY).json
    send(api, alice, path(shared, f"/records/{record['id']}"), method="DELETE")
    api.ok("DELETE", path(shared, ""), None, alice)
    assert send(api, alice, path(shared, f"/records/{record['id']}"), method="DELETE").status == 404
    jobs.run(Job.objects.get(kind="purge").id, KINDS)
    assert set(KeptAnswer.objects.values_list("body", "key")) == {("", "")}


def test_a_failure_keeps_neither_the_answer_nor_the_write(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the process ends here")

    with monkeypatch.context() as patch:
        patch.setattr(idempotency, "_keep", broken)
        with transaction.atomic():
            assert send(api, alice, path(shared), BODY).status == 500
    assert not Record.objects.exists()
    assert send(api, alice, path(shared), BODY).status == 200
    assert Record.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_fifty_identical_writes_at_once_one_is_done(api: Api, alice: Member, shared: Memory) -> None:
    api.key(alice)
    answers = at_once([partial(send, api, alice, path(shared), BODY)] * 50)
    assert {answer.status for answer in answers} == {200}
    assert len({answer.raw for answer in answers}) == 1
    assert (Record.objects.count(), Version.objects.count(), KeptAnswer.objects.count()) == (1, 1, 1)


@pytest.mark.django_db(transaction=True)
def test_a_repeat_waits_for_the_first_and_does_the_work_when_that_fails(
    api: Api, alice: Member, shared: Memory
) -> None:
    api.key(alice)
    asked = Asked("POST", path(shared), "one", ())
    answers: list[Answer] = []

    def repeat() -> None:
        try:
            answers.append(send(api, alice, path(shared), BODY))
        finally:
            connection.close()

    thread = threading.Thread(target=repeat)
    with transaction.atomic():
        idempotency._queue(alice.id, idempotency.scope_of(asked))
        thread.start()
        thread.join(0.5)
        assert thread.is_alive(), "the repeat did not wait"
        transaction.set_rollback(True)
    thread.join(20)
    assert answers[0].status == 200
    assert Record.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_repeat_does_not_wait_for_ever(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.key(alice)
    monkeypatch.setattr(idempotency, "PATIENCE_SECONDS", 1)
    asked = Asked("POST", path(shared), "one", ())
    with transaction.atomic():
        idempotency._queue(alice.id, idempotency.scope_of(asked))
        answers = at_once([partial(send, api, alice, path(shared), BODY)])
    assert (answers[0].status, answers[0].error["code"]) == (409, "memory_busy")
    assert not Record.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_is_being_kept_while_its_record_is_erased_is_emptied(
    api: Api, alice: Member, shared: Memory
) -> None:
    record = factories.record(alice, shared, "Not for ever.")
    api.key(alice)
    address = path(shared, f"/records/{record.id}")
    erase = partial(api.call, "POST", path(shared, "/erase"), {"record_ids": [record.id]}, as_=alice)
    revise = partial(send, api, alice, address, {"title": "Not for ever either"}, method="PATCH")
    answers = at_once([erase, revise])
    assert answers[0].status == 200
    assert answers[1].status in {200, 404}
    assert not Version.objects.exists()
    assert not KeptAnswer.objects.exclude(body="").exists()
    assert send(api, alice, address, {"title": "Once more"}, method="PATCH").status == 404
