"""Telling webhooks what happened: a row for each of them, in the transaction of what it tells; sent after that commits.

A webhook belongs to an organisation, whose owners read nothing by owning it, or to one person, who is told only what
they could be shown at that moment. What is told is kinds, ids, counts and times, and a link that shows what its reader
may see. Never a name, never what a record says, never the id of a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from celery import current_app
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from .callers import Caller, callers_for
from .ids import mint, to_uuid
from .models import Member, Organisation
from .notification_models import Delivery, Webhook

SEND = "members.send_webhooks"
TEST = "webhook.test"
# Kept from being removed until the transaction is over, so that a webhook never makes fail what it is told of.
WANTING = """
SELECT w.* FROM members_webhook w
LEFT JOIN members_member m ON m.id = w.member_id LEFT JOIN members_user u ON u.id = m.user_id
WHERE w.organisation_id = %s AND w.paused_at IS NULL AND w.kinds @> ARRAY[%s]::varchar[]
AND (w.member_id IS NULL OR m.deactivated_at IS NULL AND u.is_active)
ORDER BY w.id FOR KEY SHARE OF w
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


@dataclass(frozen=True)
class Personal:
    """What people are told by webhooks of their own: of those who ask, the ids of the members who may be, and what."""

    may: Callable[[Sequence[Caller]], Collection[str]]
    said: Callable[[], Said]


def emit(organisation_id: str, kind: str, said: Callable[[], Said], personal: Personal | None = None) -> None:
    """Note a message for every webhook that wants this kind, in the current transaction.

    A person's own is told only what `personal` says that they may be. What is said is asked for only when there is one
    to tell; when there is none, this costs one query, and as many for one person as for many.
    """
    assert connection.in_atomic_block, "a message belongs into the transaction of what it tells"
    assert kind in KINDS, kind
    hooks = list(Webhook.objects.raw(WANTING, [to_uuid(organisation_id, "org_"), kind]))
    ours = [hook for hook in hooks if hook.member_id is None]
    theirs = _allowed([hook for hook in hooks if hook.member_id], personal)
    if not ours and not theirs:
        return
    slug = Organisation.objects.values_list("slug", flat=True).get(pk=organisation_id)
    # One message is enough to wake the sender for all that is due; the sweep finds what it could have missed.
    wakes = not Delivery.objects.filter(organisation_id=organisation_id).due(timezone.now()).exists()
    messages = list[Delivery]()
    for some, of_them in ((ours, said), (theirs, personal.said if personal else said)):
        if some:
            page, data = of_them()
            messages += [message(hook, slug, kind, page, data) for hook in some]
    Delivery.objects.bulk_create(messages)
    if wakes:
        transaction.on_commit(wake)


def _allowed(hooks: Sequence[Webhook], personal: Personal | None) -> list[Webhook]:
    if not hooks or personal is None:
        return []
    members = Member.objects.active().filter(pk__in={hook.member_id for hook in hooks}).order_by("id")
    told = set(personal.may(callers_for(members)))
    return [hook for hook in hooks if hook.member_id in told]


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
