"""What a person, an agent or a group can reach: the tree as they hold it, now or at an instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.models import Memory
from memories.reader import Reader
from memories.services import asking
from uhp_site.http import pages, pagination
from uhp_site.http.fields import Fields

from . import instants
from .nodes import address

PAGE = 200


@dataclass
class HeldView:
    """A memory that somebody reaches, with those of the page that are below it.

    `changes` says that they hold something else than above; `entry` that they enter here; `path` names what is above,
    where that is not on the page. Of use is known what somebody may do: None for never.
    """

    name: str
    url: str
    why_url: str | None
    restricted: bool
    privileges: Sequence[str]
    changes: bool
    entry: bool
    reads: bool
    writes: bool
    read_at: datetime | None
    written_at: datetime | None
    path: Sequence[str] = ()
    hidden: bool = False
    below: list[HeldView] = field(default_factory=list)


@member_page
@require_GET
def of_member(request: ConsoleRequest, member_id: str) -> HttpResponse:
    """What a member can reach."""
    return reach(request, f"member:{member_id}", address(request, "member", member_id), "reach-member", member_id)


@member_page
@require_GET
def of_group(request: ConsoleRequest, group_id: str) -> HttpResponse:
    """What a group can reach, and with it each of its members."""
    return reach(request, f"group:{group_id}", address(request, "group", group_id), "reach-group", group_id)


def reach(request: ConsoleRequest, principal: str, back_url: str, page: str, identifier: str) -> HttpResponse:
    """One page of what somebody reaches, of what the person may know; highest in the tree first."""
    query = Fields(request.GET.dict())
    everything = query.choice("show", ("changes", "all"), "changes") == "all"
    when = instants.asked(request)
    after = pagination.read_cursor(query, (int, str, str))
    answer = asking.what(request.caller, principal, PAGE, after, at=when.at, changes=not everything)
    url = address(request, page, identifier)
    asked = {"show": "all"} if everything else {}
    if when.value:
        asked["at"] = when.value
    following = pagination.make_cursor(*answer.next) if answer.next else None
    person = answer.person
    is_member = person.type != asking.GROUP
    context = {
        **shell(request, "people"),
        "people_url": address(request, "people"),
        "back_url": back_url,
        "name": person.name,
        "kind": person.type,
        "hindered": person.hindered.value if person.hindered else "",
        "memories": nested(request, answer.memories, principal),
        "shown": len(answer.memories),
        "everything": everything,
        "shows_use": is_member and when.at is None,
        "when": when,
        "url": url,
        "view_as_url": address(request, "as", identifier) if is_member and when.at is None else None,
        "next_url": f"{url}?{urlencode({**asked, 'cursor': following})}" if following else None,
        "first_url": f"{url}?{urlencode(asked)}" if after else None,
    }
    return pages.answer(request, "memories/reach.html", context, fragment="reach", status=422 if when.error else 200)


def nested(request: ConsoleRequest, memories: Sequence[asking.Held], principal: str) -> list[HeldView]:
    """The memories of a page as a tree: each below the nearest one above it that is on the page."""
    ancestors = ancestors_of(request, memories)
    names = dict(
        Memory.objects.filter(pk__in={one for chain in ancestors.values() for one in chain}).values_list("id", "name")
    )
    views: dict[str, HeldView] = {}
    top: list[HeldView] = []
    for one in memories:
        view = HeldView(
            name=one.name,
            url=address(request, "memory", one.id),
            why_url=why_url(request, one, principal),
            restricted=one.restricted,
            privileges=one.privileges.words,
            changes=one.changes,
            entry=one.parent_id is None,
            reads=Privilege.READ in one.privileges,
            writes=Privilege.WRITE in one.privileges,
            read_at=one.read_at,
            written_at=one.written_at,
        )
        views[one.id] = view
        above = ancestors.get(one.id, ())
        nearest = next((views[step] for step in reversed(above) if step in views), None)
        between = above[_after_nearest(above, views) :]
        view.path = [names[step] for step in between]
        (nearest.below if nearest else top).append(view)
    return top


def _after_nearest(above: Sequence[str], views: dict[str, HeldView]) -> int:
    return max((place + 1 for place, step in enumerate(above) if step in views), default=0)


def ancestors_of(request: ConsoleRequest, memories: Sequence[asking.Held]) -> dict[str, tuple[str, ...]]:
    """What is above each memory as the person sees it today, root first."""
    principals = request.caller.principals
    rows = Memory.objects.of(request.organisation.id).filter(pk__in=[one.id for one in memories])
    found = list(rows.held_by(principals).with_privileges(principals))
    views = Reader(request.caller).memories(found, counted=False)
    return {view.memory.id: view.ancestors for view in views}


def why_url(request: ConsoleRequest, held: asking.Held, principal: str) -> str | None:
    """Where it is said why they hold it, for who may ask there."""
    if principal == request.caller.member.principal and Privilege.DELETE not in held.privileges:
        return None
    question = urlencode({"principal": principal, "privilege": held.privileges.words[0]})
    return f"{address(request, 'why', held.id)}?{question}"
