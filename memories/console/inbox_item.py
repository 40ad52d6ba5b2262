"""One item of the inbox: what it says with what was noticed in it, what stands around it, and what may be decided."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.content import Draft, Reference, words_of
from memories.models import ReviewItem, Run
from memories.providers.base import RecordVersion
from memories.services import accepting, deciding, held, reverting, reviewing, triage
from memories.services import records as verbs
from memories.services.comparing import said_by
from memories.services.judging import MAX_NOTE
from memories.services.reviewing import Looked, Near
from memories.signals.base import Signal, Span
from memories.signals.context import Difference
from memories.signals.look import look_at
from uhp_site.http import pages
from uhp_site.http.errors import MemoryNotFound

from . import conflicts, differences
from .inbox_rows import KINDS, Asked, asked, called, decided, reason, reasons, runs_of, state_of
from .nodes import address
from .principals import writers
from .records import part_context, record_context
from .versions import difference

SOURCES = 3
# How much of a text is shown around what was noticed in it.
AROUND = 40
KEYS = [
    ("k", "Keep"),
    ("d", "Decline"),
    ("r", "Write a reason"),
    ("e", "Edit and keep"),
    ("m", "Merge into another record"),
    ("v", "Move to another memory"),
    ("s", "Keep as standing"),
    ("x", "Dismiss"),
    ("j n", "Next"),
    ("p", "Previous"),
    ("z", "Take the last decision back"),
    ("?", "Show these keys"),
]
# What two texts differ in, as words of a sentence.
DIFFERENCES = {"number": "a number", "date": "a date", "name": "a name", "negation": "a negation", "words": "words"}


@dataclass(frozen=True)
class Marked:
    """A piece of a text; `noticed` when it is why somebody should look."""

    text: str
    noticed: bool = False


@member_page
@require_GET
def item(request: ConsoleRequest, item_id: str) -> HttpResponse:
    """One item with everything a decision needs."""
    return item_page(request, reviewing.find(request.caller, item_id))


def item_page(request: ConsoleRequest, seen: Looked, *, changed: str = "", error: str = "") -> HttpResponse:
    """The page as it stands now; `changed` says that something else was shown before, `error` what went wrong."""
    question = asked(request)
    before, after = triage.beside(request.caller, seen.item, question.filters, question.order)
    context = {
        **shell(request, "review"),
        **about(request, seen),
        "changed": changed,
        "error": error,
        "previous_url": address(request, "inbox-item", before) + question.query if before else None,
        "next_url": address(request, "inbox-item", after) + question.query if after else None,
        "inbox_url": address(request, "inbox") + question.query,
        "last": next(iter(decided(request, question.query)), None),
        "keys": [(key.split(), label) for key, label in KEYS],
        **(conflict(request, seen) if seen.item.kind == ReviewItem.Kind.CONFLICT else {}),
        **(body(request, seen) if seen.version and seen.item.kind != ReviewItem.Kind.CONFLICT else {}),
        **decisions(request, seen, question),
        **(run(request, seen) if seen.item.kind == ReviewItem.Kind.RUN else {}),
    }
    return pages.answer(request, "memories/inbox_item.html", context, status=409 if changed else 422 if error else 200)


def about(request: ConsoleRequest, seen: Looked) -> dict[str, Any]:
    """What is known of an item beside what it says."""
    found, place = seen.item, seen.place
    names = called(request, [one for one in (found.writer, found.on_behalf_of, found.reviewer) if one])
    return {
        "item": {
            "id": found.id,
            "kind": found.kind,
            "kind_word": KINDS.get(found.kind, found.kind),
            "waits": seen.waits,
            "open": found.state == ReviewItem.State.OPEN,
            "state": state_of(found),
            "decided_at": found.decided_at,
            "reviewer": names.get(found.reviewer),
            "note": found.note,
            "writer": names.get(found.writer),
            "on_behalf_of": names.get(found.on_behalf_of),
            "created_at": found.created_at,
            "due_at": found.due_at,
            "times": found.times,
            "standing": found.standing,
            "type": found.type,
            "mine": request.caller.member.principal in (found.writer, found.on_behalf_of),
        },
        "title": seen.version.name if seen.version else runs_of([found]).get(found.subject, ""),
        "memory": {"name": place.memory.name, "url": address(request, "memory", place.memory.id)},
        "policy_url": address(request, "review-policy", place.memory.id),
        "fingerprint": seen.fingerprint,
        "gone": seen.version is None and found.kind in (ReviewItem.Kind.NEW, ReviewItem.Kind.REVISED),
        "forgotten": seen.head is not None and seen.head.status == "forgotten" and not seen.waits,
        "run_url": address(request, "run", place.memory.id, found.subject)
        if found.kind == ReviewItem.Kind.RUN and found.subject
        else None,
    }


def body(request: ConsoleRequest, seen: Looked) -> dict[str, Any]:
    """What an item says, what was noticed, what is near it, where it comes from, and who reads it."""
    version = seen.version
    assert version is not None, "only called for what says something"
    place, near = seen.place, reviewing.nearest(seen)
    found = look_at(said_by(version.draft), dict(verbs.without_reason(version.draft).attributes or {}))
    writer = writers(request.organisation.id, [version.writer])[version.writer]
    record = record_context(request, version, writer)
    shown = {**record, "parts": parts(record["parts"], version.draft, found)}
    kept = None if seen.waits and seen.before is None else address(request, "record", place.memory.id, version.id)
    return {
        "record": shown,
        "record_url": kept,
        "noticed": noticed(request, seen, found, reviewing.compared(seen, near)),
        "change": difference(request, seen.before, version) if seen.before and seen.item.kind == "revised" else None,
        "sources": sources(request, version),
        "near": nearby(request, seen, near),
        "readers": triage.readers(place),
        "who_url": address(request, "who", place.memory.id),
    }


def noticed(
    request: ConsoleRequest, seen: Looked, found: Sequence[Signal], compared: Sequence[Signal]
) -> list[dict[str, Any]]:
    """Every reason with its sentence, strongest first, the words that it is about, and the records it was told by.

    `gone` says that none of those is there any more.
    """
    known = {one.name: one for one in reasons(seen.item.signals)}
    known |= {one.name: reason(one.name, one.weight, one.reason) for one in (*found, *compared)}
    said = said_by(seen.version.draft) if seen.version else ""
    spans = {one.name: one.spans for one in found}
    listed = sorted(known.values(), key=lambda one: -one.weight)
    about = {one["name"]: one["records"] for one in seen.item.signals if "records" in one}
    there = reviewing.named(seen)
    others = {
        name: [
            {"title": there[one].name, "url": address(request, "record", there[one].memory_id, one)}
            for one in ids
            if one in there
        ]
        for name, ids in about.items()
    }
    now = {one.name for one in compared}
    return [
        {
            "reason": one,
            "quotes": quotes(said, spans.get(one.name, ())),
            "others": others.get(one.name, ()),
            "gone": one.name in others and not others[one.name] and one.name not in now,
        }
        for one in listed
    ]


def quotes(said: str, spans: Iterable[Span]) -> list[dict[str, str]]:
    """What was noticed, with a little of the text around it; of an attribute, where it is."""
    found = []
    for span in list(spans)[:3]:
        if span.where:
            found.append({"where": span.where, "before": "", "text": "", "after": ""})
            continue
        start, end = span.start, min(span.end, span.start + 200)
        around = said[max(0, start - AROUND) : start], said[end : end + AROUND]
        before, after = (" ".join(one.split()) for one in around)
        before, after = f"…{before}" if start > AROUND else before, f"{after}…" if end + AROUND < len(said) else after
        found.append({"where": "", "before": before, "text": visible(said[start:end]), "after": after})
    return found


def parts(shown: Sequence[dict[str, Any]], draft: Draft, found: Iterable[Signal]) -> list[dict[str, Any]]:
    """The parts of a record, those in which something was noticed with pieces of which that is marked."""
    spans = [span for signal in found for span in signal.spans if not span.where]
    at = len(draft.title) + 1 if draft.title else 0
    marked = []
    for one, part in zip(shown, draft.content, strict=True):
        said = words_of("", (part,), {})
        inside = [
            Span(span.start - at, span.end - at) for span in spans if span.end > at and span.start < at + len(said)
        ]
        if inside and said == part.get("text"):
            one = {**{key: value for key, value in one.items() if key != "start"}, "pieces": pieces(said, inside)}
        marked.append({**one, "alone": [one]})
        at += len(said) + 1 if said else 0
    return marked


def pieces(text: str, spans: Sequence[Span]) -> list[Marked]:
    """A text cut where marks begin and end; what a person would not see is made visible inside them."""
    flags = bytearray(len(text))
    for span in spans:
        for index in range(max(0, span.start), min(len(text), span.end)):
            flags[index] = 1
    found = []
    for flag, group in groupby(range(len(text)), key=lambda index: flags[index]):
        run = list(group)
        said = text[run[0] : run[-1] + 1]
        found.append(Marked(visible(said) if flag else said, bool(flag)))
    return found


def visible(text: str) -> str:
    """The text with signs that are not drawn in words: a run of one kind as its code and how many."""
    found = []
    for sign, group in groupby(text):
        count = len(list(group))
        drawn = unicodedata.category(sign) not in {"Cf", "Co", "Cn", "Cc"} or sign in "\n\t"
        times = f", {count} times" if count > 1 else ""
        found.append(sign * count if drawn else f"⟨U+{ord(sign):04X}{times}⟩")
    return "".join(found)


def sources(request: ConsoleRequest, version: RecordVersion) -> dict[str, Any]:
    """The records it was made from, opened in place, as far as the reviewer reads them."""
    derived = [one for one in version.draft.references if one.rel == held.DERIVED]
    asked_for = [Reference(one.record_id, one.rel, one.memory_id or version.memory_id) for one in derived]
    found = triage.opened(request.caller, asked_for[:SOURCES])
    names = writers(request.organisation.id, [one.writer for one in found])
    listed = [
        {
            "title": one.name,
            "url": address(request, "record", one.memory_id, one.id),
            "writer": names[one.writer],
            "written_at": one.written_at,
            "parts": [part_context(request, one, index) for index in range(len(one.draft.content))],
        }
        for one in found
    ]
    return {"listed": listed, "hidden": min(len(asked_for), SOURCES) - len(found), "more": len(asked_for[SOURCES:])}


def nearby(request: ConsoleRequest, seen: Looked, near: Sequence[Near]) -> list[dict[str, Any]]:
    """Existing records near an item, each with what the two differ in, word by word."""
    said = said_by(seen.version.draft) if seen.version else ""
    return [
        {
            "id": one.version.id,
            "title": one.version.name,
            "url": address(request, "record", one.version.memory_id, one.version.id),
            "pieces": differences.words(said_by(one.version.draft), said),
            "differs": differing(one.differences),
            "episode": one.version.draft.type == "episode" or one.version.follows is not None,
        }
        for one in near
    ]


def differing(found: Sequence[Difference]) -> str:
    """In what two texts differ, as a sentence."""
    kinds = [DIFFERENCES[one.kind] for one in found]
    if not kinds:
        return "It says the same."
    return f"It differs in {' and '.join([', '.join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)}."


def conflict(request: ConsoleRequest, seen: Looked) -> dict[str, Any]:
    """Both records of a conflict side by side; nothing of one whose records are gone."""
    try:
        pair = deciding.find(seen.place, seen.item.subject)
    except MemoryNotFound:
        return {"pair": None, "gone": True}
    return {
        "pair": conflicts.sides(request, pair),
        "conflict_url": address(request, "conflict", seen.place.memory.id, pair.conflict.id),
        "fingerprint": f"{seen.fingerprint}:{conflicts.shown(pair)}",
    }


def run(request: ConsoleRequest, seen: Looked) -> dict[str, Any]:
    """Why a run asks for a person, how far it was looked through, and where it is undone."""
    found = Run.objects.filter(memory_id=seen.place.memory.id, pk=seen.item.subject).first()
    if found is None:
        return {"gone": True}
    progress = accepting.progress([found]).get(found.id)
    return {
        "noticed": noticed(request, seen, (), ()),
        "looked_at": progress,
        "run_undo_url": address(request, "run-revert", seen.place.memory.id, found.id)
        if reverting.remaining(found).exists()
        else None,
    }


def decisions(request: ConsoleRequest, seen: Looked, question: Asked) -> dict[str, Any]:
    """Where each decision is made, as far as it is possible here."""
    found, version = seen.item, seen.version
    decides = found.state == ReviewItem.State.OPEN
    decides = decides and request.caller.member.principal not in (found.writer, found.on_behalf_of)
    about_record = decides and version is not None and found.kind in (ReviewItem.Kind.NEW, ReviewItem.Kind.REVISED)
    lives = seen.waits or (seen.head is not None and seen.head.status == "active")
    rewrites = (
        about_record and lives and version is not None and version.draft.type != "episode" and not version.follows
    )

    def at(page: str, where: bool) -> str | None:
        return address(request, page, found.id) + question.query if where else None

    urls: Mapping[str, str | None] = {
        "decide_url": at("inbox-decide", decides),
        "edit_url": at("inbox-edit", rewrites),
        "merge_url": at("inbox-merge", about_record and lives),
        "move_url": at("inbox-move", about_record and lives),
    }
    return {
        **urls,
        "declines": about_record and lives,
        "keeps": about_record,
        "marks_standing": rewrites and not found.standing,
        "writes_here": Privilege.WRITE in seen.place.privileges,
        "reason_length": MAX_NOTE,
    }
