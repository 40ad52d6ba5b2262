"""Webhooks: who sets them up, what they are told and what never, and that their secret is shown once."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from members import outbox, webhooks
from members.ids import mint
from members.models import Event, Group, Member
from members.notification_models import Delivery, Webhook
from members.services import Refused
from memories.models import Job, Memory, ReviewItem, Run
from memories.services import erasure, gate, jobs, judging, leftovers, reviewing, runs, undoing
from memories.services.sight import look
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Api
from tests.pages.people import client_of
from uhp_site.http import outbound
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound

pytestmark = pytest.mark.django_db

SAID = "zanzibarquetzal"


def told(kind: str = "") -> list[dict[str, Any]]:
    """What waits to be sent, oldest first."""
    found = Delivery.objects.order_by("id")
    return [json.loads(one.body) for one in (found.filter(kind=kind) if kind else found)]


def agent_of(team: Group) -> Member:
    return team.members.get(type="agent")


def item_of(memory: Memory) -> ReviewItem:
    return ReviewItem.objects.get(memory=memory)


def test_only_an_owner_sets_one_up_sees_it_or_touches_it(alice: Member, bob: Member, mallory: Member) -> None:
    hook = factories.webhook(alice).webhook
    message = webhooks.try_out(factories.caller(alice), hook.id)
    verbs: list[Callable[[Any], object]] = [
        webhooks.listed,
        lambda who: webhooks.add(who, name="x", url=hook.url, kinds=["job.failed"], origin=""),
        lambda who: webhooks.find(who, hook.id),
        lambda who: webhooks.find_delivery(who, hook.id, message.id),
        lambda who: webhooks.change(who, hook.id, name="x", url=hook.url, kinds=["job.failed"], origin=""),
        lambda who: webhooks.rotate(who, hook.id),
        lambda who: webhooks.pause(who, hook.id),
        lambda who: webhooks.resume(who, hook.id),
        lambda who: webhooks.try_out(who, hook.id),
        lambda who: webhooks.redeliver(who, hook.id, message.id),
        lambda who: webhooks.remove(who, hook.id),
    ]
    for verb in verbs[:2]:
        with pytest.raises(MemoryForbidden):
            verb(factories.caller(bob))
    assert webhooks.listed(factories.caller(mallory)) == []
    for verb in verbs[2:]:
        for who in (bob, mallory):
            with pytest.raises(MemoryNotFound):
                verb(factories.caller(who))


def test_the_secret_is_in_one_answer_and_nowhere_in_the_database_or_the_logs(
    alice: Member, caplog: pytest.LogCaptureFixture
) -> None:
    page = f"/console/{alice.organisation.slug}/notifications/webhooks"
    client = client_of(alice)
    with caplog.at_level(logging.DEBUG):
        made = client.post(page, {"name": "Chat", "url": "https://93.184.215.14/in", "kinds": ["job.failed"]})
        hook = Webhook.objects.get()
        [secret] = webhooks.secrets_of(hook, timezone.now())
        turned = client.post(f"{page}/{hook.id}/rotate")
        shown_later = [client.get(one).content.decode() for one in (page, f"{page}/{hook.id}")]
    hook.refresh_from_db()
    newer, former = webhooks.secrets_of(hook, timezone.now())
    assert former == secret
    assert secret.startswith("whsec_")
    assert secret in made.content.decode()
    assert newer in turned.content.decode()
    assert secret not in turned.content.decode()
    for one in (secret, newer):
        assert one not in "".join(shown_later)
        assert one not in caplog.text
        assert one not in repr(list(Event.objects.values()))
        assert one.removeprefix("whsec_").encode() not in bytes(hook.sealed) + bytes(hook.former or b"")
    assert secret not in repr(webhooks.Shown(hook, secret))


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://10.1.2.3/", "http://93.184.215.14/", "https://[::1]/"])
def test_an_address_inside_or_without_tls_is_refused_when_it_is_saved(alice: Member, url: str) -> None:
    with pytest.raises(Refused) as refusal:
        factories.webhook(alice, url)
    assert refusal.value.field == "url"
    hook = factories.webhook(alice).webhook
    with pytest.raises(Refused):
        webhooks.change(factories.caller(alice), hook.id, name="x", url=url, kinds=["job.failed"], origin="")


def test_the_setting_for_development_lets_both(alice: Member, settings: Settings) -> None:
    settings.WEBHOOKS_INSIDE = True
    assert factories.webhook(alice, "http://127.0.0.1/").webhook.id


@pytest.mark.parametrize("kinds", [[], ["memory.moved"], ["job.failed", "x"]])
def test_what_is_not_told_cannot_be_chosen(alice: Member, kinds: list[str]) -> None:
    with pytest.raises(Refused):
        webhooks.add(factories.caller(alice), name="x", url="https://93.184.215.14/", kinds=kinds, origin="")


def test_an_organisation_has_a_bounded_number_of_them(alice: Member) -> None:
    for _ in range(webhooks.MOST):
        factories.webhook(alice)
    with pytest.raises(Refused, match="at most"):
        factories.webhook(alice)


def test_another_server_gets_another_secret_and_another_path_does_not(alice: Member) -> None:
    made = factories.webhook(alice)
    caller = factories.caller(alice)
    fields: dict[str, Any] = {"name": "x", "kinds": ["job.failed"], "origin": ""}
    _, secret = webhooks.change(caller, made.webhook.id, url="https://93.184.215.14/other", **fields)
    assert secret == ""
    moved, secret = webhooks.change(caller, made.webhook.id, url="https://93.184.215.15/in", **fields)
    assert secret.startswith("whsec_")
    assert webhooks.secrets_of(moved, timezone.now()) == [secret]
    assert secret != made.secret


def test_a_review_is_told_when_it_opens_is_decided_and_is_taken_back(
    alice: Member, shared: Memory, team: Group
) -> None:
    factories.webhook(alice)
    factories.record(agent_of(team), shared, SAID, title=SAID)
    item = item_of(shared)
    link = f"https://memories.example.com/console/{alice.organisation.slug}/review/{item.id}"
    [opened] = told("review.opened")
    assert opened["data"] == {
        "organisation_id": alice.organisation_id,
        "memory_id": shared.id,
        "item_id": item.id,
        "kind": "new",
        "state": "open",
        "again": False,
        "url": link,
    }
    caller = factories.caller(alice)
    judging.keep(caller, item.id, reviewing.find(caller, item.id).fingerprint)
    [decided] = told("review.decided")
    assert (decided["data"]["item_id"], decided["data"]["state"]) == (item.id, "kept")
    undoing.undo(caller, item.id)
    assert told("review.opened")[1]["data"]["again"] is True


def test_what_happened_inside_a_transaction_that_failed_is_not_told(alice: Member, shared: Memory, team: Group) -> None:
    factories.webhook(alice)
    with transaction.atomic():
        factories.record(agent_of(team), shared, SAID)
        assert told()
        transaction.set_rollback(True)
    assert not told()


def test_nothing_that_a_record_says_no_name_and_no_id_of_a_record_is_ever_told(
    alice: Member, shared: Memory, team: Group
) -> None:
    factories.webhook(alice)
    shared.name = SAID
    shared.save()
    record = factories.record(agent_of(team), shared, SAID, title=SAID)
    judging.decline(
        factories.caller(alice),
        item_of(shared).id,
        reviewing.find(factories.caller(alice), item_of(shared).id).fingerprint,
    )
    said = json.dumps(told())
    assert len(told()) == 2
    for never in (SAID, record.id, "hrec_", "Alice", "Agent", alice.id, "member:"):
        assert never not in said


def test_a_memory_that_no_owner_sees_is_not_named(alice: Member, bob: Member, agent: Member) -> None:
    factories.webhook(alice)
    theirs = factories.memory(bob, name="Bob's")
    factories.grant(bob, theirs, agent, "read", "write")
    factories.record(agent, theirs, SAID)
    [opened] = told("review.opened")
    assert "memory_id" not in opened["data"]
    assert theirs.id not in json.dumps(opened)


def test_others_are_not_told_nor_those_who_did_not_ask_or_are_paused(
    alice: Member, mallory: Member, shared: Memory, team: Group
) -> None:
    factories.webhook(mallory)
    factories.webhook(alice, "https://93.184.215.14/in", "", "job.failed")
    paused = factories.webhook(alice).webhook
    webhooks.pause(factories.caller(alice), paused.id)
    factories.record(agent_of(team), shared, SAID)
    assert not told()


def test_without_a_webhook_telling_costs_one_query(alice: Member, mallory: Member) -> None:
    for _ in range(5):
        factories.webhook(mallory)
    with transaction.atomic(), CaptureQueriesContext(connection) as queries:
        outbox.emit(alice.organisation_id, "job.failed", lambda: (("jobs",), {}))
    assert len(queries) == 1


def test_a_run_that_ends_and_work_that_fails_are_told(
    alice: Member, shared: Memory, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    factories.webhook(alice)
    place = look(factories.caller(alice), shared.id)
    run = runs.start(place)
    runs.stop(place, run.id)
    [finished] = told("consolidation.finished")
    assert (finished["data"]["run_id"], finished["data"]["state"]) == (run.id, "stopped")
    assert finished["data"]["created"] == 0
    job = jobs.enqueue("purge", alice.organisation_id, memory_id=shared.id)

    def fails(job: Job) -> None:
        raise RuntimeError(SAID)

    for _ in range(jobs.MOST_ATTEMPTS):
        assert not told("job.failed")
        jobs.run(job.id, {"purge": fails})
    [failed] = told("job.failed")
    assert failed["data"]["job_id"] == job.id
    assert shared.id not in json.dumps(failed)
    assert SAID not in json.dumps(failed)


def test_a_run_that_is_done_is_told(alice: Member, shared: Memory) -> None:
    factories.webhook(alice)
    run = runs.start(look(factories.caller(alice), shared.id))
    jobs.run(run.job_id, KINDS)
    [finished] = told("consolidation.finished")
    assert finished["data"]["state"] == Run.objects.get(pk=run.id).state == "completed"


def test_a_conflict_is_told_as_one_and_when_it_is_settled(alice: Member, shared: Memory) -> None:
    factories.webhook(alice)
    record = factories.record(alice, shared, SAID)
    kind = ReviewItem.Kind.CONFLICT
    with transaction.atomic():
        gate.ask(shared, kind, "conflict:1", record_id=record.id, subject="hcfl_1")
        gate.ask(shared, kind, "conflict:1", record_id=record.id, subject="hcfl_1")
    assert len(told("conflict.opened")) == 1
    with transaction.atomic():
        gate.settled(shared.id, kind, "hcfl_1", alice.principal)
    [decided] = told("review.decided")
    assert (decided["data"]["kind"], decided["data"]["state"]) == ("conflict", "kept")


def test_an_erasure_finds_nothing_left_in_what_was_sent_or_answered(
    alice: Member, shared: Memory, team: Group, api: Api
) -> None:
    factories.webhook(alice)
    record = factories.record(agent_of(team), shared, SAID, title=SAID)
    for one in Delivery.objects.all():
        one.excerpt = outbound.excerpt(f"I was told of {record.id}".encode())
        one.save()
    assert Delivery.objects.exists()
    answer = api.call("POST", f"/v1/memories/{shared.id}/erase", {"record_ids": [record.id]}, as_=alice)
    assert answer.status == 200
    for job in Job.objects.filter(kind=erasure.KIND):
        jobs.run(job.id, KINDS)
    named = leftovers.naming([record.id])
    assert not [place for place in named if place.startswith(("members_delivery", "members_webhook"))]
    assert SAID not in repr(list(Delivery.objects.values()))


def test_removing_one_removes_its_log_and_nothing_of_others(alice: Member) -> None:
    caller = factories.caller(alice)
    first, second = (factories.webhook(alice).webhook for _ in range(2))
    for hook in (first, second):
        webhooks.try_out(caller, hook.id)
    webhooks.remove(caller, first.id)
    assert [one.webhook_id for one in Delivery.objects.all()] == [second.id]
    assert Event.objects.filter(action="webhook.removed", detail__webhook=first.id).count() == 1


def test_a_change_is_in_the_audit_log_without_the_address(alice: Member) -> None:
    hook = factories.webhook(alice, f"https://93.184.215.14/{SAID}").webhook
    for verb in (webhooks.rotate, webhooks.pause, webhooks.resume, webhooks.remove):
        verb(factories.caller(alice), hook.id)
    actions = list(Event.objects.filter(action__startswith="webhook.").order_by("id").values_list("action", flat=True))
    assert actions == [f"webhook.{verb}" for verb in ("added", "rotated", "paused", "resumed", "removed")]
    assert SAID not in repr(list(Event.objects.values()))


def test_a_message_of_another_webhook_is_a_made_up_one(alice: Member) -> None:
    caller = factories.caller(alice)
    first, second = (factories.webhook(alice).webhook for _ in range(2))
    message = webhooks.try_out(caller, first.id)
    for delivery_id in (message.id, mint("msg_"), "msg_", "x"):
        with pytest.raises(MemoryNotFound):
            webhooks.find_delivery(caller, second.id, delivery_id)


def test_what_waits_or_is_paused_is_not_sent_again_by_hand(alice: Member) -> None:
    caller, hook = factories.caller(alice), factories.webhook(alice).webhook
    message = webhooks.try_out(caller, hook.id)
    with pytest.raises(Refused, match="already"):
        webhooks.redeliver(caller, hook.id, message.id)
    webhooks.pause(caller, hook.id)
    with pytest.raises(Refused, match="paused"):
        webhooks.redeliver(caller, hook.id, message.id)
    with pytest.raises(Refused, match="paused"):
        webhooks.try_out(caller, hook.id)
