"""The recall explorer: ask a memory anything, as oneself or with somebody else's eyes, and see how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from members.console import the_member
from members.models import Member
from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.models.tree import MemoryQuerySet
from memories.providers import registry
from memories.providers.base import View
from memories.recall import profiles
from memories.recall.pipeline import Ask, Recalled
from memories.services import recall, types, viewing
from memories.services.sight import Place, look
from memories.services.viewing import Eyes
from uhp_site.http import pages
from uhp_site.http.errors import MemoryNotFound, MemoryUnavailable

from . import explore_filters as filters
from .explore_filters import Form
from .explore_results import Words, results
from .explore_said import decision, sentences
from .memory import memory_context
from .nodes import address

MOST_MEMBERS = 200


@dataclass(frozen=True)
class Asking:
    """Who asks where: the person themself, or with the eyes of a member; `refused` says why nothing can be asked."""

    place: Place
    eyes: Eyes | None = None
    refused: str = ""

    @property
    def shown(self) -> MemoryQuerySet | None:
        """The memories that a path may tell of; None for all that the person sees."""
        return self.eyes.shown if self.eyes else None

    def recall(self, ask: Ask) -> Recalled:
        """What is found."""
        return viewing.recall(self.eyes, self.place, ask) if self.eyes else recall.recall(self.place, ask)


@member_page
@require_GET
def explore(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Ask a memory; the address holds all of what is asked."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    form = filters.read(request)
    asking = asking_of(request, place, form)
    context: dict[str, Any] = {
        **memory_context(request, place, "ask"),
        "ask_tabs": tabs(request, place, "explore"),
        "form": form,
        "url": request.path,
        "types": [one.type for one in types.listed(request.organisation.id)],
        "operations": list(filters.SAID.items()),
        "profiles": filters.choices(),
        "depths": filters.DEPTHS,
        "limits": filters.LIMITS,
        "members": members(request, form) if Privilege.DELETE in place.privileges else [],
        **viewed(request, asking),
    }
    if asking.refused:
        context["refused"] = asking.refused
    elif form.given:
        if asking.eyes:
            noted(asking.eyes, memory_id)
        context |= answer(request, asking, form)
    status = 422 if form.errors else 200
    return pages.answer(request, "memories/explore.html", context, fragment="answer", status=status)


def asking_of(request: ConsoleRequest, place: Place, form: Form) -> Asking:
    """Who asks. Raises MemoryForbidden for other eyes without delete, MemoryNotFound for those of nobody."""
    if not form.as_ or form.as_ == request.caller.member.id:
        return Asking(place)
    place.require(Privilege.DELETE | Privilege.READ)
    eyes = viewing.with_eyes_of(request.caller, the_member(request, form.as_))
    try:
        there = viewing.look(eyes, place.memory.id)
    except MemoryNotFound:
        return Asking(place, eyes, f"{eyes.member.member.name} does not reach this memory, and so finds nothing here.")
    if Privilege.READ not in there.privileges:
        name = eyes.member.member.name
        return Asking(there, eyes, f"{name} may not read here: they hold something else on this memory.")
    return Asking(there, eyes)


@transaction.atomic
def noted(eyes: Eyes, memory_id: str) -> None:
    """Put into the audit that the person asked with somebody else's eyes."""
    viewing.note(eyes, memory_id, recalled=True)


def viewed(request: ConsoleRequest, asking: Asking) -> dict[str, Any]:
    """What the banner says where somebody looks with other eyes."""
    if asking.eyes is None:
        return {}
    member, query = asking.eyes.member.member, request.GET.copy()
    query.pop("as", None)
    rest = query.urlencode()
    return {
        "as_name": member.name,
        "as_kind": member.type,
        "as_active": member.is_active,
        "exit_url": f"{request.path}?{rest}" if rest else request.path,
    }


def answer(request: ConsoleRequest, asking: Asking, form: Form) -> dict[str, Any]:
    """What is found by the profile chosen, and beside it by the one compared with."""
    names = [form.profile, *([form.against] if form.against and form.against != form.profile else [])]
    try:
        recalls = [(profiles.PROFILES[name], asking.recall(form.ask(name))) for name in names]
    except MemoryUnavailable:
        return {"unavailable": True}
    first = recalls[0][1]
    words = Words(form.query or form.text, asking.place.memory)
    listed = results(request, words, recalls, asking.shown, by_version=form.include == "all" or bool(form.as_of))
    saves = asking.eyes is None and bool(words.text) and Privilege.WRITE in asking.place.privileges
    columns = [
        {"name": filters.called(profile.name), "results": found, "decision": decided(recalled, form)}
        for (profile, recalled), found in zip(recalls, listed, strict=True)
    ]
    return {
        "answered": True,
        "columns": columns,
        "compared": len(columns) == 2,
        "results": listed[0],
        "decision": decided(first, form),
        "explanation": first.explanation,
        "told": sentences([note for _, one in recalls for note in one.degraded]),
        "nothing_stored": not any(listed) and not stored(asking.place, first),
        "save_url": address(request, "golden", asking.place.memory.id) if saves else None,
        "words": words.text,
    }


def decided(recalled: Recalled, form: Form) -> Any:
    """The decision to answer or to decline; None for a list by filters alone, and for exact words alone."""
    if not form.query:
        return None
    return decision(recalled.explanation.evidence if recalled.explanation else None)


def stored(place: Place, recalled: Recalled) -> bool:
    """Whether anything at all is kept where it was looked, whatever became of it."""
    searched = list(recalled.searched) if not isinstance(recalled.searched, Sequence) else recalled.searched
    return bool(registry.get(place.memory.provider).newest(searched, View(include_all=True), 1))


def members(request: ConsoleRequest, form: Form) -> list[tuple[str, str]]:
    """With whose eyes one may look: the active members, and whoever is asked about."""
    every = Member.objects.of(request.organisation.id)
    found = [one for one in every.active().by_name()[:MOST_MEMBERS] if one.id != request.caller.member.id]
    if form.as_ and form.as_ not in {one.id for one in found}:
        found += list(every.filter(pk=form.as_))
    return [(one.id, f"{one.name} (agent)" if one.type == Member.Type.AGENT else one.name) for one in found]


def tabs(request: ConsoleRequest, place: Place, current: str) -> list[dict[str, Any]]:
    """The pages of the tab Ask."""
    named = (("explore", "Ask"), ("golden", "Golden questions"), ("graph", "Graph"))
    return [
        {"label": label, "url": address(request, page, place.memory.id), "current": page == current}
        for page, label in named
    ]


def ask_url(request: ConsoleRequest, memory_id: str, question: str) -> str:
    """The address that asks a question of a memory."""
    return f"{address(request, 'explore', memory_id)}?{urlencode({'q': question})}"
