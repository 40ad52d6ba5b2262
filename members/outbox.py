"""Telling webhooks what happened: a row for each of them, in the transaction of what it tells; sent after that commits.

A webhook belongs to an organisation, whose owners read nothing by owning it: what is told is kinds, ids, counts and
times, and a link that shows what its reader may see. Never a name, never what a record says, never the id of a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from celery import current_app
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from .ids import mint, to_uuid
from .models import Organisation
from .notification_models import Delivery, Webhook

SEND = "members.send_webhooks"
TEST = "webhook.test"
# Kept from being removed until the transaction is over, so that a webhook never makes fail what it is told of.
WANTING = """
SELECT * FROM members_webhook WHERE organisation_id = %s AND paused_at IS NULL AND kinds @> ARRAY[%s]::varchar[]
ORDER BY id FOR KEY SHARE
"""
KINDS: Mapping[str, tuple[str, str]] = {
    "review.opened": ("Something to review", "A record waits for a person, or a decision was taken back."),
    "review.decided": ("A review was decided", "Kept, declined, dismissed, accepted by itself, or withdrawn."),
    "conflict.opened": ("A conflict", "Two statements that a person has to decide between."),
    "consolidation.finished": ("A consolidation ended", "Completed, stopped or failed, with how much it changed."),
    "job.failed": ("Background work failed", "It was tried several times and given up."),
}
"""What can be told, with how a person calls it and when it is."""

log = structlog.get_logger(__name__)


Page = tuple[str, ...]
"""A page of the console: its name, and then what its address needs after the organisation."""

Said = tuple[Page, Mapping[str, Any]]


def emit(organisation_id: str, kind: str, said: Callable[[], Said]) -> None:
    """Note a message for every webhook that wants this kind, in the current transaction.

    What is said is asked for only when there is one; when there is none, this costs one query.
    """
    assert connection.in_atomic_block, "a message belongs into the transaction of what it tells"
    assert kind in KINDS, kind
    hooks = list(Webhook.objects.raw(WANTING, [to_uuid(organisation_id, "org_"), kind]))
    if not hooks:
        return
    slug = Organisation.objects.values_list("slug", flat=True).get(pk=organisation_id)
    page, data = said()
    # One message is enough to wake the sender for all that is due; the sweep finds what it could have missed.
    awake = Delivery.objects.filter(organisation_id=organisation_id, state=Delivery.State.WAITING)
    wakes = not awake.filter(next_at__lte=timezone.now(), webhook__paused_at=None).exists()
    Delivery.objects.bulk_create([message(hook, slug, kind, page, data) for hook in hooks])
    if wakes:
        transaction.on_commit(wake)


def message(hook: Webhook, slug: str, kind: str, page: Page, data: Mapping[str, Any]) -> Delivery:
    """A message to one webhook, not saved."""
    now = timezone.now()
    url = hook.origin + reverse(f"console:{page[0]}", args=[slug, *page[1:]])
    said = {"organisation_id": hook.organisation_id, **data, "url": url}
    body = {"type": kind, "timestamp": now.isoformat().replace("+00:00", "Z"), "data": said}
    return Delivery(
        id=mint("msg_"),
        organisation_id=hook.organisation_id,
        webhook=hook,
        kind=kind,
        body=json.dumps(body, separators=(",", ":")),
        created_at=now,
        next_at=now,
    )


def wake() -> None:
    """Tell a worker that something is due. When no message can be sent the rows wait for the sweep."""
    try:
        current_app.send_task(SEND)
    except Exception:
        log.warning("webhook_message_not_sent", exc_info=True)
