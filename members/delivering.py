"""Sending what is in the outbox: signed, tried again over a day, and given up; at least once, in no promised order.

A message that is being sent is set to be due again in a minute: a worker that dies loses nothing, and the receiver can
tell a repetition by its `webhook-id`. One worker at a time sends, so that slow receivers never hold up other work.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import time
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from uhp_site.alone import alone
from uhp_site.http import outbound
from uhp_site.vault import Unreadable

from . import events, outbox
from .events import SYSTEM
from .notification_models import Delivery, Webhook
from .webhooks import PREFIX, known_as, secrets_of

# How long after an attempt that failed the next one is; after the last it is given up, about a day after the first.
PAUSES = tuple(
    timedelta(seconds=seconds) for seconds in (10, 60, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 8 * 3600, 8 * 3600)
)
MOST_ATTEMPTS = len(PAUSES) + 1
JITTER = 0.1
LEASE = timedelta(seconds=60)
TURN_SECONDS = 20.0
# A webhook that answered nothing but failures for so long is paused.
FAILING = timedelta(days=5)
KEPT_FOR = timedelta(days=30)
MOST_TRIES = 20
BATCH = 5_000
SENDER_LOCK = 0x10C
GONE = 410
State = Delivery.State

log = structlog.get_logger(__name__)


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """A signature as Standard Webhooks has it: v1, HMAC-SHA256 in base64 over id, time (unix seconds) and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def send_due(resolver: outbound.Resolve | None = None) -> int:
    """Send what is due, taking turns among webhooks, until there is none or the turn is over; returns how many.

    One that fails is left alone for the rest of the turn. Nothing is done while another worker is at it.
    """
    sent, failed, served, began = 0, set[str](), set[str](), time.monotonic()
    with alone(SENDER_LOCK) as mine:
        while mine and time.monotonic() - began < TURN_SECONDS:
            delivery = _claim(failed | served)
            if delivery is None and served:
                served.clear()
                delivery = _claim(failed)
            if delivery is None:
                return sent
            served.add(delivery.webhook_id)
            if not attempt(delivery, resolver):
                failed.add(delivery.webhook_id)
            sent += 1
    if sent:
        outbox.wake()
    return sent


def attempt(delivery: Delivery, resolver: outbound.Resolve | None = None) -> bool:
    """Send one message and keep what came of it; whether it arrived."""
    hook, body, now = delivery.webhook, delivery.body.encode(), timezone.now()
    status, problem, excerpt, began = None, "", "", time.monotonic()
    try:
        stamp = int(now.timestamp())
        signed = " ".join(signature(secret, delivery.id, stamp, body) for secret in secrets_of(hook, now))
        headers = {
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "Heartwood-Webhooks/1",
            "webhook-id": delivery.id,
            "webhook-timestamp": str(stamp),
            "webhook-signature": signed,
        }
        reply = outbound.post(hook.url, body, headers, inside=settings.WEBHOOKS_INSIDE, resolver=resolver)
        status, excerpt = reply.status, reply.excerpt
    except Unreadable:
        problem = "Its secret cannot be opened any more; make a new one."
    except (outbound.Refused, outbound.Unanswered) as failure:
        problem = str(failure)
    if status is not None and 300 <= status < 400:
        problem = "It led elsewhere, which is not followed."
    spent = round((time.monotonic() - began) * 1000)
    _keep(delivery, status, excerpt, {"at": now.isoformat(), "status": status, "ms": spent, "problem": problem})
    return status is not None and 200 <= status < 300


def next_after(attempts: int, at: datetime, spread: float | None = None) -> datetime | None:
    """When to try again after so many failed attempts; None for never.

    Up to a tenth later, so that not all come at once: `spread` is how much of that, 0 to 1, by chance when not given.
    """
    if attempts >= MOST_ATTEMPTS:
        return None
    chance = random.random() if spread is None else spread  # noqa: S311
    return at + PAUSES[max(0, attempts - 1)] * (1 + JITTER * chance)


def prune() -> int:
    """Remove what is over and older than 30 days, and secrets that sign no more; returns how many messages."""
    now, removed = timezone.now(), 0
    Webhook.objects.filter(former_until__lte=now).update(former=None, former_until=None)
    old = Delivery.objects.filter(created_at__lt=now - KEPT_FOR)
    while ids := list(old.values_list("pk", flat=True)[:BATCH]):
        removed += Delivery.objects.filter(pk__in=ids).delete()[0]
    return removed


@transaction.atomic
def _claim(without: set[str]) -> Delivery | None:
    now = timezone.now()
    found = (
        Delivery.objects.due(now)
        .exclude(webhook_id__in=without)
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("webhook")
        .order_by("next_at", "id")
        .first()
    )
    if found is not None:
        found.attempts, found.next_at = found.attempts + 1, now + LEASE
        found.save(update_fields=["attempts", "next_at"])
    return found


@transaction.atomic
def _keep(delivery: Delivery, status: int | None, excerpt: str, tried: dict[str, Any]) -> None:
    now = timezone.now()
    # A webhook before its messages, everywhere: whoever removes one waits here, or is waited for.
    hook = Webhook.objects.select_for_update(no_key=True).filter(pk=delivery.webhook_id).first()
    kept = Delivery.objects.select_for_update(of=("self",)).filter(pk=delivery.pk).first()
    if hook is None or kept is None:
        return
    kept.tries, kept.status, kept.excerpt = [*kept.tries, tried][-MOST_TRIES:], status, excerpt
    if status is not None and 200 <= status < 300:
        kept.state, kept.next_at, hook.failing_since = State.DELIVERED, None, None
    else:
        kept.next_at = next_after(kept.attempts, now)
        kept.state = State.WAITING if kept.next_at else State.FAILED
        hook.failing_since = hook.failing_since or now
        _give_up(hook, status, now)
    kept.save(update_fields=["tries", "status", "excerpt", "state", "next_at"])
    hook.save(update_fields=["failing_since", "paused_at", "paused_because"])


def _give_up(hook: Webhook, status: int | None, now: datetime) -> None:
    assert hook.failing_since is not None
    if hook.paused_at or (status != GONE and now - hook.failing_since < FAILING):
        return
    because = Webhook.Paused.GONE if status == GONE else Webhook.Paused.FAILING
    hook.paused_at, hook.paused_because = now, because
    events.record(hook.organisation_id, SYSTEM, "webhook.paused", **known_as(hook), because=because.value)
    log.warning("webhook_paused", webhook_id=hook.id, because=because.value)
