"""A question before a change: what it does to whom, what has to be confirmed, and whether that was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django_htmx.http import HttpResponseClientRedirect

from members.models import Member
from members.shell import ConsoleRequest
from memories.access import Tally
from memories.services.impact import Impact

CHANGED = "Something changed since this was shown. Look again at what will happen, then decide."
UNSAID = "Say that you know what this does to your own access, then decide."
MISTYPED = "The name that was typed is not the name of this {}."

# From here on the name has to be typed: what is this large is not to be changed by a slip.
LARGE_MEMORIES = 100
LARGE_RECORDS = 1_000
LARGE_MEMBERS = 25
LISTED = 100


@dataclass(frozen=True)
class Effect:
    """What a change does to one member."""

    name: str
    kind: str
    said: str


@dataclass(frozen=True)
class Question:
    """What is asked before a change. `word` has to be typed when much is at stake; `thing` is what it names."""

    change: Impact
    word: str = ""
    thing: str = "memory"
    always_typed: bool = False

    @property
    def typed(self) -> bool:
        """Whether the name has to be typed."""
        change = self.change
        touched = sum(party.people + party.agents for party in (change.losing, change.gaining))
        large = change.memories >= LARGE_MEMORIES or (change.records or 0) >= LARGE_RECORDS or touched >= LARGE_MEMBERS
        return bool(self.word) and (self.always_typed or large)

    def error(self, answer: QueryDict) -> str:
        """What is wrong with an answer; empty when it may be done, unless the last step is still to come."""
        if answer.get("expected") != self.change.fingerprint:
            return CHANGED
        if self.typed and answer.get("confirm", "").strip() != self.word:
            return MISTYPED.format(self.thing)
        if self.change.locks_out_self and answer.get("confirm_lockout") != "yes":
            return UNSAID
        return ""

    def has_last_step(self, answer: QueryDict) -> bool:
        """Whether it still has to be said that nobody can administer something afterwards."""
        return self.change.orphans and answer.get("confirm_orphans") != "yes"

    def context(self, request: ConsoleRequest, error: str = "", *, last_step: bool = False) -> dict[str, Any]:
        """What the panel shows; the last step carries along what was answered before."""
        change = self.change
        answered = {name: request.POST[name] for name in ("confirm", "confirm_lockout") if name in request.POST}
        return {
            "losing": change.losing,
            "gaining": change.gaining,
            "narrowing": change.narrowing,
            "widening": change.widening,
            "keeping": change.keeping,
            "effects": effects(request.organisation.id, change.tallies),
            "effects_more": max(0, len(change.tallies) - LISTED),
            "scope": scope(change),
            "locks_out_self": change.locks_out_self and not last_step,
            "typed": self.typed and not last_step,
            "word": self.word,
            "orphans": change.orphans,
            "last_step": last_step,
            "hidden": list(answered.items()) if last_step else [],
            "expected": change.fingerprint,
            "error": error,
            "action_url": request.path,
        }


def scope(change: Impact) -> str:
    """How much is concerned, in one sentence; empty for nothing."""
    if not change.memories:
        return "It also concerns memories that you may not see." if change.elsewhere else ""
    many = counted(change.memories, "memory", "memories")
    records = f" with {counted(change.records, 'record', 'records')}" if change.records else ""
    rest = ", and others that you may not see" if change.elsewhere else ""
    return f"It concerns {many}{records}{rest}."


def effects(organisation_id: str, tallies: Mapping[str, Tally]) -> Sequence[Effect]:
    """Member by member, who loses and gains how much; one query."""
    listed = Member.objects.of(organisation_id).filter(pk__in=tallies).by_name()[:LISTED]
    return [Effect(one.name, one.type, tally_said(tallies[one.id])) for one in listed]


def tally_said(tally: Tally) -> str:
    """What becomes of the access of one member, in a few words."""
    parts = [
        (tally.loses, "loses"),
        (tally.gains, "gains"),
        (tally.narrows, "holds less on"),
        (tally.widens, "holds more on"),
    ]
    return ", ".join(f"{verb} {counted(number, 'memory', 'memories')}" for number, verb in parts if number)


def counted(number: int | None, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number or 0:,} {one if number == 1 else many}"


def led(request: ConsoleRequest, url: str) -> HttpResponse:
    """Go on to a page after a change, from a dialog as from a page."""
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)
