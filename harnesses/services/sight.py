"""Sight before management: the one place where a caller meets a harness (Architecture §1.4)."""

from __future__ import annotations

from dataclasses import dataclass

from harnesses.errors import HarnessNotFound, InsufficientScope
from harnesses.models import PREFIX, Harness
from members.callers import Caller
from members.ids import NOBODY, to_uuid


@dataclass(frozen=True)
class Desk:
    """A harness as one caller sees it; having one means having seen it."""

    caller: Caller
    harness: Harness

    @property
    def manages(self) -> bool:
        """Whether the caller may change it: an owner of the organisation, and whoever made it."""
        return self.caller.member.is_owner or self.harness.creator == self.caller.member.principal

    def require_manager(self) -> None:
        """Raise InsufficientScope for an agent that only looks at its own harness."""
        if not self.manages:
            raise InsufficientScope()


def look(caller: Caller, harness_id: str, *, locked: bool = False) -> Desk:
    """The harness as the caller sees it. Raises HarnessNotFound, alike for unseen, deleted and unknown."""
    seen = Harness.objects.seen_by(caller.member).select_related("agent")
    rows = seen.select_for_update(of=("self",)) if locked else seen
    harness = None if to_uuid(harness_id, PREFIX) == NOBODY else rows.filter(pk=harness_id).first()
    if harness is None:
        raise HarnessNotFound()
    return Desk(caller, harness)
