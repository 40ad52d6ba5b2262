"""Who has access to a memory: give, change, take back, close and open, each with its consequences shown first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from members.shell import ConsoleRequest, Link, member_page, shell
from memories.access import Privilege
from memories.models import Grant
from memories.reader import Reader
from memories.services import grants, impact
from memories.services import tree as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.fields import Fields

from .forms import ChangeForm, GiveForm
from .memory import memory_context
from .nodes import Crumb, address, breadcrumb, located
from .principals import choices, named
from .questions import Question, led


@dataclass(frozen=True)
class AccessRow:
    """One source of access: who, what, and where it was given."""

    principal: str
    kind: str
    detail: str
    privileges: list[str]
    inherited_from: Crumb | None
    creator: bool
    change_url: str | None
    revoke_url: str | None
    inherited_hidden: bool = False


@member_page
@require_GET
def access(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Everyone who was given access here or above, with where it comes from."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    return access_page(request, place)


def access_page(request: ConsoleRequest, place: Place, form: GiveForm | None = None) -> HttpResponse:
    """The page with its form as it stands; in an answer to a form, only the part that changed."""
    rows, hidden = access_rows(request, place)
    memory_id = place.memory.id
    offered = choices(request.organisation.id, searched(request))
    context = {
        **memory_context(request, place, "access"),
        "access_tabs": access_tabs(request, memory_id, "access"),
        "access": rows,
        "access_hidden": hidden,
        "offered": offered,
        "find_url": address(request, "access", memory_id),
        "give_form": form or GiveForm(principals=offered.groups),
        "give_url": address(request, "grant-give", memory_id),
        "restrict_url": address(request, "restrict", memory_id),
        "may_manage": True,
    }
    status = 422 if form and form.errors else 200
    return pages.answer(request, "memories/memory.html", context, fragment="access", status=status)


def access_tabs(request: ConsoleRequest, memory_id: str, current: str) -> Sequence[Link]:
    """The three questions about the access to a memory."""
    listed = [("What is given", "access"), ("Who can reach this", "who"), ("Check access", "why")]
    return [Link(label, address(request, page, memory_id), page == current) for label, page in listed]


def searched(request: ConsoleRequest) -> str:
    """The name that somebody is looked for by."""
    return Fields(request.GET.dict()).text("find", longest=120) or ""


def access_rows(request: ConsoleRequest, place: Place) -> tuple[list[AccessRow], bool]:
    """Where access to a memory comes from, nearest first; and whether some comes from where one may not look."""
    sources = Reader(request.caller).sources(place.memory)
    names = named(request.organisation.id, {one.holding.principal for one in sources.visible})
    rows = []
    for source in sources.visible:
        who = names[source.holding.principal]
        here = source.memory.id == place.memory.id
        grant_id = source.holding.grant_id
        sits_here = here and grant_id
        rows.append(
            AccessRow(
                principal=who.name,
                kind=who.kind,
                detail=who.detail,
                privileges=source.holding.privileges.words,
                inherited_from=None
                if here
                else Crumb(source.memory.name, address(request, "access", source.memory.id)),
                creator=not grant_id,
                change_url=address(request, "grant-change", place.memory.id, grant_id) if sits_here else None,
                revoke_url=address(request, "grant-revoke", place.memory.id, grant_id) if sits_here else None,
            )
        )
    return rows, sources.hidden


@member_page
@require_POST
def grant_give(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Give a person, an agent or a group access. Where it takes some away that was given here, that is asked first."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    principal = request.POST.get("principal", "")
    form = GiveForm(request.POST, principals=choices(request.organisation.id, keep=principal).groups)
    if not form.is_valid():
        return access_page(request, place, form)
    privileges = Privilege.from_words(form.cleaned_data["privileges"])
    before = Grant.objects.filter(memory=place.memory, principal=principal).first()
    if before and before.held & ~privileges:
        asked = urlencode({"privileges": privileges.words}, doseq=True)
        return led(request, f"{address(request, 'grant-change', memory_id, before.id)}?{asked}")
    grant = grants.give(place, principal, privileges)
    messages.success(request, given(request, grant))
    return settled(request, place)


def given(request: ConsoleRequest, grant: Grant) -> str:
    """One sentence on what somebody may do now."""
    name = named(request.organisation.id, [grant.principal])[grant.principal].name
    return f"{name} may now {', '.join(grant.held.words)} here and below."


@member_page
@require_http_methods(["GET", "POST"])
def grant_change(request: ConsoleRequest, memory_id: str, grant_id: str) -> HttpResponse:
    """Choose what a grant permits, see what that does to whom, then change it."""
    place = look(request.caller, memory_id)
    grant = grants.on(place, grant_id)
    who = named(request.organisation.id, [grant.principal])[grant.principal]
    sent = request.POST if request.method == "POST" else request.GET
    chosen = sent if sent.keys() & {"privileges", "chosen"} else None
    # The form that gives access may be on the same page: a label must lead to the field of its own form.
    form = ChangeForm(chosen, initial={"privileges": grant.held.words}, auto_id="change_%s")
    if request.method == "GET" and not form.is_valid():
        view = located(request, place.memory)
        context = {
            **shell(request, "memories"),
            **breadcrumb(request, view, last=True),
            "who": who,
            "form": form,
            "action_url": request.path,
            "cancel_url": address(request, "access", memory_id),
        }
        status = 422 if form.errors else 200
        return pages.answer(request, "memories/change.html", context, fragment="confirm", status=status)
    privileges = Privilege.from_words(form.cleaned_data["privileges"]) if form.is_valid() else grant.held
    question = Question(impact.of_giving(place, grant.principal, privileges), place.memory.name)
    error = question.error(request.POST) if request.method == "POST" else ""
    if request.method == "POST" and not error and not question.has_last_step(request.POST):
        messages.success(request, given(request, grants.give(place, grant.principal, privileges)))
        return done(request, place, question.change.locks_out_self)
    context = {
        **asked(request, place, question, error),
        "heading": "Change access",
        "question": "Change the access of",
        "subject": who.name,
        "explained": f"In place of {', '.join(grant.held.words)}, the grant will permit {', '.join(privileges.words)}.",
        "act": "Change the access",
        "kind": "danger" if grant.held & ~privileges else "primary",
        "lockout_text": "You look after this memory only through this. Afterwards you cannot change it back.",
    }
    context["hidden"] = [*context["hidden"], *(("privileges", word) for word in privileges.words)]
    return pages.answer(request, "memories/question.html", context, fragment="confirm", status=422 if error else 200)


@member_page
@require_http_methods(["GET", "POST"])
def grant_revoke(request: ConsoleRequest, memory_id: str, grant_id: str) -> HttpResponse:
    """Take a grant back, once the person has seen who loses access by it."""
    place = look(request.caller, memory_id)
    grant = grants.on(place, grant_id)
    question = Question(impact.of_taking_back(place, grant_id), place.memory.name)
    who = named(request.organisation.id, [grant.principal])[grant.principal]
    error = question.error(request.POST) if request.method == "POST" else ""
    if request.method == "POST" and not error and not question.has_last_step(request.POST):
        grants.take_back(place, grant_id)
        messages.success(request, f"What {who.name} was given here was taken back. It has no effect any more.")
        return done(request, place, question.change.locks_out_self)
    context = {**asked(request, place, question, error), "who": who, "privileges": grant.held.words}
    return pages.answer(request, "memories/revoke.html", context, fragment="confirm", status=422 if error else 200)


@member_page
@require_http_methods(["GET", "POST"])
def restrict(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Close a branch or open it, once the person has seen who loses or gains access by it."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    to_restricted = not place.memory.restricted
    question = Question(impact.of_restricting(place, to_restricted), place.memory.name)
    error = question.error(request.POST) if request.method == "POST" else ""
    if request.method == "POST" and not error and not question.has_last_step(request.POST):
        verbs.change(place, restricted=to_restricted)
        messages.success(request, said(place.memory.name, to_restricted, question.change))
        return done(request, place, question.change.locks_out_self)
    context = {**asked(request, place, question, error), "to_restricted": to_restricted}
    return pages.answer(request, "memories/restrict.html", context, fragment="confirm", status=422 if error else 200)


def asked(request: ConsoleRequest, place: Place, question: Question, error: str) -> dict[str, Any]:
    """What a question about the access to a memory shows, or its last step."""
    view = located(request, place.memory)
    return {
        **shell(request, "memories"),
        **breadcrumb(request, view, last=True),
        "memory": place.memory,
        **question.context(request, error, last_step=request.method == "POST" and not error),
        "cancel_url": address(request, "access", place.memory.id),
    }


def said(name: str, closed: bool, change: impact.Impact) -> str:
    """One sentence on what happened."""
    party, verb = (change.losing, "lost access") if closed else (change.gaining, "gained access")
    counted = [(party.people, "person", "people"), (party.agents, "agent", "agents")]
    who = " and ".join(f"{number} {one if number == 1 else many}" for number, one, many in counted if number)
    return f"{name} is {'closed' if closed else 'open'}: {who or 'nobody'} {verb}."


def done(request: ConsoleRequest, place: Place, locked_out: bool) -> HttpResponse:
    """Go on after a change of access: back to who has access, or to the tree when that is out of reach now."""
    return led(request, address(request, "tree") if locked_out else address(request, "access", place.memory.id))


def settled(request: ConsoleRequest, place: Place) -> HttpResponse:
    """The part of the page that changed, or the whole page anew without htmx."""
    if request.htmx:
        return access_page(request, place.again())
    return redirect(address(request, "access", place.memory.id))
