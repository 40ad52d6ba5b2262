"""Deciding about many items at once: first what would be done and what not, then each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction

from members.callers import Caller
from memories.models import ReviewItem
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound, UHPError

from . import reviewing
from .judging import decline, dismiss, keep

State = ReviewItem.State


@dataclass(frozen=True)
class Verdict:
    """What would be done about an item, or was, or why not."""

    item_id: str
    may: bool
    why: str = ""
    fingerprint: str = ""


def preview(caller: Caller, item_ids: Iterable[str], action: str) -> list[Verdict]:
    """For each of some items whether `action` (keep, decline or dismiss) would be done now, or why not."""
    if action not in ACTIONS:
        raise MemoryInvalid("Many items are kept, declined or dismissed.", param="action")
    wanted = list(dict.fromkeys(item_ids))
    seen = reviewing.glance(caller, wanted)
    verdicts = []
    for item_id in wanted:
        try:
            if item_id not in seen:
                raise MemoryNotFound()
            item, fingerprint = seen[item_id]
            reviewing.require_theirs(caller, item)
        except UHPError as refusal:
            verdicts.append(Verdict(item_id, False, refusal.message))
            continue
        why = ""
        if item.state != State.OPEN:
            why = "This is decided already."
        elif action == "dismiss" and item.held_id is not None:
            why = "What waits is kept or declined."
        elif action == "decline" and item.kind == ReviewItem.Kind.CONFLICT:
            why = "A conflict is decided between its records."
        elif action == "decline" and item.kind == ReviewItem.Kind.RUN:
            why = "A run is undone on its page."
        verdicts.append(Verdict(item_id, not why, why, fingerprint))
    return verdicts


def bulk(caller: Caller, chosen: Mapping[str, str], action: str, reason: str = "") -> list[Verdict]:
    """Decide about many items by their fingerprints, each by itself: one that cannot be decided stops no other."""
    if action not in ACTIONS:
        raise MemoryInvalid("Many items are kept, declined or dismissed.", param="action")
    verdicts = []
    for item_id, fingerprint in chosen.items():
        try:
            with transaction.atomic():
                if action == "decline":
                    decline(caller, item_id, fingerprint, reason)
                else:
                    ACTIONS[action](caller, item_id, fingerprint)
            verdicts.append(Verdict(item_id, True))
        except UHPError as refusal:
            verdicts.append(Verdict(item_id, False, refusal.message))
    return verdicts


ACTIONS = {"keep": keep, "decline": decline, "dismiss": dismiss}
