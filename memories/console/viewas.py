"""Seeing the console as a member or an agent would: read-only, within what the person looks after, and audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from members.console import the_member
from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.models import Memory
from memories.providers.base import Question, RecordVersion, View
from memories.recall.pipeline import Ask, Hit
from memories.services import records as record_verbs
from memories.services import viewing
from memories.services.sight import Place
from memories.services.viewing import Eyes
from uhp_site.http import pages, pagination
from uhp_site.http.fields import Fields

from .nodes import PAGE, Crumb, NodeView, address
from .principals import Named, writers
from .records import RecordView, excerpt, is_standing

RECORDS = 20
RESULTS = 8


@dataclass(frozen=True)
class SeenRecord:
    """A record as the member would get it: in a row, and what it says."""

    row: RecordView
    parts: Sequence[Any]
    memory_name: str = ""


@member_page
@require_GET
def tree(request: ConsoleRequest, member_id: str) -> HttpResponse:
    """The tree as the member sees it; `below` shows one level."""
    eyes = eyes_of(request, member_id)
    query = Fields(request.GET.dict())
    below = query.text("below", longest=200)
    place = viewing.look(eyes, below) if below else None
    cursor = pagination.read_cursor(query, (str, str))
    nodes, next_url = level(request, eyes, place, cursor)
    if not request.htmx:
        noted(eyes)
    context = {
        **frame(request, eyes),
        "nodes": nodes,
        "next_url": next_url,
        "parent": place.memory if place else None,
    }
    return pages.answer(request, "memories/as_tree.html", context, fragment="nodes")


@member_page
@require_GET
def memory(request: ConsoleRequest, member_id: str, memory_id: str) -> HttpResponse:
    """A memory as the member sees it, and with `q` what a recall here would find for them."""
    eyes = eyes_of(request, member_id)
    place = viewing.look(eyes, memory_id)
    query = Fields(request.GET.dict())
    words = query.text("q", longest=2_000) or ""
    reads = viewing.may_read(eyes, place.memory)
    noted(eyes, memory_id, **({"recalled": True} if words and reads else {}))
    context: dict[str, Any] = {
        **frame(request, eyes),
        "memory": place.memory,
        "privileges": place.privileges.words,
        "crumbs": [
            Crumb(one.name, address(request, "as-memory", member_id, one.id))
            for one in viewing.above(eyes, place.memory)
        ],
        "reads": reads,
        "member_reads": Privilege.READ in place.privileges,
        "words": words,
        "url": request.path,
    }
    if Privilege.READ in place.privileges:
        context["children"], context["children_next_url"] = level(request, eyes, place)
    if reads and words:
        context["results"] = results(request, eyes, place, words)
    elif reads:
        context |= records_context(request, place)
    return pages.answer(request, "memories/as_memory.html", context, fragment="records")


def eyes_of(request: ConsoleRequest, member_id: str) -> Eyes:
    """The eyes of a member of this organisation. Raises MemoryNotFound for any other id."""
    return viewing.with_eyes_of(request.caller, the_member(request, member_id))


@transaction.atomic
def noted(eyes: Eyes, memory_id: str = "", **detail: Any) -> None:
    """Put into the audit that the person looked."""
    viewing.note(eyes, memory_id, **detail)


def frame(request: ConsoleRequest, eyes: Eyes) -> dict[str, Any]:
    """What is above each of these pages: whose eyes, and the way out."""
    member = eyes.member.member
    return {
        **shell(request, "people"),
        "as_name": member.name,
        "as_kind": member.type,
        "as_active": member.is_active,
        "as_url": address(request, "as", member.id),
        "exit_url": address(request, "member", member.id),
    }


def level(
    request: ConsoleRequest, eyes: Eyes, place: Place | None, cursor: tuple[Any, ...] | None = None
) -> tuple[list[NodeView], str | None]:
    """One level of the tree as the member sees it, and where more is; nothing below what they may not read."""
    if place and Privilege.READ not in place.privileges:
        return [], None
    page = viewing.level(eyes, place.memory if place else None, PAGE, cursor)
    counts = viewing.counts(eyes, page.memories)
    above = place.privileges if place else Privilege.NONE
    nodes = [node(request, eyes, one, counts[one.id], above) for one in page.memories]
    if page.next is None:
        return nodes, None
    below = f"below={place.memory.id}&" if place else ""
    url = address(request, "as", eyes.member.member.id)
    return nodes, f"{url}?{below}cursor={pagination.make_cursor(*page.next)}"


def node(request: ConsoleRequest, eyes: Eyes, memory: Memory, counts: viewing.Counts, above: Privilege) -> NodeView:
    """One memory as a node of the tree of the member."""
    member_id, held = eyes.member.member.id, Privilege(memory.held)
    tree_url, url = address(request, "as", member_id), address(request, "as-memory", member_id, memory.id)
    return NodeView(
        id=memory.id,
        name=memory.name,
        description=memory.description,
        url=url,
        restricted=memory.restricted,
        children_count=counts.children if Privilege.READ in held else 0,
        records_count=counts.records,
        privileges=held.words,
        children_url=f"{tree_url}?below={memory.id}",
        open_url=f"{tree_url}?below={memory.id}",
        entry=above == Privilege.NONE,
        changes=held != above,
    )


def records_context(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """One page of the records of a memory."""
    after = pagination.read_time_cursor(Fields(request.GET.dict()))
    page = record_verbs.page(place, View(), RECORDS, after)
    following = pagination.make_time_cursor(page.next)
    return {
        "records": seen(request, [(one, "") for one in page.versions]),
        "next_url": f"{request.path}?{urlencode({'cursor': following})}" if following else None,
        "first_url": request.path if after else None,
    }


def results(request: ConsoleRequest, eyes: Eyes, place: Place, words: str) -> Sequence[SeenRecord]:
    """What a recall finds, best first."""
    hits: Sequence[Hit] = viewing.recall(eyes, place, Ask(Question(words, "", View(), RESULTS))).hits
    return seen(request, [(hit.version, hit.memory_name) for hit in hits])


def seen(request: ConsoleRequest, found: Sequence[tuple[RecordVersion, str]]) -> Sequence[SeenRecord]:
    """Records with what they say, in a constant number of queries."""
    names = writers(request.organisation.id, (version.writer for version, _ in found))
    return [
        SeenRecord(row(version, names[version.writer]), [dict(part) for part in version.draft.content], name)
        for version, name in found
    ]


def row(version: RecordVersion, writer: Named) -> RecordView:
    """A record in a list that leads nowhere."""
    return RecordView(
        id=version.id,
        url="",
        title=version.draft.title,
        excerpt=excerpt(version),
        type=version.draft.type,
        status=version.status,
        written_at=version.written_at,
        writer=writer,
        version=version.number,
        standing=is_standing(version),
    )
