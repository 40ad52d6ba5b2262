"""What the audit log says: a name for each action, and a few words on what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .principals import Named

ACTIONS = {
    "organisation.founded": "Organisation founded",
    "member.joined": "Member added",
    "member.invited": "Invitation made",
    "member.uninvited": "Invitation withdrawn",
    "member.deactivated": "Member deactivated",
    "member.reactivated": "Member active again",
    "key.issued": "Key made",
    "key.revoked": "Key revoked",
    "group.created": "Group created",
    "group.joined": "Put into a group",
    "group.left": "Taken out of a group",
    "memory.created": "Memory created",
    "memory.renamed": "Memory renamed or described",
    "memory.moved": "Memory moved",
    "memory.restricted": "Branch closed",
    "memory.opened": "Branch opened",
    "memory.deleted": "Memory deleted",
    "memory.imported": "Memory imported",
    "memory.taken_over": "Administration taken over",
    "memory.handed_over": "Memories handed over",
    "grant.given": "Access given",
    "grant.taken_back": "Access taken back",
    "viewed.as": "Viewed as somebody else",
    "record.erased": "Record erased",
    "hold.placed": "Hold placed",
    "hold.lifted": "Hold lifted",
    "snapshot.taken": "Snapshot taken",
    "query.defined": "Query defined",
    "query.changed": "Query changed",
    "golden.saved": "Golden question saved",
    "golden.removed": "Golden question removed",
    "consolidation.started": "Consolidation started",
    "consolidation.stopped": "Consolidation stopped",
    "consolidation.reverted": "Consolidation taken back",
    "consolidation.accepted": "Changes of a consolidation accepted",
    "consolidation.asks_changed": "When a consolidation asks for a person changed",
    "consolidation.scheduled": "Schedule of consolidation changed",
    "consolidation.engine_chosen": "Engine of consolidation chosen",
    "conflict.decided": "Conflict decided",
    "job.retried": "Job tried again",
    "review.policy_changed": "Review changed",
    "review.kept": "Kept in review",
    "review.approved": "Approved in review",
    "review.declined": "Declined in review",
    "review.dismissed": "Dismissed in review",
    "review.edited": "Edited and kept in review",
    "review.merged": "Merged in review",
    "review.moved": "Moved in review",
    "review.marked_standing": "Made standing in review",
    "review.accepted": "Accepted by time in review",
    "review.undone": "Taken back in review",
    "harness.created": "Harness created",
    "harness.changed": "Harness changed",
    "harness.deleted": "Harness deleted",
    "harness.memories": "Memory settings of a harness changed",
    "organisation.language": "Text search language changed",
    "webhook.added": "Webhook set up",
    "webhook.changed": "Webhook changed",
    "webhook.rotated": "New secret for a webhook",
    "webhook.paused": "Webhook paused",
    "webhook.resumed": "Webhook resumed",
    "webhook.redelivered": "Message of a webhook sent again",
    "webhook.removed": "Webhook deleted",
    "digest.chosen": "Digest by email chosen",
    "digest.stopped": "Digest by email ended",
    "type.registered": "Record type registered",
    "type.changed": "Record type changed",
}
VIA = {"api": "over the API", "console": "in the console", "command": "by a command", "system": "by the server"}


@dataclass(frozen=True)
class Words:
    """What is worth saying of a detail, in a few words: a method an action that has something to say but a name."""

    detail: Mapping[str, Any]
    seen: Mapping[str, str]
    names: Mapping[str, Named]

    def said(self, action: str) -> str:
        """The words for an action."""
        if not self.detail:
            return ""
        say: Callable[[], str] | None = getattr(self, f"_{action.replace('.', '_')}", None)
        return say() if say else str(self.detail.get("name", ""))

    def _place(self, key: str) -> str:
        value = self.detail.get(key)
        return "the top" if value is None else self.seen.get(str(value), "a memory that you may not see")

    def _joined(self, key: str) -> str:
        return ", ".join(str(one) for one in self.detail.get(key) or ())

    def _grant_given(self) -> str:
        before = self._joined("before")
        return self._joined("privileges") + (f", before that {before}" if before else "")

    def _grant_taken_back(self) -> str:
        return self._joined("privileges")

    def _memory_moved(self) -> str:
        return f"from {self._place('from')} to {self._place('to')}"

    def _memory_renamed(self) -> str:
        before, name = self.detail.get("before"), self.detail.get("name")
        return f"from {before} to {name}" if before != name else "its description"

    def _memory_created(self) -> str:
        where = f"below {self._place('parent_id')}" if self.detail.get("parent_id") else "at the top"
        return f"{where}, closed from the start" if self.detail.get("restricted") else where

    def _memory_handed_over(self) -> str:
        to = self.names.get(str(self.detail.get("to")))
        return f"{self.detail.get('memories')} to {to.name if to else 'somebody'}"

    def _group_joined(self) -> str:
        return str(self.detail.get("group_name", ""))

    _group_left = _group_joined

    def _key_issued(self) -> str:
        return f"{self.detail.get('prefix', '')}…"

    _key_revoked = _key_issued

    def _viewed_as(self) -> str:
        if tool := self.detail.get("tool"):
            return f"tried {tool}"
        return "with a recall" if self.detail.get("recalled") else "prime" if self.detail.get("primed") else ""
