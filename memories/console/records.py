"""Records as people read them: rows of a list, and the page of one with its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.models import Hold, Run
from memories.providers.base import RecordVersion
from memories.reader import Reader, ResolvedReference
from memories.services import files, types
from memories.services import records as verbs
from memories.services.pointing import pointing_at
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.downloads import send
from uhp_site.http.fields import Fields

from .differences import readable
from .nodes import address, breadcrumb, located
from .principals import Named, named, writers

EXCERPT = 240
# From here on a text is folded: so many characters, or so many lines.
LONG_TEXT = 2_000
LONG_LINES = 40
FOLDED = 400
# How many versions a page lists.
TIMELINE = 50
# What a browser only ever draws. Nothing that can hold a script or ask for something is among them.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(frozen=True)
class RecordView:
    """A record in a list."""

    id: str
    url: str
    title: str
    excerpt: str
    type: str
    status: str
    written_at: datetime
    writer: Named
    version: int
    standing: bool


def record_rows(
    request: ConsoleRequest, versions: Sequence[RecordVersion], *, by_version: bool = False
) -> list[RecordView]:
    """Records as rows, in a constant number of queries; `by_version` leads to the version, not to what is now."""
    names = writers(request.organisation.id, (one.writer for one in versions))
    return [
        RecordView(
            id=one.id,
            url=address(request, "record", one.memory_id, one.id) + (f"?version={one.number}" if by_version else ""),
            title=one.draft.title,
            excerpt=excerpt(one),
            type=one.draft.type,
            status=one.status,
            written_at=one.written_at,
            writer=names[one.writer],
            version=one.number,
            standing=is_standing(one),
        )
        for one in versions
    ]


def excerpt(version: RecordVersion) -> str:
    """The start of what a record says, on one line."""
    words = " ".join(" ".join(str(part.get("text", "")) for part in version.draft.content).split())
    return words if len(words) <= EXCERPT else words[:EXCERPT].rsplit(" ", 1)[0] + "…"


def is_standing(version: RecordVersion) -> bool:
    """Whether a record goes into agents' instructions (Memories §4.17)."""
    return (version.draft.attributes or {}).get("standing") is True


@member_page
@require_GET
def record(request: ConsoleRequest, memory_id: str, record_id: str) -> HttpResponse:
    """One record: what it says, what it points at, and the versions it had, page by page.

    `version` shows an earlier one, `older` the versions before a number.
    """
    place = look(request.caller, memory_id)
    newest = verbs.history(place, record_id, limit=TIMELINE + 1, newest_first=True)
    head, beside = newest[0], version_asked(place, newest, number(request.GET.get("version")))
    shown = beside[0]
    older = number(request.GET.get("older"))
    listed = newest
    if older is not None:
        listed = verbs.history(place, record_id, after=older, limit=TIMELINE + 1, newest_first=True)
    names = writers(request.organisation.id, (one.writer for one in (*listed, shown)))
    pointers, pointers_more = pointing_at(place, record_id)
    context = {
        **frame(request, place),
        "record": record_context(request, shown, names[shown.writer]),
        "is_head": shown.number == head.number,
        "head_url": address(request, "record", memory_id, record_id),
        **timeline(request, listed, beside, names, paged=older is not None),
        "compare_url": address(request, "record-compare", memory_id, record_id) if len(newest) > 1 else None,
        "pointers": [
            {"rel": one.rel, "title": one.title, "url": address(request, "record", one.memory_id, one.record_id)}
            for one in pointers
        ],
        "pointers_more": pointers_more,
        "holds": record_holds(request, place, record_id),
        "run_url": run_of(request, place, shown),
        "offers": offers(request, place, head) if shown.number == head.number else [],
        **actions(request, place, head, shown),
    }
    return pages.answer(request, "memories/record.html", context)


def run_of(request: ConsoleRequest, place: Place, shown: RecordVersion) -> str | None:
    """The run that wrote a version, for those who read here; None for what none of this memory's runs wrote."""
    run_id = shown.writer.consolidation_id
    if not run_id or Privilege.READ not in place.privileges:
        return None
    known = Run.objects.filter(memory_id=place.memory.id, pk=run_id).exists()
    return address(request, "run", place.memory.id, run_id) if known else None


