"""The page of one memory: its records and what is below, who has access, and its settings."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.content import CORE_TYPES
from memories.providers.base import View
from memories.reader import Reader
from memories.services import records as record_verbs
from memories.services import tree as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages, pagination
from uhp_site.http.fields import Fields

from .forms import DescribeForm
from .nodes import address, breadcrumb, level
from .principals import named
from .records import record_rows

PAGE = 50


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
        "access_url": address(request, "access", memory.id) if Privilege.DELETE in privileges else None,
        "settings_url": address(request, "settings", memory.id)
        if privileges & (Privilege.WRITE | Privilege.DELETE)
        else None,
        "create_url": address(request, "memory-below", memory.id) if Privilege.CREATE in privileges else None,
    }


@member_page
@require_GET
def memory(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The records of a memory, newest page by page in the order written, and the memories below it."""
    place = look(request.caller, memory_id)
    context = memory_context(request, place, "records")
    if Privilege.READ in place.privileges:
        context |= records_context(request, place)
        context["children"], context["children_next_url"] = level(request, place.memory)
    else:
        context["unreadable"] = True
    return pages.answer(request, "memories/memory.html", context, fragment="records")


def records_context(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """One page of records, filtered by what the address says."""
    query = Fields(request.GET.dict())
    kind = query.text("type", longest=80) or ""
    after = pagination.read_time_cursor(query)
    page = record_verbs.page(place, View(types=(kind,) if kind else ()), PAGE, after)
    url = address(request, "memory", place.memory.id)
    following = pagination.make_time_cursor(page.next)
    filtered = {"type": kind} if kind else {}
    return {
        "records": record_rows(request, page.versions),
        "records_total": None if kind else Reader(request.caller).memories([place.memory])[0].record_count,
        "type": kind,
        "types": list(CORE_TYPES),
        "next_url": f"{url}?{urlencode({**filtered, 'cursor': following})}" if following else None,
        "first_url": f"{url}?{urlencode(filtered)}" if after else None,
    }


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
        "delete_url": address(request, "memory-delete", memory.id) if Privilege.DELETE in place.privileges else None,
    }
    return pages.answer(request, "memories/memory.html", context, status=422 if form.errors else 200)


@member_page
@require_http_methods(["GET", "POST"])
def delete(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Delete a memory with everything below, after its name was typed where there is much to lose."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    view = Reader(request.caller).memories([place.memory])[0]
    error = ""
    if request.method == "POST":
        if request.POST.get("confirm", "").strip() == place.memory.name:
            verbs.delete(place)
            messages.success(request, f"{place.memory.name} was deleted with everything below it.")
            return redirect(address(request, "memory", view.parent_id) if view.parent_id else address(request, "tree"))
        error = "The name that was typed is not the name of this memory."
    context = {
        **shell(request, "memories"),
        **breadcrumb(request, view, last=True),
        "memory": place.memory,
        "records_count": view.record_count,
        "subtree_count": Reader(request.caller).below_count(place.memory),
        "typed": True,
        "action_url": request.path,
        "cancel_url": address(request, "settings", memory_id),
        "error": error,
    }
    return pages.answer(request, "memories/delete.html", context, fragment="confirm", status=422 if error else 200)
