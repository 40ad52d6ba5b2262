"""The page of one memory: its records and what is below, who has access, and its settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods

from members.models import Event, Member
from members.shell import ConsoleRequest, member_page, shell
from memories import filters
from memories.access import Privilege
from memories.providers.base import View
from memories.reader import Reader
from memories.services import impact, types
from memories.services import records as record_verbs
from memories.services import tree as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryBusy, OnHold
from uhp_site.http.fields import Fields
from uhp_site.http.text import json_flaw

from .forms import DescribeForm
from .nodes import address, breadcrumb, level, located
from .past import moment
from .principals import named
from .questions import Question, led
from .records import record_rows

PAGE = 50
MOST_WRITERS = 200
STATUSES = [("", "active"), ("superseded", "superseded"), ("forgotten", "forgotten"), ("all", "every version")]
# How long a memory says that somebody took it over.
TOLD_FOR = timedelta(days=30)


def memory_context(request: ConsoleRequest, place: Place, tab: str) -> dict[str, Any]:
    """What every tab of a memory shows above itself."""
    view = Reader(request.caller).memories([place.memory])[0]
    memory, privileges = place.memory, place.privileges
    creator = named(request.organisation.id, [memory.creator])[memory.creator]
    return {
        **shell(request, "memories"),
        **breadcrumb(request, view),
        "memory": {
            "id": memory.id,
            "name": memory.name,
            "description": memory.description,
            "restricted": memory.restricted,
            "provider": memory.provider,
            "privileges": privileges.words,
            "records_count": view.record_count,
            "children_count": view.child_count,
            "created_at": memory.created_at,
            "updated_at": memory.updated_at,
            "created_by": creator.name,
        },
        "tab": tab,
        "records_url": address(request, "memory", memory.id),
        "consolidation_url": address(request, "runs", memory.id) if Privilege.READ in privileges else None,
        "ask_url": address(request, "explore", memory.id) if Privilege.READ in privileges else None,
        "access_url": address(request, "access", memory.id) if Privilege.DELETE in privileges else None,
        "settings_url": address(request, "settings", memory.id)
        if privileges & (Privilege.WRITE | Privilege.DELETE)
        else None,
        "create_url": address(request, "memory-below", memory.id) if Privilege.CREATE in privileges else None,
        "audit_url": address(request, "audit-memory", memory.id) if Privilege.DELETE in privileges else None,
        "taken_over": taken_over(request, place),
    }


def taken_over(request: ConsoleRequest, place: Place) -> dict[str, Any] | None:
    """Who took over the administration of a memory lately, for everyone who reaches it to know."""
    events = Event.objects.of(request.organisation.id).filter(memory_id=place.memory.id, action="memory.taken_over")
    last = events.filter(at__gte=timezone.now() - TOLD_FOR).newest_first().first()
    return {"who": named(request.organisation.id, [last.actor])[last.actor], "at": last.at} if last else None


@member_page
@require_GET
def memory(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The records of a memory, newest page by page in the order written, and the memories below it."""
    place = look(request.caller, memory_id)
    context = memory_context(request, place, "records")
    if Privilege.READ in place.privileges:
        context |= records_context(request, place, context["memory"]["records_count"])
        context["children"], context["children_next_url"] = level(request, place.memory)
    else:
        context["unreadable"] = True
    return pages.answer(request, "memories/memory.html", context, fragment="records")


def records_context(request: ConsoleRequest, place: Place, count: int | None) -> dict[str, Any]:
    """One page of records, now or at an instant, filtered by what the address says; of `count` there are now."""
    query = Fields(request.GET.dict())
    asked = moment(request, place)
    chosen = {name: query.text(name, longest=200) or "" for name in ("type", "writer", "status", "attribute")}
    filtered = {name: value for name, value in chosen.items() if value} | asked.query
    after = pagination.read_time_cursor(query)
    page = record_verbs.page(place, view_of(asked.at, chosen), PAGE, after)
    url = address(request, "memory", place.memory.id)
    following = pagination.make_time_cursor(page.next)
    now = {name: value for name, value in chosen.items() if value}
    past = {"at": asked.at, "url": f"{url}?{urlencode(now)}" if now else url} if asked.at else None
    writes, erases = (one in place.privileges for one in (Privilege.WRITE, Privilege.DELETE))
    return {
        "records": record_rows(request, page.versions, by_version=bool(asked.at or chosen["status"])),
        # Of those that fit a filter it is not said how many there are.
        "records_total": None if filtered else count,
        **chosen,
        "filtered": bool(filtered),
        "types": [one.type for one in types.listed(request.organisation.id)],
        "statuses": STATUSES,
        "writers": writer_choices(request, chosen["writer"]),
        "as_of": asked,
        "past": past,
        "snapshots_url": address(request, "snapshots", place.memory.id),
        "next_url": f"{url}?{urlencode({**filtered, 'cursor': following})}" if following else None,
        "first_url": f"{url}?{urlencode(filtered)}" if after else None,
        "forget_url": address(request, "records-forget", place.memory.id) if writes and not asked.at else None,
        "erase_url": address(request, "records-erase", place.memory.id) if erases and not asked.at else None,
    }


