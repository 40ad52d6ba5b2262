"""Finding memories by name and description, from the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from members.shell import ConsoleRequest, member_page, shell
from memories.models import Memory
from memories.reader import MemoryView, Reader
from memories.services import finding
from uhp_site.http import pages, pagination
from uhp_site.http.fields import Fields

from .nodes import address

PAGE = 30


@dataclass(frozen=True)
class FoundView:
    """A memory that was found. `path` names those above it that may be seen; `hidden` says there are more."""

    name: str
    description: str
    url: str
    restricted: bool
    privileges: Sequence[str]
    path: Sequence[str]
    hidden: bool


@member_page
@require_GET
def find(request: ConsoleRequest) -> HttpResponse:
    """The memories in whose name or description the words occur."""
    query = Fields(request.GET.dict())
    words = query.text("q", longest=200) or ""
    after = pagination.read_cursor(query, (bool, str, str))
    found = finding.find(request.caller, words, PAGE, after) if words else finding.Found((), None)
    url = address(request, "find")
    following = pagination.make_cursor(*found.next) if found.next else None
    views = Reader(request.caller).memories(found.memories, counted=False)
    context = {
        **shell(request, "memories"),
        "words": words,
        "found": found_views(request, views),
        "find_url": url,
        "next_url": f"{url}?{urlencode({'q': words, 'cursor': following})}" if following else None,
        "first_url": f"{url}?{urlencode({'q': words})}" if after else None,
    }
    return pages.answer(request, "memories/find.html", context, fragment="found")


def found_views(request: ConsoleRequest, views: Sequence[MemoryView], url: str = "") -> Sequence[FoundView]:
    """Memories with what is above them, in one query more; `url` leads elsewhere with each of them as `to`."""
    above = Memory.objects.in_bulk({one for view in views for one in view.ancestors})
    found = []
    for view in views:
        memory = view.memory
        highest = above[view.ancestors[0]] if view.ancestors else memory
        found.append(
            FoundView(
                name=memory.name,
                description=memory.description,
                url=f"{url}?to={memory.id}" if url else address(request, "memory", memory.id),
                restricted=memory.restricted,
                privileges=view.privileges.words,
                path=[above[one].name for one in view.ancestors],
                hidden=highest.parent_id is not None,
            )
        )
    return found
