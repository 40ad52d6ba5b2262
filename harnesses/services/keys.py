"""The keys by which an agent comes in: issued by whoever manages its harness, shown once, revoked at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from harnesses.errors import HarnessInvalid, KeyNotFound
from members import services as members
from members.models import Credential
from members.services import Issued

from .sight import Desk


def live(desk: Desk) -> Sequence[Credential]:
    """The keys of the agent that are accepted now, the newest first. Raises InsufficientScope."""
    desk.require_manager()
    return list(Credential.objects.live().filter(member_id=desk.harness.agent_id).order_by("-created_at", "-pk"))


def issue(desk: Desk, name: str, expires_at: datetime | None) -> Issued:
    """Make a key for the agent. Raises InsufficientScope, and HarnessInvalid for an end that is past."""
    desk.require_manager()
    try:
        return members.issue_key(desk.harness.agent, name, expires_at=expires_at, actor=desk.caller.actor)
    except members.Refused as refused:
        raise HarnessInvalid(str(refused), param=refused.field) from None


def revoke(desk: Desk, key_id: str) -> None:
    """End a key of the agent. Raises InsufficientScope and KeyNotFound."""
    desk.require_manager()
    key = Credential.objects.live().filter(member_id=desk.harness.agent_id, pk=key_id).first()
    if key is None:
        raise KeyNotFound()
    members.revoke_key(key, actor=desk.caller.actor)
