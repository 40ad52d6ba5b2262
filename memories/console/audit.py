"""The audit log of a memory, for those who look after it, and of the organisation, for its owners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from members.console import require_owner
from members.models import Event, EventQuerySet, Member
from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.services.sight import look
from uhp_site.http import pages, pagination
from uhp_site.http.fields import Fields

from .audit_events import shown
from .audit_export import EXPORTS, export
from .audit_words import ACTIONS
from .memory import memory_context
from .nodes import address

PAGE = 50
MOST_ACTORS = 500


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
