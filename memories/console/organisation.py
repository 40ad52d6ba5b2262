"""What owners decide about members, shown with what it does to who reaches what; and memories left without anybody."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from members import services as members
from members.console import require_owner, the_group, the_member
from members.models import Member
from members.shell import ConsoleRequest, member_page, shell
from memories.models import Memory
from memories.services import impact, ownership
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound
from uhp_site.http.fields import Fields

from .forms import HandOverForm
from .nodes import address
from .principals import named
from .questions import Question, led

PAGE = 50


def head(request: ConsoleRequest, member: Member) -> dict[str, Any]:
    """What is above a question about a member."""
    return {
        **shell(request, "people"),
        "root_url": address(request, "people"),
        "root_name": "Members",
        "crumbs": [{"name": member.name, "url": address(request, "member", member.id)}],
        "cancel_url": address(request, "member", member.id),
    }


@member_page
@require_http_methods(["GET", "POST"])
def deactivate(request: ConsoleRequest, member_id: str) -> HttpResponse:
    """End what a member may do, once the person has seen what that takes away."""
    require_owner(request)
    member = the_member(request, member_id)
    if member.id == request.caller.member.id:
        raise MemoryForbidden("You cannot deactivate yourself: another owner has to.")
    question = Question(impact.of_deactivating(request.caller, member), member.name, "member")
    error = question.error(request.POST) if request.method == "POST" else ""
    if request.method == "POST" and not error and not question.has_last_step(request.POST):
        members.deactivate(member, actor=request.caller.actor)
        messages.success(request, f"{member.name} was deactivated: keys and sign-in are refused from now on.")
        return led(request, address(request, "member", member.id))
    context = {
        **head(request, member),
        **question.context(request, error, last_step=request.method == "POST" and not error),
        "heading": "Deactivate",
        "question": "Deactivate",
        "subject": member.name,
        "explained": "Keys and sign-in are refused at once, and nothing that was given has any effect until the member "
        "is made active again.",
        "act": "Deactivate",
        "kind": "danger",
    }
    return pages.answer(request, "memories/question.html", context, fragment="confirm", status=422 if error else 200)


@member_page
@require_http_methods(["GET", "POST"])
def leave_group(request: ConsoleRequest, group_id: str, member_id: str) -> HttpResponse:
    """Take a member out of a group, once the person has seen what that takes away."""
    require_owner(request)
    group, leaving = the_group(request, group_id), the_member(request, member_id)
    if group.is_everyone:
        raise MemoryForbidden("Nobody can leave this group: it holds every active member.")
    question = Question(impact.of_leaving_group(request.caller, group, leaving), leaving.name, "member")
    error = question.error(request.POST) if request.method == "POST" else ""
    url = address(request, "group", group.id)
    if request.method == "POST" and not error and not question.has_last_step(request.POST):
        members.remove_from_group(group, leaving, actor=request.caller.actor)
        messages.success(request, f"{leaving.name} left {group.name}, and no longer holds what the group holds.")
        return led(request, url)
    context = {
        **head(request, leaving),
        **question.context(request, error, last_step=request.method == "POST" and not error),
        "crumbs": [{"name": group.name, "url": url}],
        "cancel_url": url,
        "heading": "Take out of a group",
        "question": f"Take out of {group.name}:",
        "subject": leaving.name,
        "explained": f"They no longer hold what is given to {group.name}; what is given to them otherwise stays.",
        "act": "Take out of the group",
        "kind": "danger",
    }
    return pages.answer(request, "memories/question.html", context, fragment="confirm", status=422 if error else 200)


@member_page
@require_http_methods(["GET", "POST"])
def hand_over(request: ConsoleRequest, member_id: str) -> HttpResponse:
    """Make somebody else the creator of what a member made."""
    require_owner(request)
    leaving = the_member(request, member_id)
    form = HandOverForm(request.POST or None, leaving=leaving)
    if request.method == "POST" and form.is_valid():
        to = form.cleaned_data["to"]
        count = ownership.hand_over(request.caller, leaving, to)
        many = f"{count:,} {'memory' if count == 1 else 'memories'}"
        messages.success(request, f"{to.name} is now the creator of {many} that {leaving.name} made.")
        return led(request, address(request, "member", leaving.id))
    made = Memory.objects.of(request.organisation.id).filter(creator=leaving.principal).count()
    context = {**head(request, leaving), "member": leaving, "made": made, "form": form, "action_url": request.path}
    return pages.answer(request, "members/hand_over.html", context, status=422 if form.errors else 200)


@member_page
@require_GET
def ownerless(request: ConsoleRequest) -> HttpResponse:
    """Memories that nobody active can administer, the highest of each branch."""
    require_owner(request)
    after = pagination.read_cursor(Fields(request.GET.dict()), (str,))
    found = ownership.nobody_left(request.caller, PAGE, after[0] if after else None)
    creators = named(request.organisation.id, {one.creator for one in found.memories})
    url = address(request, "ownerless")
    context = {
        **shell(request, "memories"),
        "memories": [
            {
                "name": one.name,
                "creator": creators[one.creator],
                "created_at": one.created_at,
                "take_url": address(request, "take-over", one.id),
            }
            for one in found.memories
        ],
        "next_url": f"{url}?cursor={pagination.make_cursor(found.next)}" if found.next else None,
        "first_url": url if after else None,
    }
    return pages.answer(request, "memories/ownerless.html", context, fragment="ownerless")


@member_page
@require_http_methods(["GET", "POST"])
def take_over(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Take over the administration of a memory that nobody else can administer, for everybody to see."""
    require_owner(request)
    principals = ownership.acting_principals(request.organisation.id)
    tree = Memory.objects.of(request.organisation.id).filter(pk=memory_id)
    memory = ownership.unadministered(tree, principals).first()
    if memory is None:
        raise MemoryNotFound()
    if request.method == "POST":
        ownership.take(request.caller, memory_id)
        messages.success(request, f"You administer {memory.name} now. Everybody who reaches it is told so.")
        return led(request, address(request, "access", memory_id))
    context = {
        **shell(request, "memories"),
        "crumbs": [{"name": "Memories without anybody", "url": address(request, "ownerless")}],
        "crumbs_hidden": False,
        "heading": "Take over a memory",
        "question": "Take over the administration of",
        "subject": memory.name,
        "explained": "You are given delete here and below, and nothing else: who reaches the memory is told so on its "
        "page, and the audit log keeps it.",
        "act": "Take over",
        "kind": "primary",
        "action_url": request.path,
        "cancel_url": address(request, "ownerless"),
    }
    return pages.answer(request, "memories/question.html", context, fragment="confirm")
