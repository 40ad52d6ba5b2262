"""The digest by mail: what waits for one person, asked for at the moment it is sent, as the console would show it.

It says how much and where, never what a record says. Sent at most once for each slot: `members.digests.take`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db.models import Count, Min
from django.urls import reverse
from django.utils import timezone

from members import digests, webhooks
from members.callers import Caller, caller_for
from members.models import Member
from members.notification_models import DigestChoice
from memories.models import Job
from uhp_site import mail

from . import background, ownership, reviewing

BATCH = 50
MEMORIES = 10
MOST_FAILED = 200
MOST_ORPHANS = 100
LONGEST_NAME = 80
# Before the first digest there is none to count from.
FIRST = {"daily": timedelta(days=1), "weekly": timedelta(days=7)}
UNSEEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
# What a mail program would make a link or an address of.
LINKED = re.compile(r"(?<=\w)(?:://|@|[.](?=[^\W\d_]{2}))")

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Waiting:
    """How much waits in one memory; `name` is somebody else's text."""

    name: str
    count: int
    url: str


@dataclass(frozen=True)
class Digest:
    """What one person is told."""

    reviews: int = 0
    oldest: datetime | None = None
    memories: Sequence[Waiting] = ()
    elsewhere: int = 0
    failed: int = 0
    failed_more: bool = False
    orphans: int = 0
    orphans_more: bool = False
    paused: int = 0
    own_paused: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.reviews or self.failed or self.orphans or self.paused or self.own_paused)


def sweep() -> int:
    """Send the digests whose time has come; returns how many were sent.

    Nothing is taken up while mail is not set up, or its server cannot be reached.
    """
    if not settings.MAIL.configured:
        return 0
    due = digests.due(BATCH)
    if not due or not mail.reachable():
        return 0
    return sum(_send(choice) for choice in due)


def compiled(caller: Caller, origin: str, since: datetime) -> Digest:
    """What waits for a person, and what of theirs failed since an instant; what they may not see is not counted."""
    slug = caller.member.organisation.slug
    digest = Digest()
    if caller.member.type == Member.Type.HUMAN:
        found = reviewing.open_for(caller).order_by()
        rows = found.values("memory_id", "memory__name").annotate(count=Count("pk"), oldest=Min("created_at"))
        ranked = list(rows.order_by("-count", "memory_id"))
        first = ranked[:MEMORIES]
        inbox = origin + reverse("console:inbox", args=[slug])
        digest = replace(
            digest,
            reviews=sum(row["count"] for row in ranked),
            oldest=min((row["oldest"] for row in ranked), default=None),
            memories=[
                Waiting(plain(row["memory__name"]), row["count"], f"{inbox}?memory={row['memory_id']}") for row in first
            ],
            elsewhere=sum(row["count"] for row in ranked[MEMORIES:]),
        )
    jobs = background.listed(caller, MOST_FAILED + 1, states=[Job.State.FAILED])
    failed = sum(1 for job in jobs if job.finished_at and job.finished_at > since)
    digest = replace(digest, failed=min(failed, MOST_FAILED), failed_more=failed > MOST_FAILED)
    paused, own_paused = webhooks.given_up(caller)
    digest = replace(digest, paused=paused, own_paused=own_paused)
    if caller.member.is_owner:
        orphans = ownership.nobody_left(caller, MOST_ORPHANS)
        digest = replace(digest, orphans=len(orphans.memories), orphans_more=orphans.next is not None)
    return digest


def plain(name: str) -> str:
    """Somebody else's text as a part of one line of a mail: nothing invisible, nothing that becomes a link."""
    said = LINKED.sub(lambda found: f"{found[0]} ", UNSEEN.sub(" ", name)).strip()
    return said if len(said) <= LONGEST_NAME else f"{said[: LONGEST_NAME - 1]}…"


def _send(choice: DigestChoice) -> bool:
    # Whoever is next when two look at the same row finds that it moved on.
    if not digests.take(choice):
        return False
    outcome = DigestChoice.Outcome.FAILED
    try:
        outcome = _mailed(choice)
    except Exception as failure:
        log.error("digest_failed", member_id=choice.member_id, exc_info=failure)
    digests.ended(choice, outcome)
    return outcome == DigestChoice.Outcome.SENT


def _mailed(choice: DigestChoice) -> DigestChoice.Outcome:
    member, slot = choice.member, choice.next_at or timezone.now()
    if member.user is None or not member.user.is_active or not member.is_active:
        return DigestChoice.Outcome.EMPTY
    caller = caller_for(member)
    digest = compiled(caller, choice.origin, choice.slot_at or slot - FIRST.get(choice.frequency, FIRST["daily"]))
    if digest.empty:
        return DigestChoice.Outcome.EMPTY
    organisation = member.organisation

    def link(name: str, *args: str) -> str:
        return choice.origin + reverse(f"console:{name}", args=[organisation.slug, *args])

    stop = link("digest-stop", digests.token_of(member))
    context = {
        "name": plain(member.name),
        "organisation": plain(organisation.name),
        "digest": digest,
        "inbox_url": link("inbox"),
        "jobs_url": link("jobs") + "?state=failed",
        "ownerless_url": link("ownerless"),
        "webhooks_url": link("webhooks"),
        "own_webhooks_url": link("webhooks-own"),
        "choice_url": link("notifications"),
        "stop_url": stop,
    }
    # RFC 8058: a mail program ends it with one request, and without a cookie.
    headers = {
        "List-Unsubscribe": f"<{stop}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Auto-Submitted": "auto-generated",
    }
    sent = mail.send(member.user.email, subject(digest, organisation.name), "mail/digest.txt", context, headers)
    return DigestChoice.Outcome.SENT if sent else DigestChoice.Outcome.FAILED


def subject(digest: Digest, organisation: str) -> str:
    """The most urgent of it, and where."""
    parts = [
        (digest.reviews, "to review"),
        (digest.failed, "failed"),
        (digest.orphans, "without anybody"),
        (digest.paused + digest.own_paused, "paused"),
    ]
    count, word = next((count, word) for count, word in parts if count)
    return f"{plain(organisation)}: {count:,} {word}"
