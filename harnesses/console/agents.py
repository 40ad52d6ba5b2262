"""The agents of an organisation: the list, a new one, and the page of one with what it reaches and did lately."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import F, Max, OuterRef, Q, Subquery
from django.db.models.functions import Lower
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from harnesses.errors import HarnessInvalid, InsufficientScope
from harnesses.models import Harness
from harnesses.services import attachment, configuration, looking
from harnesses.services.sight import Desk
from members.models import Credential, annotated
from members.shell import ConsoleRequest, member_page, shell
from memories.console.nodes import address
from memories.console.principals import named
from memories.console.questions import Question, led
from memories.console.reach import nested
from memories.models import Memory
from memories.services import asking, impact
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryForbidden
from uhp_site.http.fields import Fields

from .forms import HarnessForm
from .frame import base_label, desk_of, frame

PAGE = 50
# How many memories the page of an agent shows of what is within its reach; the page of its reach has them all.
REACH = 25


@member_page
@require_GET
def agents(request: ConsoleRequest) -> HttpResponse:
    """The agents that the person manages, by name."""
    after = pagination.read_cursor(Fields(request.GET.dict()), (str, str))
    seen = Harness.objects.seen_by(request.caller.member)
    used = Credential.objects.filter(member_id=OuterRef("pk")).order_by().values("member_id")
    last_seen = Subquery(used.annotate(last=Max("last_used_at")).values("last"))
    rows = annotated(seen, sort_name=Lower("name")).annotate(last_seen=last_seen).select_related("agent")
    if after:
        name, harness_id = after
        rows = rows.filter(Q(sort_name__gt=name) | Q(sort_name=name, pk__gt=harness_id))
    found: list[Any] = list(rows.order_by(F("sort_name"), "pk")[: PAGE + 1])
    page, cursor = pagination.cut(found, PAGE, lambda one: (one.sort_name, one.pk))
    tree = Memory.objects.of(request.organisation.id).held_by(request.caller.principals)
    called = dict(tree.filter(pk__in={one.default_memory_id for one in page} - {""}).values_list("id", "name"))
    url = address(request, "agents")
    context = {
        **shell(request, "agents"),
        "agents": [
            {
                "name": one.name,
                "url": address(request, "agent", one.id),
                "base": base_label(one),
                "model": one.default_model,
                "active": one.agent.is_active,
                "memory": {"name": name, "url": address(request, "memory", one.default_memory_id)}
                if (name := called.get(one.default_memory_id))
                else None,
                "last_seen": one.last_seen,
            }
            for one in page
        ],
        "agents_total": seen.count(),
        "next_url": f"{url}?cursor={cursor}" if cursor else None,
        "first_url": url if after else None,
        "new_url": address(request, "agent-new") if may_create(request) else None,
        "all_are_shown": request.caller.member.is_owner,
    }
    return pages.answer(request, "harnesses/agents.html", context, fragment="agents")


def may_create(request: ConsoleRequest) -> bool:
    """Whether the person may make an agent here."""
    try:
        configuration.require_creator(request.caller)
    except InsufficientScope:
        return False
    return True


@member_page
@require_http_methods(["GET", "POST"])
def new(request: ConsoleRequest) -> HttpResponse:
    """Make a harness, and with it its agent; what comes next is connecting it."""
    if not may_create(request):
        raise MemoryForbidden("Only an owner of the organisation may create an agent.")
    form = HarnessForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        draft = configuration.Draft(base=data["base"], name=data["name"], default_model=data["model"])
        try:
            harness = configuration.create(request.caller, draft)
        except HarnessInvalid as refused:
            form.add_error("name", refused.message)
        else:
            everyone = "It belongs to the group everyone, as every member does."
            messages.success(request, f"{harness.name} was created. {everyone} Give it a key to connect it.")
            return redirect("console:agent-connect", request.organisation.slug, harness.id)
    context = {
        **shell(request, "agents"),
        "agents_url": address(request, "agents"),
        "form": form,
        "action_url": request.path,
        "cancel_url": address(request, "agents"),
    }
    return pages.answer(request, "harnesses/new.html", context, status=422 if form.errors else 200)


@member_page
@require_GET
def agent(request: ConsoleRequest, harness_id: str) -> HttpResponse:
    """One agent: what it can reach, what it did lately, and how it is set up."""
    desk = desk_of(request, harness_id)
    context = {
        **frame(request, desk, "agent"),
        **reach_context(request, desk),
        **lately_context(request, desk),
        **about_context(request, desk),
    }
    return pages.answer(request, "harnesses/agent.html", context)


def reach_context(request: ConsoleRequest, desk: Desk) -> dict[str, Any]:
    """Where the agent's access begins or changes, of the memories that the person looks after."""
    principal = desk.harness.agent.principal
    answer = asking.what(request.caller, principal, REACH, changes=True)
    return {
        "memories": nested(request, answer.memories, principal),
        "reach_more": answer.next is not None,
        "reach_url": address(request, "reach-member", desk.harness.id),
        "tree_url": address(request, "tree"),
    }


