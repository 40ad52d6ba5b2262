"""Sending: signed as Standard Webhooks has it, tried again over a day, given up, and never by two at once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from members import delivering, outbox, tasks, webhooks
from members.models import Event, Member
from members.notification_models import Delivery, Webhook
from tests import factories
from tests.members.receiver import Got, Receiver
from tests.parallel import at_once

pytestmark = pytest.mark.django_db

State = Delivery.State


def waiting(alice: Member, receiver: Receiver) -> tuple[webhooks.Shown, Delivery]:
    """A webhook at the receiver, and a test that waits."""
    made = factories.webhook(alice, receiver.url)
    return made, webhooks.try_out(factories.caller(alice), made.webhook.id)


def again() -> int:
    """Send, as if what waits were due."""
    Delivery.objects.filter(state=State.WAITING).update(next_at=timezone.now() - timedelta(seconds=1))
    return delivering.send_due()


def signed_by(secret: str, got: Got) -> bool:
    """Whether a request is signed with a secret: what the specification says, computed without our code."""
    signed = b".".join([got.headers["webhook-id"].encode(), got.headers["webhook-timestamp"].encode(), got.body])
    digest = hmac.digest(base64.b64decode(secret[len("whsec_") :]), signed, hashlib.sha256)
    wanted = "v1," + base64.b64encode(digest).decode()
    return wanted in got.headers["webhook-signature"].split(" ")


def test_a_message_arrives_signed(alice: Member, receiver: Receiver) -> None:
    made, message = waiting(alice, receiver)
    assert delivering.send_due() == 1
    [got] = receiver.got
    assert signed_by(made.secret, got)
    assert not signed_by(factories.webhook(alice, receiver.url).secret, got)
    assert got.headers["webhook-id"] == message.id
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60
    assert got.headers["Content-Type"] == "application/json"
    assert got.body.decode() == message.body
    message.refresh_from_db()
    assert (message.state, message.status, message.attempts, message.next_at) == (State.DELIVERED, 200, 1, None)
    assert message.excerpt == "thanks"
    assert message.tries[0]["ms"] >= 0


def test_the_signature_of_the_specification_is_ours() -> None:
    # The example that the specification publishes.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    signed = delivering.signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(min_size=24, max_size=64), st.text(), st.integers(0, 2**33), st.binary())
def test_a_signature_is_that_of_id_time_and_body(key: bytes, message_id: str, stamp: int, body: bytes) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    wanted = hmac.new(key, f"{message_id}.{stamp}.".encode() + body, "sha256").digest()
    assert delivering.signature(secret, message_id, stamp, body) == "v1," + base64.b64encode(wanted).decode()


def test_after_a_rotation_both_secrets_sign_for_a_day_and_then_the_new_one_alone(
    alice: Member, receiver: Receiver
) -> None:
    made, _ = waiting(alice, receiver)
    newer = webhooks.rotate(factories.caller(alice), made.webhook.id)
    delivering.send_due()
    assert signed_by(newer.secret, receiver.got[0])
    assert signed_by(made.secret, receiver.got[0])
    Webhook.objects.update(former_until=timezone.now() - timedelta(seconds=1))
    webhooks.try_out(factories.caller(alice), made.webhook.id)
    delivering.send_due()
    assert signed_by(newer.secret, receiver.got[1])
    assert not signed_by(made.secret, receiver.got[1])
    delivering.prune()
    assert Webhook.objects.get().former is None


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 429, 500, 503])
def test_any_answer_but_success_is_a_failure_that_is_tried_again(
    alice: Member, receiver: Receiver, status: int
) -> None:
    _, message = waiting(alice, receiver)
    receiver.status, receiver.headers = status, {"Location": receiver.url}
    delivering.send_due()
    message.refresh_from_db()
    assert len(receiver.got) == 1
    assert (message.state, message.status) == (State.WAITING, status)
    assert message.next_at is not None
    assert timedelta(0) < message.next_at - timezone.now() < timedelta(seconds=12)
    assert delivering.send_due() == 0
    receiver.status = 204
    assert again() == 1
    message.refresh_from_db()
    assert (message.state, message.attempts) == (State.DELIVERED, 2)
    assert [one["status"] for one in message.tries] == [status, 204]
    assert receiver.got[0].headers["webhook-id"] == receiver.got[1].headers["webhook-id"]
    assert receiver.got[0].body == receiver.got[1].body


def test_it_is_tried_again_ever_later_over_a_day_and_then_given_up(alice: Member, receiver: Receiver) -> None:
    _, message = waiting(alice, receiver)
    receiver.status = 500
    pauses = list[timedelta]()
    while message.state == State.WAITING:
        assert again() == 1
        message.refresh_from_db()
        if message.next_at:
            pauses.append(message.next_at - timezone.now())
    assert message.state == State.FAILED
    assert len(receiver.got) == delivering.MOST_ATTEMPTS == message.attempts
    assert all(earlier <= later * 1.1 for earlier, later in pairwise(pauses))
    assert timedelta(hours=22) < sum(pauses, timedelta()) < timedelta(hours=28)
    assert again() == 0


@given(st.integers(1, 20), st.floats(0, 1))
def test_the_next_attempt_is_a_pause_later_and_at_most_a_tenth_more(attempts: int, spread: float) -> None:
    now = timezone.now()
    following = delivering.next_after(attempts, now, spread)
    if attempts >= delivering.MOST_ATTEMPTS:
        assert following is None
    else:
        pause = delivering.PAUSES[attempts - 1]
        assert following is not None
        assert pause <= following - now <= pause * 1.11


def test_the_same_task_twice_sends_once(alice: Member, receiver: Receiver) -> None:
    waiting(alice, receiver)
    tasks.send_webhooks()
    tasks.send_webhooks()
    assert len(receiver.got) == 1


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_each_message_once(alice: Member, receiver: Receiver) -> None:
    made, _ = waiting(alice, receiver)
    for _ in range(9):
        webhooks.try_out(factories.caller(alice), made.webhook.id)
    receiver.before = lambda: time.sleep(0.02)
    at_once([delivering.send_due] * 3)
    ids = [got.headers["webhook-id"] for got in receiver.got]
    assert len(ids) == len(set(ids)) == 10


@pytest.mark.django_db(transaction=True)
def test_a_claim_alone_keeps_two_from_sending_the_same(alice: Member, receiver: Receiver) -> None:
    waiting(alice, receiver)
    claimed = at_once([lambda: delivering._claim(set())] * 2)
    assert sum(one is not None for one in claimed) == 1


def test_a_worker_that_died_while_it_sent_loses_nothing(alice: Member, receiver: Receiver) -> None:
    _, message = waiting(alice, receiver)
    assert delivering._claim(set()) is not None
    assert delivering.send_due() == 0
    assert again() == 1
    message.refresh_from_db()
    assert (message.state, message.attempts) == (State.DELIVERED, 2)


def test_a_webhook_that_fails_does_not_hold_up_others(alice: Member, receiver: Receiver) -> None:
    bad = factories.webhook(alice, "http://127.0.0.1:1/").webhook
    good = factories.webhook(alice, receiver.url).webhook
    for hook in (bad, bad, bad, good):
        webhooks.try_out(factories.caller(alice), hook.id)
    assert delivering.send_due() == 2
    assert len(receiver.got) == 1
    assert Delivery.objects.filter(webhook=bad, attempts=0).count() == 2


def test_many_messages_of_one_webhook_do_not_make_another_wait(alice: Member, receiver: Receiver) -> None:
    busy, calm = (factories.webhook(alice, f"{receiver.url}/{name}").webhook for name in ("busy", "calm"))
    for hook in (busy, busy, busy, calm):
        webhooks.try_out(factories.caller(alice), hook.id)
    delivering.send_due()
    assert [got.path.rpartition("/")[2] for got in receiver.got][:2] == ["busy", "calm"]


def test_an_address_that_leads_inside_by_now_is_not_asked(
    alice: Member, receiver: Receiver, settings: Settings
) -> None:
    _, message = waiting(alice, receiver)
    settings.WEBHOOKS_INSIDE = False
    Webhook.objects.update(url=receiver.url.replace("http://127.0.0.1", "https://rebinding.example"))

    def inside(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    delivering.send_due(inside)
    message.refresh_from_db()
    assert not receiver.got
    assert "public internet" in message.tries[0]["problem"]
    assert message.status is None


def test_what_fails_for_days_is_paused_and_says_why(alice: Member, receiver: Receiver) -> None:
    made, _ = waiting(alice, receiver)
    receiver.status = 500
    delivering.send_due()
    hook = Webhook.objects.get()
    assert hook.paused_at is None
    Webhook.objects.update(failing_since=timezone.now() - delivering.FAILING)
    again()
    hook.refresh_from_db()
    assert (hook.paused_because, hook.paused_at is not None) == ("failing", True)
    assert Event.objects.filter(action="webhook.paused", actor="", detail__because="failing").count() == 1
    assert again() == 0
    receiver.status = 200
    webhooks.resume(factories.caller(alice), made.webhook.id)
    assert again() == 1
    hook.refresh_from_db()
    assert (hook.paused_at, hook.failing_since) == (None, None)


def test_a_success_ends_the_days_of_failure(alice: Member, receiver: Receiver) -> None:
    waiting(alice, receiver)
    receiver.status = 500
    delivering.send_due()
    assert Webhook.objects.get().failing_since is not None
    receiver.status = 200
    again()
    assert Webhook.objects.get().failing_since is None


def test_one_that_says_that_it_is_gone_is_paused_at_once(alice: Member, receiver: Receiver) -> None:
    waiting(alice, receiver)
    receiver.status = 410
    delivering.send_due()
    assert Webhook.objects.get().paused_because == "gone"


def test_sent_again_by_hand_it_has_the_id_it_had(alice: Member, receiver: Receiver) -> None:
    made, message = waiting(alice, receiver)
    delivering.send_due()
    webhooks.redeliver(factories.caller(alice), made.webhook.id, message.id)
    delivering.send_due()
    first, second = receiver.got
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    message.refresh_from_db()
    assert len(message.tries) == 2


def test_a_secret_that_cannot_be_opened_is_said_and_nothing_is_sent_unsigned(alice: Member, receiver: Receiver) -> None:
    _, message = waiting(alice, receiver)
    Webhook.objects.update(sealed=b"damaged")
    delivering.send_due()
    message.refresh_from_db()
    assert not receiver.got
    assert "secret" in message.tries[0]["problem"]


def test_a_webhook_that_is_removed_while_it_is_sent_to_leaves_nothing(alice: Member, receiver: Receiver) -> None:
    made, _ = waiting(alice, receiver)
    delivery = delivering._claim(set())
    assert delivery is not None
    webhooks.remove(factories.caller(alice), made.webhook.id)
    delivering.attempt(delivery)
    assert not Delivery.objects.exists()


def test_old_messages_are_removed_and_others_stay(alice: Member, receiver: Receiver) -> None:
    made, old = waiting(alice, receiver)
    kept = webhooks.try_out(factories.caller(alice), made.webhook.id)
    Delivery.objects.filter(pk=old.pk).update(created_at=timezone.now() - delivering.KEPT_FOR - timedelta(hours=1))
    tasks.purge_deliveries()
    assert [one.id for one in Delivery.objects.all()] == [kept.id]


@pytest.mark.django_db(transaction=True)
def test_who_removes_a_webhook_never_makes_fail_what_it_is_told_of(alice: Member) -> None:
    def tell() -> None:
        with transaction.atomic():
            outbox.emit(alice.organisation_id, "job.failed", lambda: (("jobs",), {}))
            time.sleep(0.05)

    for _ in range(3):
        hook = factories.webhook(alice).webhook

        def remove(webhook_id: str = hook.id) -> None:
            webhooks.remove(factories.caller(alice), webhook_id)

        at_once([tell, tell, remove])
        assert not Webhook.objects.exists()
        assert not Delivery.objects.exists()


def test_the_turn_of_a_sender_ends_and_what_is_left_is_called_for(
    alice: Member, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = waiting(alice, receiver)
    webhooks.try_out(factories.caller(alice), made.webhook.id)
    woken: list[Any] = []
    monkeypatch.setattr(delivering, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(outbox, "wake", lambda: woken.append(1))
    receiver.before = lambda: time.sleep(0.1)
    assert delivering.send_due() == 1
    assert woken == [1]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s", [0x10C])
        assert cursor.fetchone()[0] == 0
