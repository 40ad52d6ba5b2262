"""Going straight to something by its name: a memory, a record, a person, an agent, a group or a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from members.models import Group, Member
from members.shell import ConsoleRequest, Link, member_page, shell
from memories.services import finding
from uhp_site.http import pages
from uhp_site.http.fields import Fields

from .nodes import address

MOST = 6
LONGEST = 200


@dataclass(frozen=True)
class Target:
    """Somewhere to go: what it is called, what it is, and where it stands."""

    name: str
    url: str
    icon: str
    detail: str = ""


@dataclass(frozen=True)
class Kind:
    """The targets of one kind; `more_url` is where the others are."""

    label: str
    targets: Sequence[Target]
    more_url: str = ""


@member_page
@require_GET
def jump(request: ConsoleRequest) -> HttpResponse:
    """What is called so, of everything that the person may see; at most a few of each kind."""
    words = Fields(request.GET.dict()).text("q", longest=LONGEST) or ""
    frame = shell(request)
    kinds = [
        _pages(frame["nav"], words),
        *([_memories(request, words), _records(request, words), *_members(request, words)] if words.strip() else []),
    ]
    context = {
        **frame,
        "words": words,
        "kinds": [kind for kind in kinds if kind.targets],
        "jump_url": request.path,
    }
    dialog = request.headers.get("HX-Target") == "dialog-body"
    return pages.answer(request, "memories/jump.html", context, fragment="jump" if dialog else "found")


def _pages(navigation: Sequence[Link], words: str) -> Kind:
    wanted = words.lower().split()
    said = {link.url: f"{link.name} {link.also}".lower() for link in navigation}
    listed = [Target(link.name, link.url, link.icon) for link in navigation]
    return Kind("Pages", [one for one in listed if all(word in said[one.url] for word in wanted)])


def _memories(request: ConsoleRequest, words: str) -> Kind:
    found = finding.find(request.caller, words, MOST)
    targets = [
        Target(one.name, address(request, "memory", one.id), "memory", one.description[:120]) for one in found.memories
    ]
    more = f"{address(request, 'find')}?{urlencode({'q': words})}" if found.next else ""
    return Kind("Memories", targets, more)


def _records(request: ConsoleRequest, words: str) -> Kind:
    found = finding.records(request.caller, words, MOST)
    return Kind(
        "Records",
        [
            Target(
                one.version.name,
                address(request, "record", one.version.memory_id, one.version.id),
                "record",
                one.memory_name,
            )
            for one in found
        ],
    )


def _members(request: ConsoleRequest, words: str) -> list[Kind]:
    called = Member.objects.of(request.organisation.id).active().by_name()
    for word in words.split():
        called = called.filter(name__icontains=word)
    found = list(called[: MOST * 2])
    people = [one for one in found if one.type == Member.Type.HUMAN][:MOST]
    agents = [one for one in found if one.type == Member.Type.AGENT][:MOST]
    groups = Group.objects.filter(organisation_id=request.organisation.id).order_by("name")
    for word in words.split():
        groups = groups.filter(name__icontains=word)
    return [
        Kind("People", [Target(one.name, address(request, "member", one.id), "person") for one in people]),
        Kind("Agents", [Target(one.name, address(request, "member", one.id), "agent") for one in agents]),
        Kind("Groups", [Target(one.name, address(request, "group", one.id), "people") for one in groups[:MOST]]),
    ]
