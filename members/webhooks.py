"""The verbs on webhooks, for owners of the organisation: set one up, change, rotate, pause, try, send again, remove.

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
from django.utils import timezone

from uhp_site.http import outbound
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound
from uhp_site.http.text import flaw
from uhp_site.vault import Vault

from . import events, outbox
from .callers import Caller
from .notification_models import Delivery, Webhook
from .services import Refused, named

PREFIX = "whsec_"
SECRET_BYTES = 32
# How long the secret before a new one signs as well, so that the receiver can be told in peace.
ROTATION = timedelta(hours=24)
MOST = 20
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
    return list(Webhook.objects.filter(organisation_id=caller.organisation_id).order_by("name", "id"))


def find(caller: Caller, webhook_id: str) -> Webhook:
    """A webhook of the organisation. Raises MemoryForbidden for whoever is no owner, MemoryNotFound."""
    _require_owner(caller)
    found = Webhook.objects.filter(organisation_id=caller.organisation_id, pk=webhook_id).first()
    if found is None:
        raise MemoryNotFound()
    return found


def find_delivery(caller: Caller, webhook_id: str, delivery_id: str) -> Delivery:
    """One message of a webhook. Raises MemoryForbidden, MemoryNotFound."""
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


def add(caller: Caller, *, name: str, url: str, kinds: Collection[str], origin: str) -> Shown:
    """Set up a webhook. Raises MemoryForbidden, and Refused for an address that may not be asked."""
    _require_owner(caller)
    wanted = _checked(name, url, kinds)
    with transaction.atomic():
        if Webhook.objects.filter(organisation_id=caller.organisation_id).count() >= MOST:
            raise Refused(f"An organisation has at most {MOST} webhooks.")
        secret = _new_secret()
        hook = Webhook.objects.create(
            organisation_id=caller.organisation_id,
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
    # Neither the address, whose path may be a secret of its own, nor the secret.
    events.record(caller.organisation_id, caller.actor, action, webhook=hook.id, name=hook.name, **detail)


def _require_owner(caller: Caller) -> None:
    if not caller.member.is_owner:
        raise MemoryForbidden("Only an owner of the organisation may do this.")
