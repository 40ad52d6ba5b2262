"""The audit log of a memory, for those who look after it, and of the organisation, for its owners.

Of an event on a memory that the person does not see now, only who did what kind of thing, and when, is shown: no name,
no id and no detail; what they did themself they may see. Memories that a detail names are shown where they are seen.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.http import content_disposition_header, urlencode
from django.views.decorators.http import require_GET

from members.console import require_owner
from members.models import Event, EventQuerySet, Member
from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.models import Memory
from memories.services.sight import look
from uhp_site.http import pages, pagination
from uhp_site.http.fields import Fields

from .memory import memory_context
from .nodes import Crumb, address
from .principals import Named, named

PAGE = 50
BATCH = 500
MOST_ACTORS = 500

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
PRINCIPALS = ("member:", "group:", "x.")


@dataclass(frozen=True)
class EventView:
    """One event as the person may see it. `withheld` says that it concerns a memory that they do not see."""

    event: Event
    actor: Named
    memory: Crumb | None
    subject: Named | None
    subject_id: str
    detail: Mapping[str, Any]
    words: str
    withheld: bool

    @property
    def label(self) -> str:
        """What happened, in a few words; an action that is not known here is shown as it is."""
        return ACTIONS.get(self.event.action, self.event.action)

    @property
    def via(self) -> str:
        """How it came in."""
        return VIA.get(self.event.via, self.event.via)


@dataclass(frozen=True)
class Asked:
    """What is looked for in a log, and what is wrong with the question."""

    who: str
    action: str
    since: str
    until: str
    error: str = ""

    @property
    def query(self) -> dict[str, str]:
        """The question as an address carries it."""
        return {name: value for name, value in vars(self).items() if value and name != "error"}


@member_page
@require_GET
def of_memory(request: ConsoleRequest, memory_id: str) -> HttpResponseBase:
    """What happened to a memory: who did what, when, and from where."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    events = Event.objects.of(request.organisation.id).filter(memory_id=memory_id)
    url = address(request, "audit-memory", memory_id)
    return log(request, events, url, "memories/audit.html", lambda: memory_context(request, place, "audit"))


@member_page
@require_GET
def of_organisation(request: ConsoleRequest) -> HttpResponseBase:
    """What happened in the organisation."""
    require_owner(request)
    events = Event.objects.of(request.organisation.id)
    url = address(request, "audit")
    return log(request, events, url, "memories/audit_all.html", lambda: shell(request, "audit"))


def log(
    request: ConsoleRequest, events: EventQuerySet, url: str, template: str, head: Callable[[], dict[str, Any]]
) -> HttpResponseBase:
    """One page of a log, newest first, or all that was asked for as a file."""
    query = Fields(request.GET.dict())
    asked = read(query)
    found = narrowed(request, events, asked)
    if not asked.error and (kind := query.choice("format", ("", *EXPORTS), "")):
        return export(request, found, kind)
    after = pagination.read_cursor(query, (int,))
    rows = list((found.filter(id__lt=after[0]) if after else found).newest_first()[: PAGE + 1])
    page, cursor = pagination.cut(rows, PAGE, lambda event: (event.id,))
    context = {
        **head(),
        "events": shown(request, page),
        "asked": asked,
        "actions": ACTIONS.items(),
        "log_url": url,
        "csv_url": f"{url}?{urlencode({**asked.query, 'format': 'csv'})}",
        "jsonl_url": f"{url}?{urlencode({**asked.query, 'format': 'jsonl'})}",
        "next_url": f"{url}?{urlencode({**asked.query, 'cursor': cursor})}" if cursor else None,
        "first_url": f"{url}?{urlencode(asked.query)}" if after else None,
    }
    return pages.answer(request, template, context, fragment="log", status=422 if asked.error else 200)


def read(query: Fields) -> Asked:
    """What is looked for."""
    since, until = (query.text(name, longest=10) or "" for name in ("since", "until"))
    error = "" if all(_day(text) for text in (since, until) if text) else "A day is written as 2026-03-01."
    who, action = query.text("who", longest=120) or "", query.text("action", longest=40) or ""
    return Asked(who, action, since, until, error)


def narrowed(request: ConsoleRequest, events: EventQuerySet, asked: Asked) -> EventQuerySet:
    """The events that are looked for; days are those of the server's time zone, and both count."""
    if asked.who:
        called = Member.objects.of(request.organisation.id).filter(name__icontains=asked.who)
        events = events.filter(actor__in=[f"member:{pk}" for pk in called.values_list("pk", flat=True)[:MOST_ACTORS]])
    if asked.action:
        events = events.filter(action=asked.action)
    if first := _day(asked.since):
        events = events.filter(at__gte=_midnight(first))
    if last := _day(asked.until):
        events = events.filter(at__lt=_midnight(last + timedelta(days=1)))
    return events


