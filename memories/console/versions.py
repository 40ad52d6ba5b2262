"""Versions of a record side by side, an old one made the newest again, and a form that writes the next one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_GET, require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.content import MAX_PARTS, MAX_TITLE, read_attributes, read_content
from memories.providers.base import RecordVersion
from memories.reader import Reader, ResolvedReference
from memories.services import records as verbs
from memories.services import restoring
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.errors import InvalidInput, MemoryInvalid, MemoryUnsupported, VersionConflict
from uhp_site.http.fields import Fields

from . import differences
from .nodes import address
from .principals import writers
from .questions import led
from .records import actions, frame, number, reference_context

REASON_LENGTH = 500


@member_page
@require_GET
def compare(request: ConsoleRequest, memory_id: str, record_id: str) -> HttpResponse:
    """Any two versions: `from` and `to`, the newest and the one before it when nothing is said."""
    place = look(request.caller, memory_id)
    head = verbs.head(place, record_id)
    wanted = [number(request.GET.get(name)) for name in ("from", "to")]
    found = verbs.numbered(place, record_id, *wanted)
    after = found.get(wanted[1], head)
    before = found.get(wanted[0]) or _before(place, after) or after
    names = writers(request.organisation.id, (before.writer, after.writer))
    context = {
        **frame(request, place),
        "record": {"title": head.name, "url": address(request, "record", memory_id, record_id)},
        "action_url": request.path,
        "numbers": range(head.number, 0, -1),
        "sides": [
            {
                "label": label,
                "number": one.number,
                "writer": names[one.writer],
                "written_at": one.written_at,
                "reason": differences.readable((one.draft.attributes or {}).get(verbs.REASON, "")),
                "restore_url": actions(request, place, head, one)["restore_url"],
            }
            for label, one in (("Before", before), ("After", after))
        ],
        "before": before.number,
        "after": after.number,
        **difference(request, before, after),
    }
    return pages.answer(request, "memories/compare.html", context)


def difference(request: ConsoleRequest, before: RecordVersion, after: RecordVersion) -> dict[str, Any]:
    """What differs between two versions, with the reader's eyes."""
    old, new = before.draft, after.draft
    resolved = Reader(request.caller).resolved([before, after])
    times = differences.attributes(_times(before), _times(after))
    parts = differences.parts(old.content, new.content)
    changes = {
        "title": differences.words(old.title, new.title) if old.title != new.title else (),
        "parts": parts,
        "attributes": (
            *differences.attributes(
                verbs.without_reason(old).attributes or {}, verbs.without_reason(new).attributes or {}
            ),
            *times,
        ),
        "references": _references(request, *resolved),
    }
    changed = any(one.kind != differences.SAME for one in parts)
    return {**changes, "differs": changed or any(changes[one] for one in ("title", "attributes", "references"))}


def _times(version: RecordVersion) -> dict[str, str]:
    draft = version.draft
    times = {"valid from": draft.valid_from, "valid to": draft.valid_to}
    return {name: time.isoformat() for name, time in times.items() if time}


def _references(
    request: ConsoleRequest, before: Sequence[ResolvedReference], after: Sequence[ResolvedReference]
) -> list[dict[str, Any]]:
    old, new = ({one.reference for one in some} for some in (before, after))
    gone = [("removed", one) for one in before if one.reference not in new]
    come = [("added", one) for one in after if one.reference not in old]
    return [{"kind": kind, **reference_context(request, one)} for kind, one in (*gone, *come)]


