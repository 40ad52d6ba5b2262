"""Who can reach a memory and why, now or at an instant; and why, or why not, for one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from members.models import Member
from members.shell import ConsoleRequest, member_page
from memories.access import Cause, Privilege
from memories.services import asking
from memories.services.sight import Place, look
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryNotFound
from uhp_site.http.fields import Fields

from . import instants
from .access import access_tabs, searched
from .forms import CheckForm
from .memory import memory_context
from .nodes import address
from .principals import choices

PAGE = 50


@dataclass(frozen=True)
class StepView:
    """A memory on the way up. `cuts` when what is given above it does not come through."""

    name: str
    url: str
    cuts: bool = False
    here: bool = False


@dataclass(frozen=True)
class PathView:
    """The way down to a memory, highest first, as far as it may be named.

    `hidden` says that it begins higher up, `hidden_cut` that a memory there which may not be named cuts it off.
    """

    steps: Sequence[StepView]
    hidden: bool = False
    hidden_cut: bool = False


@dataclass(frozen=True)
class SourceView:
    """One source of access: `via` is direct, group or creator; `memory` is where it sits."""

    via: str
    group: str
    memory: StepView
    privileges: Sequence[str]


@dataclass(frozen=True)
class ReacherView:
    """Somebody who reaches a memory. `hindered` says why they cannot act all the same."""

    name: str
    kind: str
    url: str
    hindered: str
    privileges: Sequence[str]
    sources: Sequence[SourceView]
    hidden: bool
    why_url: str


HINDERED = {Cause.NO_KEY: "has no key", Cause.DEACTIVATED: "deactivated"}


@member_page
@require_GET
def who(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Everyone who can reach a memory, each once, with every reason that may be named."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    query = Fields(request.GET.dict())
    called = query.text("q", longest=120) or ""
    type_ = query.choice("type", ("", *Member.Type.values), "")
    when = instants.asked(request)
    after = pagination.read_cursor(query, (str, str))
    audience = asking.who(place, PAGE, after, when.at, named=called, type=type_)
    url = address(request, "who", memory_id)
    asked = {key: value for key, value in (("q", called), ("type", type_), ("at", when.value)) if value}
    following = pagination.make_cursor(*audience.next) if audience.next else None
    context = {
        **memory_context(request, place, "access"),
        "access_tabs": access_tabs(request, memory_id, "who"),
        "people": [reacher(request, place, one, when) for one in audience.people],
        "total": audience.total,
        "path": path_view(request, audience.where, memory_id),
        "called": called,
        "type": type_,
        "types": [("", "People and agents"), *((value, kinds) for value, kinds in PLURALS.items())],
        "when": when,
        "url": url,
        "next_url": f"{url}?{urlencode({**asked, 'cursor': following})}" if following else None,
        "first_url": f"{url}?{urlencode(asked)}" if after else None,
    }
    return pages.answer(request, "memories/who.html", context, fragment="who", status=422 if when.error else 200)


PLURALS = {"human": "People", "agent": "Agents"}


@member_page
@require_GET
def why(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Whether somebody may do one thing on a memory, now or at an instant, and the one cause."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    when = instants.asked(request)
    principal = request.GET.get("principal", "")
    offered = choices(request.organisation.id, searched(request), principal)
    form = CheckForm(request.GET if principal else None, principals=offered.groups)
    context: dict[str, Any] = {
        **memory_context(request, place, "access"),
        "access_tabs": access_tabs(request, memory_id, "why"),
        "form": form,
        "offered": offered,
        "find_url": address(request, "why", memory_id),
        "when": when,
        "url": address(request, "why", memory_id),
    }
    wrong = bool(when.error)
    if principal and not when.error:
        word = request.GET.get("privilege", "read")
        privilege = Privilege.from_words([word]) if word in Privilege.ALL.words else Privilege.READ
        try:
            context |= verdict(request, place, asking.why(place, principal, privilege, when.at), when)
        except MemoryNotFound:
            wrong = True
            form.add_error("principal", "There is no such person, agent or group, or there was none then.")
    return pages.answer(request, "memories/why.html", context, fragment="why", status=422 if wrong else 200)


def verdict(request: ConsoleRequest, place: Place, because: asking.Because, when: instants.Asked) -> dict[str, Any]:
    """The answer to one question as the page shows it."""
    where = asking.who(place, 1, at=when.at).where
    return {
        "yes": because.yes,
        "name": because.person.name,
        "kind": because.person.type,
        "privilege": because.privilege.words[0],
        "cause": because.cause.value if because.cause else "",
        "sources": [source(request, one, place.memory.id) for one in because.reasons],
        "cutoffs": [StepView(one.name, address(request, "memory", one.id), True) for one in because.cutoffs],
        "hidden_sources": because.hidden,
        "path": path_view(request, where, place.memory.id),
        "asked": True,
    }


def reacher(request: ConsoleRequest, place: Place, one: asking.Reaching, when: instants.Asked) -> ReacherView:
    """Somebody who reaches a memory, as a row."""
    person = one.person
    question = {"principal": person.principal, "privilege": one.privileges.words[0]}
    if when.value:
        question["at"] = when.value
    return ReacherView(
        name=person.name,
        kind=person.type,
        url=address(request, "member", person.principal.removeprefix("member:")),
        hindered=HINDERED.get(person.hindered, "") if person.hindered else "",
        privileges=one.privileges.words,
        sources=[source(request, reason, place.memory.id) for reason in one.reasons],
        hidden=one.hidden,
        why_url=f"{address(request, 'why', place.memory.id)}?{urlencode(question)}",
    )


def source(request: ConsoleRequest, reason: asking.Reason, here: str) -> SourceView:
    """One source, with where it sits."""
    memory = reason.memory
    step = StepView(memory.name, address(request, "access", memory.id), memory.restricted, memory.id == here)
    return SourceView(reason.via, reason.group_name, step, reason.privileges.words)


def path_view(request: ConsoleRequest, where: asking.Where, here: str) -> PathView:
    """The way down to a memory, with what cuts off access from above."""
    steps = [
        StepView(one.name, address(request, "memory", one.id), one.id == where.cutoff, one.id == here)
        for one in reversed(where.steps)
    ]
    return PathView(steps, where.goes_on, where.cutoff_hidden)
