"""When a member gets a digest by mail: choosing it, whose turn it is, and the link that ends it.

At most once: a slot is taken by moving `next_at` on, in one statement, before anything is sent. Whoever dies between
that and the mail has lost it, and the row says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from . import events
from .callers import Caller
from .events import Actor
from .models import Member
from .notification_models import DigestChoice
from .services import Refused

SIGNER = Signer(salt="heartwood: no more digests")
SERVER = "UTC"
Frequency, Outcome = DigestChoice.Frequency, DigestChoice.Outcome


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    """The time zones that can be chosen, by name, UTC first."""
    places = sorted(name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "SystemV/")))
    return (SERVER, *places)


def choice_of(member: Member) -> DigestChoice:
    """What a member chose, or the choice of somebody who never did; not saved."""
    found = DigestChoice.objects.filter(member=member).first()
    return found or DigestChoice(member=member, organisation_id=member.organisation_id)


@transaction.atomic
def choose(caller: Caller, *, frequency: str, hour: int, weekday: int, time_zone: str, origin: str) -> DigestChoice:
    """Set when the caller gets a digest. Raises Refused for what cannot be chosen."""
    if frequency not in Frequency.values:
        raise Refused("A digest comes never, every day or once a week.", "frequency")
    if not 0 <= hour <= 23:
        raise Refused("An hour is 0 to 23.", "hour")
    if not 0 <= weekday <= 6:
        raise Refused("A day of the week is 0, Monday, to 6.", "weekday")
    if time_zone not in zones():
        raise Refused("This time zone is not known.", "time_zone")
    member = caller.member
    values = {"frequency": frequency, "hour": hour, "weekday": weekday, "time_zone": time_zone, "origin": origin}
    row, _ = DigestChoice.objects.update_or_create(
        member=member, defaults={**values, "organisation_id": member.organisation_id}
    )
    row.next_at = following(row, timezone.now())
    row.save(update_fields=["next_at"])
    events.record(
        member.organisation_id, caller.actor, "digest.chosen", subject=member.principal, frequency=str(frequency)
    )
    return row


def following(choice: DigestChoice, after: datetime) -> datetime | None:
    """The first slot after an instant, at the hour of the choice in its time zone; None while it is off."""
    if choice.frequency == Frequency.OFF:
        return None
    zone = _zone(choice.time_zone)
    day = after.astimezone(zone).date()
    for ahead in range(9):
        local = datetime.combine(day + timedelta(days=ahead), time(choice.hour), tzinfo=zone)
        # An hour that a clock skips is the one after it.
        slot = local.astimezone(ZoneInfo(SERVER))
        if slot > after and (choice.frequency == Frequency.DAILY or local.weekday() == choice.weekday):
            return slot
    raise AssertionError("a week has every day")


def due(limit: int) -> Sequence[DigestChoice]:
    """Choices whose slot has come, the longest waiting first."""
    waiting = DigestChoice.objects.filter(next_at__lte=timezone.now()).order_by("next_at", "member_id")
    return list(waiting.select_related("member__user", "member__organisation")[:limit])


def take(choice: DigestChoice) -> bool:
    """Take the slot of a choice, once: false when somebody else has, or it was chosen anew meanwhile."""
    slot = choice.next_at
    mine = DigestChoice.objects.filter(pk=choice.pk, next_at=slot).exclude(next_at=None)
    return bool(mine.update(slot_at=F("next_at"), next_at=following(choice, timezone.now()), outcome=Outcome.SENDING))


def ended(choice: DigestChoice, outcome: str) -> None:
    """Note what became of the slot that was taken."""
    DigestChoice.objects.filter(pk=choice.pk, slot_at=choice.next_at).update(outcome=outcome)


def token_of(member: Member) -> str:
    """What a link needs to end the digests of a member; good as long as the secret key of the site."""
    return SIGNER.sign(member.id)


def member_behind(slug: str, token: str) -> Member | None:
    """The member whose digests a link ends; None for a link that we did not make, or that is of elsewhere."""
    try:
        member_id = SIGNER.unsign(token)
    except BadSignature:
        return None
    found = Member.objects.select_related("organisation").filter(pk=member_id, organisation__slug=slug)
    return found.first()


@transaction.atomic
def stop(member: Member, actor: Actor) -> None:
    """Send a member no more digests; doing it twice changes nothing."""
    on = DigestChoice.objects.filter(member=member).exclude(frequency=Frequency.OFF)
    if on.update(frequency=Frequency.OFF, next_at=None):
        events.record(member.organisation_id, actor, "digest.stopped", subject=member.principal)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo(SERVER)