def version_asked(place: Place, newest: Sequence[RecordVersion], asked: int | None) -> Sequence[RecordVersion]:
    """The version asked for and the one before it, when it has one; of a version that there is not, the newest."""
    numbers = [one.number for one in newest]
    # The last one that was read may have one before it that was not.
    if asked in numbers[:-1]:
        return newest[numbers.index(asked) :][:2]
    found: Sequence[RecordVersion] = ()
    if asked is not None:
        found = verbs.history(place, newest[0].id, after=asked + 1, limit=2, newest_first=True)
    return found if found and found[0].number == asked else newest[:2]


def frame(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """What pages on a record show around themselves."""
    view = located(request, place.memory)
    return {**shell(request, "memories"), **breadcrumb(request, view, last=True)}


def actions(request: ConsoleRequest, place: Place, head: RecordVersion, shown: RecordVersion) -> dict[str, Any]:
    """Where to change a record, as far as one may; None where not."""
    at = (place.memory.id, head.id)
    writes = head.status == "active" and Privilege.WRITE in place.privileges
    erases = Privilege.DELETE in place.privileges
    older = f"{address(request, 'record-restore', *at)}?version={shown.number}"
    return {
        "forget_url": address(request, "record-forget", *at) if writes else None,
        "revise_url": address(request, "record-revise", *at) if writes and head.draft.type != "episode" else None,
        "restore_url": older if writes and shown.number != head.number and head.draft.type != "episode" else None,
        "erase_url": f"{address(request, 'records-erase', place.memory.id)}?record={head.id}" if erases else None,
        "hold_url": f"{address(request, 'holds', place.memory.id)}?record={head.id}" if erases else None,
    }


def offers(request: ConsoleRequest, place: Place, head: RecordVersion) -> list[dict[str, str]]:
    """What the caller may do with a record by its type, each with the address of its form."""
    kind = types.find(request.organisation.id, head.draft.type) if head.status == "active" else None
    at = (place.memory.id, head.id)
    return [
        {
            "label": label(one.name),
            "description": one.description,
            "url": address(request, "record-operate", *at, one.name),
        }
        for one in (kind.operations if kind else ())
        if one.needed in place.privileges
    ]


def label(name: str) -> str:
    """The name of an operation, or of something it asks for, as a person reads it."""
    return name.replace("_", " ").capitalize()


def record_holds(request: ConsoleRequest, place: Place, record_id: str) -> list[dict[str, Any]]:
    """The holds on a record itself, for those who may lift them."""
    if Privilege.DELETE not in place.privileges:
        return []
    found = list(Hold.objects.of(request.organisation.id).standing().filter(record_id=record_id)[:20])
    names = named(request.organisation.id, [one.placed_by for one in found])
    return [
        {
            "reason": one.reason,
            "by": names[one.placed_by],
            "at": one.placed_at,
            "lift_url": address(request, "hold-lift", one.memory_id, one.id),
        }
        for one in found
    ]


def timeline(
    request: ConsoleRequest,
    listed: Sequence[RecordVersion],
    beside: Sequence[RecordVersion],
    names: Mapping[Any, Named],
    *,
    paged: bool,
) -> dict[str, Any]:
    """One page of the versions of a record, newest first, and among them the one that is shown.

    `listed` has one more where there are more; `beside` is the shown one with the one before it.
    """
    shown = beside[0]
    at = (shown.memory_id, shown.id)
    url, compare = address(request, "record", *at), address(request, "record-compare", *at)
    pairs: list[tuple[RecordVersion, RecordVersion | None]]
    pairs = list(zip(listed[:TIMELINE], [*listed[1:], None], strict=False))
    if shown.number not in {one.number for one, _ in pairs}:
        pairs.append((shown, beside[1] if len(beside) > 1 else None))
    versions = [
        {
            "number": one.number,
            "status": one.status,
            "written_at": one.written_at,
            "writer": names[one.writer],
            "reason": readable((one.draft.attributes or {}).get(verbs.REASON, "")),
            "url": f"{url}?version={one.number}",
            "compare_url": f"{compare}?from={before.number}&to={one.number}" if before else None,
            "current": one.number == shown.number,
        }
        for one, before in sorted(pairs, key=lambda pair: -pair[0].number)
    ]
    kept = {"version": request.GET["version"]} if "version" in request.GET else {}
    older = urlencode({**kept, "older": str(listed[TIMELINE - 1].number)}) if len(listed) > TIMELINE else ""
    newest = f"{url}?{urlencode(kept)}" if kept else url
    return {
        "versions": versions,
        "older_url": f"{url}?{older}" if older else None,
        "newest_url": newest if paged else None,
    }


def record_context(request: ConsoleRequest, version: RecordVersion, writer: Named) -> dict[str, Any]:
    """One version of a record as its page shows it."""
    draft, behalf = version.draft, version.writer.on_behalf_of
    return {
        "id": version.id,
        "title": draft.title or version.name,
        "type": draft.type,
        "status": version.status,
        "version": version.number,
        "parts": [part_context(request, version, index) for index in range(len(draft.content))],
        "attributes": [(key, readable(value)) for key, value in (draft.attributes or {}).items()],
        "references": [reference_context(request, one) for one in Reader(request.caller).resolve(version)],
        "valid_from": draft.valid_from,
        "valid_to": draft.valid_to,
        "written_at": version.written_at,
        "writer": writer,
        "on_behalf_of": named(request.organisation.id, [behalf])[behalf] if behalf else None,
        "trust": "untrusted",
        "standing": is_standing(version),
    }


def reference_context(request: ConsoleRequest, one: ResolvedReference) -> dict[str, Any]:
    """A reference with the reader's eyes: of one that is not available it is only said that it is there."""
    if not one.available:
        return {"rel": "", "available": False, "title": "", "url": ""}
    url = address(request, "record", one.reference.memory_id, one.reference.record_id)
    return {"rel": one.reference.rel, "available": True, "title": one.name, "url": url}


def part_context(request: ConsoleRequest, version: RecordVersion, index: int) -> dict[str, Any]:
    """One part: a long text with its beginning, a file with the address of its bytes."""
    part = dict(version.draft.content[index])
    text = str(part.get("text") or "")
    if len(text) > LONG_TEXT or text.count("\n") > LONG_LINES:
        part["start"] = " ".join(text[: FOLDED * 2].split())[:FOLDED]
        part["length"] = len(text)
    if part.get("type") == "file":
        file = dict(part["file"])
        url = address(request, "record-content", version.memory_id, version.id, str(index))
        file["url"] = f"{url}?{urlencode({'as_of': version.written_at.isoformat()})}"
        file["is_image"] = file.get("media_type") in IMAGES
        part["file"] = file
    return part


@member_page
@require_GET
def content(request: ConsoleRequest, memory_id: str, record_id: str, index: str) -> HttpResponseBase:
    """The bytes of a file part, to be saved; a browser may draw them where a page asks for an image."""
    place = look(request.caller, memory_id)
    found = files.open_part(place, record_id, index, Fields(request.GET.dict()).instant("as_of"))
    return send(
        request,
        found.bytes,
        name=found.name,
        media_type=found.media_type,
        size=found.size,
        sha256=found.sha256,
    )


@member_page
@require_http_methods(["GET", "POST"])
def forget(request: ConsoleRequest, memory_id: str, record_id: str) -> HttpResponse:
    """Forget a record, after asking."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE)
    found = verbs.get(place, record_id)
    url = address(request, "memory", memory_id)
    if request.method == "POST":
        verbs.forget(place, record_id)
        messages.success(request, "The record was forgotten. Its history is kept.")
        return HttpResponseClientRedirect(url) if request.htmx else redirect(url)
    context = {
        **frame(request, place),
        "record": {"title": found.name},
        "action_url": request.path,
        "cancel_url": address(request, "record", memory_id, record_id),
    }
    return pages.answer(request, "memories/forget.html", context, fragment="confirm")


def number(text: str | None) -> int | None:
    """The whole number that a text is, if it is one."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
