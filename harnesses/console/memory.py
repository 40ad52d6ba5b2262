"""The memory settings of an agent, and what it is told before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from harnesses.services import attachment, preview, priming
from harnesses.services.sight import Desk
from members.callers import caller_for
from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.console.nodes import address
from memories.models import Memory
from memories.reader import Reader
from memories.services import viewing
from uhp_site.http import pages
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound
from uhp_site.http.fields import MISSING

from .forms import AttachForm, BudgetForm
from .frame import desk_of, eyes_of, frame

# How many memories the choice of a default offers.
OFFERED = 200


@member_page
@require_http_methods(["GET", "POST"])
def memory(request: ConsoleRequest, harness_id: str) -> HttpResponse:
    """Set where an agent remembers by default, and whether its turns are observed."""
    desk = desk_of(request, harness_id)
    default = attachment.attachment(desk).default_memory_id or ""
    writable = offered(desk, default)
    form = AttachForm(
        request.POST if request.method == "POST" else None,
        memories=labels(request, writable),
        initial={"default_memory_id": default, "observe": desk.harness.observe},
    )
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data["default_memory_id"]
        try:
            # What the person does not see stays as it is, unless they choose something else.
            attachment.attach(desk, MISSING if chosen == default else chosen or None, form.cleaned_data["observe"])
        except (MemoryInvalid, MemoryNotFound) as refused:
            form.add_error("default_memory_id", refused.message)
        else:
            messages.success(request, "Saved.")
            return redirect("console:agent-memory", request.organisation.slug, harness_id)
    current = next((one for one in writable if one.id == default), None)
    context = {
        **frame(request, desk, "agent-memory"),
        "form": form,
        "action_url": request.path,
        "writes_somewhere": bool(writable),
        "capped": len(writable) >= OFFERED,
        "default": {"name": current.name, "provider": current.provider} if current else None,
        "observes": desk.harness.observe,
        "tree_url": address(request, "tree"),
    }
    return pages.answer(request, "harnesses/memory.html", context, status=422 if form.errors else 200)


def offered(desk: Desk, kept: str) -> Sequence[Memory]:
    """The memories that the agent may write in and the person sees, by name; the one set is among them."""
    agent, caller = caller_for(desk.harness.agent), desk.caller
    tree = Memory.objects.of(caller.organisation_id).held_by(caller.principals)
    writable = tree.held_by(agent.principals, Privilege.WRITE).with_privileges(caller.principals)
    found = list(writable.by_name()[:OFFERED])
    if kept and kept not in {one.id for one in found}:
        found += list(writable.filter(pk=kept))
    return found


def labels(request: ConsoleRequest, memories: Sequence[Memory]) -> Sequence[tuple[str, str]]:
    """The memories for a choice, each with what stands above it as far as the person sees."""
    views = Reader(request.caller).memories(memories)
    above = {one for view in views for one in view.ancestors}
    names = dict(Memory.objects.filter(pk__in=above).values_list("id", "name"))
    return [(view.memory.id, " / ".join([*(names[one] for one in view.ancestors), view.memory.name])) for view in views]


@member_page
@require_GET
def prime(request: ConsoleRequest, harness_id: str) -> HttpResponse:
    """What an agent is told before it begins, within a budget: the text, and what it costs."""
    desk = desk_of(request, harness_id)
    form = BudgetForm(request.GET if "budget" in request.GET else {"budget": priming.DEFAULT_BUDGET})
    context: dict[str, Any] = {
        **frame(request, desk, "agent-prime"),
        "form": form,
        "url": request.path,
        "default_budget": priming.DEFAULT_BUDGET,
    }
    if form.is_valid():
        eyes = eyes_of(desk)
        with transaction.atomic():
            shown = preview.preview(eyes, form.cleaned_data["budget"])
            viewing.note(eyes, primed=True)
        context["primed"] = shown
        context["shares"] = [{"share": one, "url": address(request, "memory", one.memory.id)} for one in shown.shares]
        context["omitted"] = [{"name": one.name, "url": address(request, "memory", one.id)} for one in shown.omitted]
    return pages.answer(request, "harnesses/prime.html", context, fragment="prime", status=422 if form.errors else 200)
