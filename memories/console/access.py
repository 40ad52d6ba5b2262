"""Who has access to a memory: give, take back, close and open the branch, each with its consequences shown first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.reader import Reader
from memories.services import grants, impact
from memories.services import tree as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages

from .forms import GiveForm
from .memory import memory_context
from .nodes import Crumb, address, breadcrumb
from .principals import choices, named

CHANGED = "Something changed since this was shown. Look again at what will happen, then decide."


@dataclass(frozen=True)
class AccessRow:
    """One source of access: who, what, and where it was given."""

    principal: str
    kind: str
    detail: str
    privileges: list[str]
    inherited_from: Crumb | None
    creator: bool
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
    context = {
        **memory_context(request, place, "access"),
        "access": rows,
        "access_hidden": hidden,
        "give_form": form or GiveForm(principals=choices(request.organisation.id)),
        "give_url": address(request, "grant-give", memory_id),
        "restrict_url": address(request, "restrict", memory_id),
        "may_manage": True,
    }
    status = 422 if form and form.errors else 200
    return pages.answer(request, "memories/memory.html", context, fragment="access", status=status)


def access_rows(request: ConsoleRequest, place: Place) -> tuple[list[AccessRow], bool]:
    """Where access to a memory comes from, nearest first; and whether some comes from where one may not look."""
    sources = Reader(request.caller).sources(place.memory)
    names = named(request.organisation.id, {one.holding.principal for one in sources.visible})
    rows = []
    for source in sources.visible:
        who = names[source.holding.principal]
        here = source.memory.id == place.memory.id
        grant_id = source.holding.grant_id
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
                revoke_url=address(request, "grant-revoke", place.memory.id, grant_id) if here and grant_id else None,
            )
        )
    return rows, sources.hidden


@member_page
@require_POST
def grant_give(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Give a person, an agent or a group access, in place of what it was given here before."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    form = GiveForm(request.POST, principals=choices(request.organisation.id))
    if not form.is_valid():
        return access_page(request, place, form)
    privileges = Privilege.from_words(form.cleaned_data["privileges"])
    grant = grants.give(place, form.cleaned_data["principal"], privileges)
    name = named(request.organisation.id, [grant.principal])[grant.principal].name
    messages.success(request, f"{name} may now {', '.join(privileges.words)} here and below.")
    return settled(request, place)


@member_page
@require_http_methods(["GET", "POST"])
def grant_revoke(request: ConsoleRequest, memory_id: str, grant_id: str) -> HttpResponse:
    """Take a grant back, once the person has seen who loses access by it."""
    place = look(request.caller, memory_id)
    grant = grants.on(place, grant_id)
    change = impact.of_taking_back(place, grant_id)
    error = ""
    if request.method == "POST":
        if request.POST.get("expected") == change.fingerprint and not unconfirmed(request, change):
            grants.take_back(place, grant_id)
            who = named(request.organisation.id, [grant.principal])[grant.principal]
            messages.success(request, f"What {who.name} was given here was taken back. It has no effect any more.")
            return done(request, place, change.locks_out_self)
        error = CHANGED
    who = named(request.organisation.id, [grant.principal])[grant.principal]
    context = {**confirmation(request, place, change), "who": who, "privileges": grant.held.words, "error": error}
    return pages.answer(request, "memories/revoke.html", context, fragment="confirm", status=422 if error else 200)


@member_page
@require_http_methods(["GET", "POST"])
def restrict(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Close a branch or open it, once the person has seen who loses or gains access by it."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    to_restricted = not place.memory.restricted
    change = impact.of_restricting(place, to_restricted)
    error = ""
    if request.method == "POST":
        if request.POST.get("expected") == change.fingerprint and not unconfirmed(request, change):
            verbs.change(place, restricted=to_restricted)
            messages.success(request, said(place.memory.name, to_restricted, change))
            return done(request, place, change.locks_out_self)
        error = CHANGED
    context = {**confirmation(request, place, change), "to_restricted": to_restricted, "error": error}
    return pages.answer(request, "memories/restrict.html", context, fragment="confirm", status=422 if error else 200)


def confirmation(request: ConsoleRequest, place: Place, change: impact.Impact) -> dict[str, Any]:
    """What a question about access shows: who loses, gains, keeps, and whether the person locks themselves out."""
    view = Reader(request.caller).memories([place.memory])[0]
    return {
        **shell(request, "memories"),
        **breadcrumb(request, view, last=True),
        "memory": place.memory,
        "losing": change.losing,
        "gaining": change.gaining,
        "narrowing": change.narrowing,
        "keeping": change.keeping,
        "subtree_count": Reader(request.caller).below_count(place.memory),
        "locks_out_self": change.locks_out_self,
        "expected": change.fingerprint,
        "action_url": request.path,
        "cancel_url": address(request, "access", place.memory.id),
    }


def unconfirmed(request: ConsoleRequest, change: impact.Impact) -> bool:
    """Whether the person would lock themselves out and has not said that they know."""
    return change.locks_out_self and request.POST.get("confirm_lockout") != "yes"


def said(name: str, closed: bool, change: impact.Impact) -> str:
    """One sentence on what happened."""
    party, verb = (change.losing, "lost access") if closed else (change.gaining, "gained access")
    people = f"{party.people} {'person' if party.people == 1 else 'people'}"
    agents = f"{party.agents} {'agent' if party.agents == 1 else 'agents'}"
    return f"{name} is {'closed' if closed else 'open'}: {people} and {agents} {verb}."


def done(request: ConsoleRequest, place: Place, locked_out: bool) -> HttpResponse:
    """Go on after a change of access: back to who has access, or to the tree when that is out of reach now."""
    url = address(request, "tree") if locked_out else address(request, "access", place.memory.id)
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)


def settled(request: ConsoleRequest, place: Place) -> HttpResponse:
    """The part of the page that changed, or the whole page anew without htmx."""
    if request.htmx:
        return access_page(request, place.again())
    return redirect(address(request, "access", place.memory.id))
