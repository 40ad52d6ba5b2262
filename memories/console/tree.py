"""The tree: browse, one level at a time, and plant new memories."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.reader import Reader
from memories.services import tree as verbs
from memories.services.sight import look
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from .forms import MemoryForm
from .nodes import NodeView, address, breadcrumb, level, located, node, opened


@member_page
@require_GET
def tree(request: ConsoleRequest) -> HttpResponse:
    """The entry points; `below` shows one level, `open` the tree opened down to a memory."""
    query = Fields(request.GET.dict())
    below = query.text("below", longest=200)
    place = look(request.caller, below) if below else None
    cursor = pagination.read_cursor(query, (int, str, str))
    nodes, next_url = level(request, place.memory if place else None, cursor)
    open_id = query.text("open", longest=200) or only_entry(nodes, next_url)
    if open_id and not place and not cursor:
        opened(request, nodes, open_id)
    parent = node(request, Reader(request.caller).memories([place.memory])[0], Privilege.NONE) if place else None
    context = {
        **shell(request, "memories"),
        "nodes": nodes,
        "next_url": next_url,
        "parent": parent,
        "can_create_root": may_plant(request),
        "create_url": address(request, "memory-new"),
        "find_url": address(request, "find"),
        "ownerless_url": address(request, "ownerless") if request.caller.member.is_owner else None,
    }
    return pages.answer(request, "memories/tree.html", context, fragment="nodes")


def only_entry(nodes: Sequence[NodeView], next_url: str | None) -> str | None:
    """The one entry point of a person who has no other: it is shown open, as there is nothing else to look at."""
    return nodes[0].id if len(nodes) == 1 and next_url is None else None


def may_plant(request: ConsoleRequest) -> bool:
    """Whether the person may create a memory at the top."""
    return request.caller.member.is_owner or not settings.ROOTS_BY_OWNERS_ONLY


@member_page
@require_http_methods(["GET", "POST"])
def create(request: ConsoleRequest, memory_id: str | None = None) -> HttpResponse:
    """Create a memory at the top, or below another."""
    place = look(request.caller, memory_id) if memory_id else None
    if place:
        place.require(Privilege.CREATE)
    form = MemoryForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            memory = verbs.create(
                request.caller,
                parent_id=memory_id,
                name=form.cleaned_data["name"],
                description=form.cleaned_data["description"],
                restricted=form.cleaned_data["restricted"],
            )
        except MemoryInvalid as refusal:
            form.add_error(None, forms.ValidationError(refusal.message))
        else:
            messages.success(request, f"{memory.name} was created.")
            return redirect("console:memory", request.organisation.slug, memory.id)
    above = breadcrumb(request, located(request, place.memory), last=True) if place else {}
    context = {
        **shell(request, "memories"),
        **above,
        "parent": place.memory if place else None,
        "form": form,
        "action_url": request.path,
        "cancel_url": address(request, "memory", memory_id) if memory_id else address(request, "tree"),
    }
    return pages.answer(request, "memories/create.html", context, status=422 if form.errors else 200)
