"""The verbs on webhooks: set one up, change, rotate, pause, try, send again, remove.

Those of the organisation are its owners'; a person's own are that person's alone. What is not theirs is unknown to a
caller, whoever else set it up.
Secrets are in the form of the Standard Webhooks specification, `whsec_` and base64; each is shown once.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from uhp_site.http import outbound
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound
from uhp_site.http.text import flaw
from uhp_site.vault import Vault

from . import events, outbox
from .callers import Caller
from .models import Member
from .notification_models import Delivery, Webhook
from .services import Refused, named

PREFIX = "whsec_"
SECRET_BYTES = 32
# How long the secret before a new one signs as well, so that the receiver can be told in peace.
ROTATION = timedelta(hours=24)
MOST = 20
MOST_OWN = 5
State = Delivery.State

VAULT = Vault(b"heartwood: secrets of a webhook")


@dataclass(frozen=True)
class Shown:
    """A webhook with its new secret, which exists in the clear only here."""

    webhook: Webhook
    secret: str

    def __repr__(self) -> str:
        return f"Shown({self.webhook.id})"


@dataclass(frozen=True)
class _Wanted:
    name: str
    url: str
    kinds: list[str]


def listed(caller: Caller) -> Sequence[Webhook]:
    """The webhooks of the organisation, by name. Raises MemoryForbidden for whoever is no owner."""
    _require_owner(caller)
    return list(Webhook.objects.of(caller).filter(member=None).order_by("name", "id"))


def own(caller: Caller) -> Sequence[Webhook]:
    """The caller's own webhooks, by name."""
    return list(Webhook.objects.of(caller).filter(member=caller.member).order_by("name", "id"))


def counted(caller: Caller) -> Sequence[tuple[Member, int]]:
    """Who has webhooks of their own, and how many. Raises MemoryForbidden for whoever is no owner."""
    _require_owner(caller)
    having = Member.objects.of(caller.organisation_id).filter(webhooks__isnull=False).distinct()
    rows = Webhook.objects.filter(organisation_id=caller.organisation_id).exclude(member=None).order_by()
    counts = dict(rows.values_list("member_id").annotate(Count("pk")))
    return [(one, counts[one.id]) for one in having.by_name() if one.id in counts]


def given_up(caller: Caller) -> tuple[int, int]:
    """How many webhooks are paused as nothing arrived any more: of the organisation (for owners), and of their own."""
    mine = Count("pk", filter=Q(member=caller.member))
    found = Webhook.objects.of(caller).given_up().aggregate(own=mine, every=Count("pk"))
    return found["every"] - found["own"], found["own"]


def find(caller: Caller, webhook_id: str) -> Webhook:
    """A webhook that is the caller's to set. Raises MemoryNotFound, alike for unknown and somebody else's."""
    found = Webhook.objects.of(caller).filter(pk=webhook_id).first()
    if found is None:
        raise MemoryNotFound()
    return found


def find_delivery(caller: Caller, webhook_id: str, delivery_id: str) -> Delivery:
    """One message of a webhook that is the caller's to set. Raises MemoryNotFound."""
    hook = find(caller, webhook_id)
    found = Delivery.objects.filter(webhook=hook, pk=delivery_id).first()
    if found is None:
        raise MemoryNotFound()
    return found


def deliveries(hook: Webhook, limit: int, state: str = "", before: str = "") -> list[Delivery]:
    """What was sent to a webhook, or waits to be, newest first."""
    found = Delivery.objects.filter(webhook=hook)
    found = found.filter(state=state) if state else found
    found = found.filter(id__lt=before) if before else found
    return list(found.order_by("-id")[:limit])