def view_of(at: datetime | None, chosen: Mapping[str, str]) -> View:
    """What the filters of the page leave of a memory, now or at an instant."""
    status = chosen["status"]
    # Of an instant only what held then is kept apart; what became of it since is not asked.
    include_all = bool(status) and at is None
    asked: list[filters.Filter] = []
    if chosen["writer"]:
        asked.append(filters.written_by(chosen["writer"]))
    if include_all and status != "all":
        asked.append(filters.of_status(status))
    if chosen["attribute"]:
        asked.append(with_attribute(chosen["attribute"]))
    return View(
        as_of=at,
        include_all=include_all,
        types=(chosen["type"],) if chosen["type"] else (),
        filters=filters.All(tuple(asked)) if asked else None,
    )


def with_attribute(asked: str) -> filters.Filter:
    """Records with an attribute (`due`), or with one of a value (`due=Friday`, `rounds=2`), as pages show it."""
    name, equals, value = (part.strip() for part in asked.partition("="))
    if not equals:
        return filters.has_attribute(name)
    try:
        written = json.loads(value)
    except (ValueError, RecursionError):
        return filters.has_attribute(name, value)
    # Shown alike: the word 2 and the number 2.
    return filters.has_attribute(name, value, *(() if json_flaw(written) else (written,)))


def writer_choices(request: ConsoleRequest, kept: str) -> list[tuple[str, str]]:
    """Members who may have written; whoever is asked about is among them."""
    members = Member.objects.of(request.organisation.id).active().by_name()[:MOST_WRITERS]
    found = [(one.principal, one.name) for one in members]
    if kept and kept not in {principal for principal, _ in found}:
        found.insert(0, (kept, named(request.organisation.id, [kept])[kept].name))
    return found


@member_page
@require_http_methods(["GET", "POST"])
def settings(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Rename and describe a memory; the way to delete it."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE, Privilege.DELETE)
    memory = place.memory
    form = DescribeForm(request.POST or None, initial={"name": memory.name, "description": memory.description})
    if request.method == "POST" and form.is_valid():
        verbs.change(place, name=form.cleaned_data["name"], description=form.cleaned_data["description"])
        messages.success(request, "Saved.")
        return redirect("console:settings", request.organisation.slug, memory.id)
    context = {
        **memory_context(request, place, "settings"),
        "rename_form": form if Privilege.WRITE in place.privileges else None,
        "rename_url": request.path,
        "move_url": address(request, "memory-move", memory.id) if Privilege.DELETE in place.privileges else None,
        "delete_url": address(request, "memory-delete", memory.id) if Privilege.DELETE in place.privileges else None,
        "holds_url": address(request, "holds", memory.id) if Privilege.DELETE in place.privileges else None,
        "review_url": address(request, "review-policy", memory.id)
        if place.privileges & (Privilege.READ | Privilege.DELETE)
        else None,
    }
    return pages.answer(request, "memories/memory.html", context, status=422 if form.errors else 200)


@member_page
@require_http_methods(["GET", "POST"])
def delete(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Delete a memory with everything below, after its name was typed where there is much to lose."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    view = located(request, place.memory)
    question = Question(impact.of_deleting(place), place.memory.name, always_typed=True)
    error = question.error(request.POST) if request.method == "POST" else ""
    if request.method == "POST" and not error:
        try:
            verbs.delete(place)
        except (MemoryBusy, OnHold) as refusal:
            error = refusal.message
        else:
            messages.success(request, f"{place.memory.name} was deleted with everything below it.")
            above = view.parent_id
            return led(request, address(request, "memory", above) if above else address(request, "tree"))
    context = {
        **shell(request, "memories"),
        **breadcrumb(request, view, last=True),
        "memory": place.memory,
        **question.context(request, error),
        "cancel_url": address(request, "settings", memory_id),
    }
    return pages.answer(request, "memories/delete.html", context, fragment="confirm", status=422 if error else 200)