def _day(text: str) -> date | None:
    try:
        found = parse_date(text) if text else None
    except ValueError:
        return None
    return found if found and date(1970, 1, 1) <= found < date(9000, 1, 1) else None


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def shown(request: ConsoleRequest, events: Sequence[Event]) -> list[EventView]:
    """Events as the person may see them, in a constant number of queries."""
    tree = Memory.objects.of(request.organisation.id).held_by(request.caller.principals)
    mentioned = {one for event in events for one in (event.memory_id, *_memories_in(event.detail)) if one}
    seen = dict(tree.filter(pk__in=mentioned).values_list("id", "name"))
    principals = {one for event in events for one in (event.actor, event.subject) if one.startswith(PRINCIPALS)}
    principals |= {value for event in events for value in _principals_in(event.detail)}
    names = named(request.organisation.id, principals)
    return [_view(request, event, seen, names) for event in events]


def _view(request: ConsoleRequest, event: Event, seen: Mapping[str, str], names: Mapping[str, Named]) -> EventView:
    own = event.actor == request.caller.member.principal
    withheld = bool(event.memory_id) and event.memory_id not in seen and not own
    detail = {} if withheld else redacted(event.detail, seen)
    memory = None
    if event.memory_id in seen:
        memory = Crumb(seen[event.memory_id], address(request, "memory", event.memory_id))
    words = Words(detail, seen, names).said(event.action)
    subject = event.subject if not withheld or event.subject.startswith("member:") else ""
    return EventView(
        event=event,
        actor=names.get(event.actor) or Named("The server", "provider"),
        memory=memory,
        subject=names.get(subject),
        subject_id=subject,
        detail=detail,
        words="" if subject in names and words == names[subject].name else words,
        withheld=withheld,
    )


def redacted(detail: Mapping[str, Any], seen: Mapping[str, str]) -> dict[str, Any]:
    """A detail without the ids of memories that are not seen."""
    return {key: "not visible" if _is_memory(value) and value not in seen else value for key, value in detail.items()}


def _is_memory(value: object) -> bool:
    return isinstance(value, str) and value.startswith("hmem_")


def _memories_in(detail: Mapping[str, Any]) -> Iterator[str]:
    return (value for value in detail.values() if _is_memory(value))


def _principals_in(detail: Mapping[str, Any]) -> Iterator[str]:
    return (value for value in detail.values() if isinstance(value, str) and value.startswith(("member:", "group:")))


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


Line = Mapping[str, Any]
FIELDS = (
    "at", "action", "actor", "actor_name", "via", "address", "memory_id", "memory_name", "subject", "subject_name",
    "detail",
)  # fmt: skip


def export(request: ConsoleRequest, events: EventQuerySet, kind: str) -> StreamingHttpResponse:
    """Everything that was asked for, oldest first, as it is read: nothing is held in memory but a batch."""
    media_type, write = EXPORTS[kind]
    response = StreamingHttpResponse(write(lines(request, events)), content_type=media_type)
    name = f"audit-{request.organisation.slug}-{timezone.localdate().isoformat()}.{kind}"
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def lines(request: ConsoleRequest, events: EventQuerySet) -> Iterator[Line]:
    """The events as plain values, batch by batch by key."""
    last = 0
    while batch := list(events.filter(id__gt=last).order_by("id")[:BATCH]):
        last = batch[-1].id
        for one in shown(request, batch):
            event = one.event
            visible = one.memory is not None or not one.withheld
            yield {
                "at": event.at.isoformat(),
                "action": event.action,
                "actor": event.actor,
                "actor_name": one.actor.name,
                "via": event.via,
                "address": event.address or "",
                "memory_id": event.memory_id if visible else "",
                "memory_name": one.memory.name if one.memory else "",
                "subject": one.subject_id,
                "subject_name": one.subject.name if one.subject else "",
                "detail": dict(one.detail),
            }


def as_csv(rows: Iterable[Line]) -> Iterator[str]:
    """Rows for a spreadsheet, in which no cell can be taken for a formula."""
    yield _csv_row(FIELDS)
    for row in rows:
        values = {**row, "detail": json.dumps(row["detail"], ensure_ascii=False, sort_keys=True)}
        yield _csv_row([harmless(str(values[field])) for field in FIELDS])


def harmless(cell: str) -> str:
    """A cell that no spreadsheet computes: one that could be a formula gets an apostrophe before it."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r", "\n"} else cell


def _csv_row(cells: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def as_json_lines(rows: Iterable[Line]) -> Iterator[str]:
    """One JSON object a line."""
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


EXPORTS: Mapping[str, tuple[str, Callable[[Iterable[Line]], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "jsonl": ("application/jsonl; charset=utf-8", as_json_lines),
}