def lately_context(request: ConsoleRequest, desk: Desk) -> dict[str, Any]:
    """Where the agent read last, and what it wrote last, of what the person may know."""
    found = looking.lately(request.caller, desk.harness.id)
    return {
        "reads": [
            {"name": one.memory.name, "url": address(request, "memory", one.memory.id), "at": one.read_at}
            for one in found.reads
        ],
        "writes": [
            {
                "title": one.title,
                "url": address(request, "record", one.memory.id, one.record_id),
                "type": one.type,
                "number": one.number,
                "at": one.written_at,
                "memory": one.memory.name,
            }
            for one in found.writes
        ],
    }


def about_context(request: ConsoleRequest, desk: Desk) -> dict[str, Any]:
    """How the agent is set up."""
    harness = desk.harness
    set_up = attachment.attachment(desk)
    tree = Memory.objects.of(request.organisation.id).held_by(request.caller.principals)
    kept = tree.filter(pk=harness.default_memory_id).first() if harness.default_memory_id else None
    last_seen = Credential.objects.filter(member_id=harness.id).aggregate(last=Max("last_used_at"))["last"]
    return {
        "about": {
            "creator": named(request.organisation.id, [harness.creator])[harness.creator],
            "created_at": harness.created_at,
            "last_seen": last_seen,
            "principal": harness.agent.principal,
            "prompt": harness.system_prompt,
            "servers": [one.name for one in harness.servers.all()],
            "skills": [one.name for one in harness.skills.all()],
            "disabled_tools": harness.disabled_tools,
        },
        "default_memory": {"name": kept.name, "url": address(request, "memory", kept.id)} if kept else None,
        "default_works": set_up.default_memory_id is not None,
        "observe": harness.observe,
        "memory_url": address(request, "agent-memory", harness.id),
        "member_url": address(request, "member", harness.id),
    }


@member_page
@require_http_methods(["GET", "POST"])
def delete(request: ConsoleRequest, harness_id: str) -> HttpResponse:
    """Delete a harness and end its agent, once the person has seen what that takes away."""
    desk = desk_of(request, harness_id)
    harness = desk.harness
    question = Question(impact.of_retiring(request.caller, harness.agent), harness.name, "agent", always_typed=True)
    error = question.error(request.POST) if request.method == "POST" else ""
    if request.method == "POST" and not error and not question.has_last_step(request.POST):
        configuration.retire(desk)
        messages.success(request, f"{harness.name} was deleted. Its keys are refused from now on; what it wrote stays.")
        return led(request, address(request, "agents"))
    url = address(request, "agent", harness.id)
    context = {
        **shell(request, "agents"),
        "root_url": address(request, "agents"),
        "root_name": "Agents",
        "crumbs": [{"name": harness.name, "url": url}],
        "cancel_url": url,
        **question.context(request, error, last_step=request.method == "POST" and not error),
        "heading": "Delete an agent",
        "question": "Delete the agent",
        "subject": harness.name,
        "explained": lost(harness),
        "act": "Delete the agent",
        "kind": "danger",
    }
    return pages.answer(request, "memories/question.html", context, fragment="confirm", status=422 if error else 200)


def lost(harness: Harness) -> str:
    """What goes with a harness and what stays, in sentences."""
    counts = (
        (Credential.objects.live().filter(member_id=harness.id).count(), "key", "keys"),
        (harness.skills.count(), "skill", "skills"),
        (harness.servers.count(), "MCP server with its secrets", "MCP servers with their secrets"),
    )
    parts = [f"{number:,} {one if number == 1 else many}" for number, one, many in counts if number]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    going = f"Its configuration goes, with {listed}. " if listed else "Its configuration goes. "
    return (
        f"{going}Whatever was granted to it has no effect from the next request on. What it wrote stays, and still "
        "names it. This cannot be undone."
    )