def add(
    caller: Caller, *, name: str, url: str, kinds: Collection[str], origin: str, for_oneself: bool = False
) -> Shown:
    """Set up a webhook, of the organisation or the caller's own.

    Raises MemoryForbidden for one of the organisation to whoever is no owner or for an agent, and Refused for an
    address that may not be asked.
    """
    if not for_oneself:
        _require_owner(caller)
    elif caller.member.type != Member.Type.HUMAN:
        raise MemoryForbidden("A webhook of one's own is for a person.")
    wanted = _checked(name, url, kinds)
    member = caller.member if for_oneself else None
    with transaction.atomic():
        # Two at once are counted one after the other.
        list(Member.objects.select_for_update(no_key=True).filter(pk=caller.member.pk))
        if Webhook.objects.filter(organisation_id=caller.organisation_id, member=member).count() >= (
            MOST_OWN if member else MOST
        ):
            who, most = ("A person", MOST_OWN) if member else ("An organisation", MOST)
            raise Refused(f"{who} has at most {most} webhooks.")
        secret = _new_secret()
        hook = Webhook.objects.create(
            organisation_id=caller.organisation_id,
            member=member,
            name=wanted.name,
            url=wanted.url,
            kinds=wanted.kinds,
            sealed=VAULT.seal({"secret": secret}),
            origin=origin,
        )
        _happened(caller, "webhook.added", hook, kinds=sorted(hook.kinds))
    return Shown(hook, secret)


def change(
    caller: Caller, webhook_id: str, *, name: str, url: str, kinds: Collection[str], origin: str
) -> tuple[Webhook, str]:
    """Change a webhook; a new address gets a new secret, which is returned. Raises what `find` and `add` raise.

    Whoever is told from now on must not be able to sign as the one before.
    """
    hook = find(caller, webhook_id)
    wanted = _checked(name, url, kinds)
    secret = ""
    with transaction.atomic():
        hook = Webhook.objects.select_for_update(no_key=True).get(pk=hook.pk)
        moved = _host(hook.url) != _host(wanted.url)
        if moved:
            secret = _new_secret()
            hook.sealed, hook.former, hook.former_until = VAULT.seal({"secret": secret}), None, None
        hook.name, hook.url, hook.kinds, hook.origin = wanted.name, wanted.url, wanted.kinds, origin
        hook.save()
        _happened(caller, "webhook.changed", hook, kinds=sorted(hook.kinds), moved=moved)
    return hook, secret


@transaction.atomic
def rotate(caller: Caller, webhook_id: str) -> Shown:
    """Make a new secret; the former one signs as well for a day. Raises what `find` raises."""
    hook = Webhook.objects.select_for_update(no_key=True).get(pk=find(caller, webhook_id).pk)
    secret = _new_secret()
    hook.former, hook.former_until = bytes(hook.sealed), timezone.now() + ROTATION
    hook.sealed = VAULT.seal({"secret": secret})
    hook.save(update_fields=["sealed", "former", "former_until"])
    _happened(caller, "webhook.rotated", hook)
    return Shown(hook, secret)


@transaction.atomic
def pause(caller: Caller, webhook_id: str) -> Webhook:
    """Send nothing more, and note nothing new, until somebody resumes it; what waits goes on waiting."""
    hook = find(caller, webhook_id)
    paused = Webhook.objects.filter(pk=hook.pk, paused_at=None)
    if paused.update(paused_at=timezone.now(), paused_because=Webhook.Paused.PERSON):
        _happened(caller, "webhook.paused", hook, because="person")
    return hook


@transaction.atomic
def resume(caller: Caller, webhook_id: str) -> Webhook:
    """Send again, what waited first."""
    hook = find(caller, webhook_id)
    paused = Webhook.objects.filter(pk=hook.pk).exclude(paused_at=None)
    if paused.update(paused_at=None, paused_because="", failing_since=None):
        _happened(caller, "webhook.resumed", hook)
        transaction.on_commit(outbox.wake)
    return hook


