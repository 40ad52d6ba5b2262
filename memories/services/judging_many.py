"""Deciding about many items at once: first what would be done and what not, then each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction

from members.callers import Caller
from memories.models import ReviewItem
from uhp_site.http.errors import MemoryInvalid, UHPError

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
    verdicts = []
    for item_id in dict.fromkeys(item_ids):
        try:
            seen = reviewing.find(caller, item_id)
            reviewing.require_theirs(caller, seen.item)
        except UHPError as refusal:
            verdicts.append(Verdict(item_id, False, refusal.message))
            continue
        why = ""
        if seen.item.state != State.OPEN:
            why = "This is decided already."
        elif action == "dismiss" and seen.waits:
            why = "What waits is kept or declined."
        elif action == "decline" and seen.item.kind == ReviewItem.Kind.CONFLICT:
            why = "A conflict is decided between its records."
        verdicts.append(Verdict(item_id, not why, why, seen.fingerprint))
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