@member_page
@require_http_methods(["GET", "POST"])
def restore(request: ConsoleRequest, memory_id: str, record_id: str) -> HttpResponse:
    """Write what an old version said as the newest one, after asking."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE | Privilege.READ)
    head = verbs.head(place, record_id)
    asked = number(request.POST.get("version") or request.GET.get("version"))
    old = verbs.numbered(place, record_id, asked).get(asked)
    url = address(request, "record", memory_id, record_id)
    error = "" if old else "There is no such version."
    if request.method == "POST" and old:
        try:
            based = number(request.POST.get("expected"))
            expected = verbs.Expected(frozenset({based})) if based else None
            written = restoring.restore(place, record_id, old.number, expected)
        except (VersionConflict, MemoryInvalid, MemoryUnsupported) as refusal:
            error = refusal.message
        else:
            messages.success(request, f"Version {old.number} was restored as version {written.number}.")
            return led(request, url)
    context = {
        **frame(request, place),
        "heading": "Restore a version",
        "question": f"Restore version {old.number} of" if old else "Restore",
        "subject": head.name,
        "explained": f"What it said then becomes version {head.number + 1}. Every version stays in the history.",
        "act": "Restore",
        "kind": "primary",
        "action_url": request.path,
        "hidden": [("version", old.number)] if old else [],
        "expected": head.number,
        "cancel_url": url,
        "error": error,
    }
    return pages.answer(request, "memories/question.html", context, fragment="confirm", status=422 if error else 200)


@dataclass(frozen=True)
class Written:
    """What a person wrote into the form. `texts` holds the text of each text part, by its place among the parts."""

    title: str
    texts: Mapping[int, str]
    attributes: str
    reason: str = ""

    @staticmethod
    def of(version: RecordVersion) -> Written:
        """What the form shows at first: the version as it is, and one empty part when it has no text at all."""
        parts = version.draft.content
        texts = {index: str(part["text"]) for index, part in enumerate(parts) if part.get("type") == "text"}
        attributes = dict(verbs.without_reason(version.draft).attributes or {})
        shown = json.dumps(attributes, ensure_ascii=False, indent=2) if attributes else ""
        return Written(version.draft.title, texts or {len(parts): ""}, shown)

    @staticmethod
    def from_form(data: QueryDict) -> Written:
        """What was sent; browsers end lines in their own way."""
        texts = {
            int(name.removeprefix("text-")): str(data[name]).replace("\r\n", "\n")
            for name in data
            if name.startswith("text-") and number(name.removeprefix("text-")) is not None
        }
        attributes = data.get("attributes", "").replace("\r\n", "\n")
        return Written(
            data.get("title", ""), dict(sorted(texts.items())[:MAX_PARTS]), attributes, data.get("reason", "")
        )

    def changes(self, base: RecordVersion) -> restoring.Whole:
        """The changes to the version the form was made from; a part that was emptied goes. Raises MemoryInvalid."""
        fields = Fields({"title": self.title, "reason": self.reason, "attributes": self._parsed()})
        reason = fields.text("reason", longest=REASON_LENGTH) or ""
        given = read_attributes(fields)
        kept = dict(enumerate(base.draft.content))
        for index, text in self.texts.items():
            if not text.strip():
                kept.pop(index, None)
            elif kept.get(index, {}).get("type", "text") == "text":
                kept[index] = {**kept.get(index, {"type": "text"}), "text": text}
            else:
                # What was a text when the form was made is none any more; nothing that was written is lost.
                kept[len(base.draft.content) + index] = {"type": "text", "text": text}
        parts = [kept[index] for index in sorted(kept)]
        same = parts == list(base.draft.content)
        attributes = {name: value for name, value in given.items() if name != verbs.REASON}
        return restoring.Whole(
            title=fields.text("title", longest=MAX_TITLE, one_line=True),
            content=None if same else read_content(Fields({"content": parts})),
            attributes={**attributes, verbs.REASON: reason} if reason else attributes,
        )

    def _parsed(self) -> object:
        if not self.attributes.strip():
            return {}
        try:
            return json.loads(self.attributes, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise MemoryInvalid("Attributes are a JSON object.", param="attributes") from None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


@member_page
@require_http_methods(["GET", "POST"])
def revise(request: ConsoleRequest, memory_id: str, record_id: str) -> HttpResponse:
    """Write the next version in a form; whoever was overtaken is shown both texts."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE | Privilege.READ)
    head = verbs.head(place, record_id)
    url = address(request, "record", memory_id, record_id)
    if request.method != "POST":
        return _form(request, place, head, Written.of(head))
    written = Written.from_form(request.POST)
    based = number(request.POST.get("expected_version"))
    base = verbs.numbered(place, record_id, based).get(based, head)
    try:
        changes = written.changes(base)
        verbs.revise(place, record_id, changes, verbs.Expected(frozenset({base.number})))
    except VersionConflict:
        newest = verbs.get(place, record_id)
        return _form(request, place, newest, written, base=base, status=409)
    except (MemoryInvalid, MemoryUnsupported, InvalidInput) as refusal:
        return _form(request, place, base, written, error=refusal.message, param=refusal.param or "", status=422)
    messages.success(request, f"Version {base.number + 1} was written.")
    return led(request, url)


def _form(
    request: ConsoleRequest,
    place: Place,
    head: RecordVersion,
    written: Written,
    *,
    base: RecordVersion | None = None,
    error: str = "",
    param: str = "",
    status: int = 200,
) -> HttpResponse:
    url = address(request, "record", place.memory.id, head.id)
    context: dict[str, Any] = {
        **frame(request, place),
        "record": {"title": head.name, "url": url},
        "written": written,
        "texts": [(f"text-{index}", place_of, text) for place_of, (index, text) in enumerate(written.texts.items(), 1)],
        "others": [differences.label(part) for part in head.draft.content if part.get("type") != "text"],
        "expected_version": head.number,
        "error": error,
        "param": param.partition(".")[0],
        "title_length": MAX_TITLE,
        "reason_length": REASON_LENGTH,
        "action_url": request.path,
        "cancel_url": url,
    }
    if base is not None:
        names = writers(request.organisation.id, [head.writer])
        context["conflict"] = {
            "base": base.number,
            "number": head.number,
            "writer": names[head.writer],
            "written_at": head.written_at,
            **difference(request, base, head),
        }
    return pages.answer(request, "memories/revise.html", context, status=status)


def _before(place: Place, version: RecordVersion) -> RecordVersion | None:
    found = verbs.history(place, version.id, after=version.number, limit=1, newest_first=True)
    return found[0] if found else None
