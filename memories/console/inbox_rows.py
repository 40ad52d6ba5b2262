"""Items of the inbox as people read them: rows, reasons as badges with sentences, and what the address asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.http import urlencode

from members.shell import ConsoleRequest
from memories.models import ReviewItem, Run
from memories.services import reviewing, triage
from memories.services.reviewing import Filters
from memories.signals.base import NOTABLE
from memories.signals.context import CONFLICT, NEAR_DUPLICATE
from uhp_site.http.fields import Fields

from .nodes import address
from .principals import Named, named
from .records import excerpt
from .runs import summary

SIGNAL = re.compile(r"[a-z]{1,20}(?:\.[a-z_]{1,30})?")
# From this weight on a reason is a warning.
GRAVE = 0.7
PROVIDER = "provider:"
KINDS = {
    ReviewItem.Kind.NEW.value: "new",
    ReviewItem.Kind.REVISED.value: "changed",
    ReviewItem.Kind.CONFLICT.value: "conflict",
    ReviewItem.Kind.RUN.value: "run",
}
SIGNAL_KINDS = {
    "instruction": "instruction to an assistant",
    "hidden": "hidden text",
    "encoded": "encoded text",
    "secret": "secret",
    "personal": "personal data",
    "context": "circumstances",
}
SIGNAL_NAMES = {
    "context.near_duplicate": "said already",
    "context.conflict": "conflict",
    "context.new_writer": "new writer",
    "context.burst": "burst",
    "context.trust": "source",
    "run.waits": "writes wait",
    "run.replaced": "much replaced",
    "run.grave": "something grave",
    "instruction.role_tag": "role tag",
    "instruction.fence": "fence",
    "instruction.call": "tool call",
    "instruction.disguised": "disguised instruction",
}
# What the inbox is narrowed down to by choosing: all of a kind, and what is told beside other records.
SIGNALS = {
    **{one: word.capitalize() for one, word in SIGNAL_KINDS.items()},
    **{one: SIGNAL_NAMES[one].capitalize() for one in (NEAR_DUPLICATE, CONFLICT)},
}
ORDERS = {"oldest": "Oldest first", "strongest": "Strongest signal first"}
STATES = {
    ReviewItem.State.KEPT.value: "Kept",
    ReviewItem.State.DECLINED.value: "Declined",
    ReviewItem.State.DISMISSED.value: "Dismissed",
    ReviewItem.State.ACCEPTED.value: "Accepted by itself",
    ReviewItem.State.WITHDRAWN.value: "Withdrawn by its writer",
}


@dataclass(frozen=True)
class Reason:
    """Why an item is worth a look: a word, a sentence, and how grave it is."""

    name: str
    label: str
    sentence: str
    tone: str
    weight: float

    @property
    def notable(self) -> bool:
        """Whether it counts by itself."""
        return self.weight >= NOTABLE


@dataclass(frozen=True)
class Row:
    """An item in a list."""

    id: str
    url: str
    title: str
    excerpt: str
    kind: str
    type: str
    waits: bool
    standing: bool
    reasons: Sequence[Reason]
    writer: Named | None
    memory: str
    memory_url: str
    created_at: datetime
    due_at: datetime | None
    times: int
    state: str
    decided_at: datetime | None
    undo_url: str


@dataclass(frozen=True)
class Asked:
    """What the address asks of the inbox."""

    filters: Filters
    order: str
    values: Mapping[str, str]

    @property
    def query(self) -> str:
        """The same as the end of an address; empty for all of it in the usual order."""
        return f"?{urlencode(self.values)}" if self.values else ""


def asked(request: ConsoleRequest) -> Asked:
    """Read the filters and the order from the address. Raises MemoryInvalid."""
    fields = Fields(request.GET.dict())
    order = fields.choice("order", tuple(ORDERS), "oldest")
    kind = fields.choice("kind", ("", *KINDS), "")
    standing = fields.choice("standing", ("", "yes", "no"), "")
    waits = fields.choice("waits", ("", "yes", "no"), "")
    memory_id, writer = (fields.text(name, longest=200) or "" for name in ("memory", "writer"))
    signal = fields.text("signal", longest=60) or ""
    if signal and not SIGNAL.fullmatch(signal):
        raise fields.refuse("signal", "There is no such signal.")
    answers = {"yes": True, "no": False}
    filters = Filters(
        memory_id=memory_id,
        kinds=(kind,) if kind else (),
        writer=writer,
        signal=signal,
        standing=answers.get(standing),
        held=answers.get(waits),
    )
    given = {
        "order": "" if order == "oldest" else order,
        "memory": memory_id,
        "kind": kind,
        "writer": writer,
        "signal": signal,
        "standing": standing,
        "waits": waits,
    }
    return Asked(filters, order, {name: value for name, value in given.items() if value})


def choices(request: ConsoleRequest, seen: Asked, among: QuerySet[ReviewItem]) -> list[dict[str, Any]]:
    """The filters as selects: name, label, chosen value and options, of all the items there are to choose from."""
    writers = triage.writers_of(among)
    names = called(request, writers)
    options: dict[str, tuple[str, Iterable[tuple[str, str]]]] = {
        "memory": ("Memory", [("", "All memories"), *triage.memories_of(among)]),
        "kind": ("What", [("", "Everything"), *((value, word.capitalize()) for value, word in KINDS.items())]),
        "writer": ("Writer", [("", "Anybody"), *((one, names[one].name) for one in writers)]),
        "signal": ("Signal", [("", "Any or none"), *SIGNALS.items()]),
        "waits": ("State", [("", "Held or live"), ("yes", "Held"), ("no", "Live")]),
        "standing": ("Standing", [("", "Either"), ("yes", "Standing"), ("no", "Not standing")]),
    }
    found = []
    for name, (label, pairs) in options.items():
        chosen, listed = seen.values.get(name, ""), list(pairs)
        if chosen not in dict(listed):
            listed.append((chosen, SIGNAL_NAMES.get(chosen) or chosen))
        found.append({"name": name, "label": label, "chosen": chosen, "options": listed})
    return found


def rows(request: ConsoleRequest, items: Sequence[ReviewItem], query: str = "") -> list[Row]:
    """Items as rows, in a constant number of queries; the items carry their memories and drafts."""
    versions = triage.versions_of(items)
    names = called(request, [one.writer for one in items if one.writer])
    runs = runs_of(items)
    found = []
    for item in items:
        version = versions.get(item.id)
        said = excerpt(version) if version else ""
        found.append(
            Row(
                id=item.id,
                url=address(request, "inbox-item", item.id) + query,
                title=(version.draft.title or said) if version else runs.get(item.subject, ""),
                excerpt=said if version and version.draft.title else "",
                kind=item.kind,
                type=item.type,
                waits=item.held_id is not None,
                standing=item.standing,
                reasons=reasons(item.signals),
                writer=names.get(item.writer),
                memory=item.memory.name,
                memory_url=address(request, "memory", item.memory_id),
                created_at=item.created_at,
                due_at=item.due_at,
                times=item.times,
                state=state_of(item),
                decided_at=item.decided_at,
                undo_url=address(request, "inbox-undo", item.id) + query,
            )
        )
    return found


def state_of(item: ReviewItem) -> str:
    """What became of an item, in a word or two; empty while it is open."""
    if item.kind == ReviewItem.Kind.CONFLICT and item.state == ReviewItem.State.KEPT:
        return "Decided"
    return STATES.get(item.state, "")


def runs_of(items: Iterable[ReviewItem]) -> dict[str, str]:
    """What the runs that ask did, as sentences; no query where none asks."""
    wanted = {one.subject for one in items if one.kind == ReviewItem.Kind.RUN}
    return {one.id: f"A run: {summary(one)}" for one in Run.objects.filter(pk__in=wanted)} if wanted else {}


def called(request: ConsoleRequest, principals: Iterable[str]) -> dict[str, Named]:
    """Who wrote something: members and groups by name, providers by what they are."""
    wanted = list(principals)
    names = dict(named(request.organisation.id, wanted))
    providers = {one: one.removeprefix(PROVIDER) for one in wanted if one.startswith(PROVIDER)}
    return names | {one: Named(name, "provider") for one, name in providers.items()}


def reasons(signals: Iterable[Mapping[str, Any]]) -> list[Reason]:
    """Signals as an item keeps them, strongest first."""
    found = [reason(one["name"], float(one["weight"]), one["reason"]) for one in signals]
    return sorted(found, key=lambda one: -one.weight)


def reason(name: str, weight: float, sentence: str) -> Reason:
    """One signal as people read it."""
    kind, _, rest = name.partition(".")
    label = SIGNAL_NAMES.get(name) or (rest.replace("_", " ") if kind != "secret" else f"secret: {rest}")
    tone = "danger" if weight >= GRAVE else "caution" if weight >= NOTABLE else "neutral"
    return Reason(name, label.replace("_", " "), sentence, tone, weight)


def decided(request: ConsoleRequest, query: str = "") -> list[Row]:
    """The last decisions of this person that can be taken back, newest first."""
    items = list(reviewing.recent(request.caller))
    kept = {one.id: one for one in triage.items_of(request.caller, [one.id for one in items])}
    return rows(request, [kept[one.id] for one in items if one.id in kept], query)