@transaction.atomic
def try_out(caller: Caller, webhook_id: str) -> Delivery:
    """Send a message that says nothing, to see whether it arrives. Raises what `find` raises, and Refused."""
    hook = find(caller, webhook_id)
    if hook.paused_at:
        raise Refused("It is paused. Resume it first.")
    made = outbox.message(hook, hook.organisation.slug, outbox.TEST, ("webhook", hook.id), {"webhook_id": hook.id})
    made.save(force_insert=True)
    transaction.on_commit(outbox.wake)
    return made


@transaction.atomic
def redeliver(caller: Caller, webhook_id: str, delivery_id: str) -> Delivery:
    """Send a message that is over once more: the same one, with the same id, so that its receiver can tell.

    Raises what `find_delivery` raises, and Refused for one that waits already or while the webhook is paused.
    """
    found = find_delivery(caller, webhook_id, delivery_id)
    if found.webhook.paused_at:
        raise Refused("It is paused. Resume it first.")
    over = Delivery.objects.filter(pk=found.pk).exclude(state=State.WAITING)
    if not over.update(state=State.WAITING, attempts=0, next_at=timezone.now()):
        raise Refused("It waits to be sent already.")
    _happened(caller, "webhook.redelivered", found.webhook, delivery=found.id)
    transaction.on_commit(outbox.wake)
    return found


@transaction.atomic
def remove(caller: Caller, webhook_id: str) -> Webhook:
    """Remove a webhook with all that was noted for it."""
    hook = find(caller, webhook_id)
    _happened(caller, "webhook.removed", hook)
    # Whoever is noting a message for it is waited for, and whoever comes later finds it gone.
    list(Webhook.objects.select_for_update().filter(pk=hook.pk))
    Webhook.objects.filter(pk=hook.pk).delete()
    return hook


def waiting(hook: Webhook) -> int:
    """How many messages wait to be sent."""
    return Delivery.objects.filter(webhook=hook, state=State.WAITING).count()


def fingerprint(hook: Webhook) -> str:
    """What somebody was shown who decides to remove a webhook: which one it is, and where it leads."""
    return hashlib.sha256("\0".join((hook.id, hook.name, hook.url)).encode()).hexdigest()[:32]


def secrets_of(hook: Webhook, now: datetime) -> list[str]:
    """The secrets that sign now, the current one first. Raises vault.Unreadable."""
    sealed = [bytes(hook.sealed)]
    if hook.former and hook.former_until and hook.former_until > now:
        sealed.append(bytes(hook.former))
    return [str(VAULT.unseal(one)["secret"]) for one in sealed]


def known_as(hook: Webhook) -> dict[str, str]:
    """How the audit log knows a webhook; of a person's own, whose it is and not what they call it.

    Neither the address, whose path may be a secret of its own, nor the secret.
    """
    whose = {"subject": f"member:{hook.member_id}"} if hook.member_id else {"name": hook.name}
    return {"webhook": hook.id, **whose}


def _checked(name: str, url: str, kinds: Collection[str]) -> _Wanted:
    url = url.strip()
    if problem := flaw(url):
        raise Refused(problem, "url")
    try:
        outbound.check(url, inside=settings.WEBHOOKS_INSIDE)
    except outbound.Refused as refusal:
        raise Refused(str(refusal), "url") from None
    if not kinds or not set(kinds) <= set(outbox.KINDS):
        raise Refused("Choose at least one thing to be told.", "kinds")
    return _Wanted(named(name), url, [one for one in outbox.KINDS if one in set(kinds)])


def _host(url: str) -> tuple[str, str, int | None]:
    parsed = outbound.read(url, inside=True)
    return parsed.scheme, parsed.host, parsed.port


def _new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def _happened(caller: Caller, action: str, hook: Webhook, **detail: Any) -> None:
    events.record(caller.organisation_id, caller.actor, action, **known_as(hook), **detail)


def _require_owner(caller: Caller) -> None:
    if not caller.member.is_owner:
        raise MemoryForbidden("Only an owner of the organisation may do this.")
