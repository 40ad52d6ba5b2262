"""Recording what changed: who did it, when, from where. Called inside the transaction that makes the change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from .models import Event


@dataclass(frozen=True)
class Origin:
    """How a request came in: `via` is api, console, command or system."""

    via: str = "system"
    address: str | None = None


UNKNOWN = Origin()
COMMAND = Origin("command")


@dataclass(frozen=True)
class Actor:
    """Who does something, and from where; the system when nobody does."""

    principal: str = ""
    origin: Origin = UNKNOWN


SYSTEM = Actor()
OPERATOR = Actor(origin=COMMAND)
"""Whoever runs commands on the server."""


def record(
    organisation_id: str, actor: Actor, action: str, *, memory_id: str = "", subject: str = "", **detail: Any
) -> Event:
    """Append an event. Must run in the transaction of the change it speaks of."""
    assert connection.in_atomic_block, "an event belongs into the transaction of its change"
    return Event.objects.create(
        organisation_id=organisation_id,
        at=timezone.now(),
        action=action,
        actor=actor.principal,
        via=actor.origin.via,
        address=actor.origin.address,
        memory_id=memory_id,
        subject=subject,
        detail=detail,
    )
