"""Where a person begins: what needs them, what happened, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from members import webhooks
from members.models import Member
from members.shell import ConsoleRequest, member_page, shell
from memories.models import Job
from memories.services import background, finding, ownership, reviewing
from uhp_site.http import pages

from .nodes import address, level
from .principals import Named, writers
from .records import excerpt

WAITING = 5
WRITTEN = 8
# How many of the records written last are looked at for those that no person wrote.
LOOKED_AT = 60
ENTRIES = 12
MOST_FAILED = 100
MOST_ORPHANS = 100


@dataclass(frozen=True)
class Need:
    """Something that waits for the person: how much of it, since when, and where to go."""

    label: str
    count: int
    url: str
    icon: str
    more: bool = False
    since: datetime | None = None


@dataclass(frozen=True)
class Written:
    """A record that an agent or a provider wrote lately."""

    title: str
    excerpt: str
    url: str
    memory: str
    memory_url: str
    writer: Named
    at: datetime


@member_page
@require_GET
def overview(request: ConsoleRequest) -> HttpResponse:
    """What needs me, what happened, where I am."""
    nodes, more_url = level(request, None)
    context = {
        **shell(request, "home"),
        "needs": needs(request),
        "written": written(request),
        "nodes": nodes[:ENTRIES],
        "entries_more": bool(more_url) or len(nodes) > ENTRIES,
        "create_url": address(request, "memory-new"),
    }
    return pages.answer(request, "memories/home.html", context)


def needs(request: ConsoleRequest) -> Sequence[Need]:
    """What waits for the person, most urgent first; nothing that does not."""
    caller, found = request.caller, list[Need]()
    waiting, oldest = reviewing.waiting(caller)
    if waiting:
        found.append(Need("to review", waiting, address(request, "inbox"), "eye", since=oldest))
    failed = background.listed(caller, MOST_FAILED + 1, states=[Job.State.FAILED])
    if failed:
        count = min(len(failed), MOST_FAILED)
        url = f"{address(request, 'jobs')}?state=failed"
        found.append(Need("failed in the background", count, url, "error", len(failed) > count))
    if caller.member.is_owner:
        orphans = ownership.nobody_left(caller, MOST_ORPHANS)
        count = len(orphans.memories)
        if count:
            more = orphans.next is not None
            found.append(Need("without anybody to look after", count, address(request, "ownerless"), "memory", more))
    ours, own = webhooks.given_up(caller)
    if ours:
        found.append(Need("of the organisation's webhooks paused", ours, address(request, "webhooks"), "link"))
    if own:
        found.append(Need("of your webhooks paused", own, address(request, "webhooks-own"), "link"))
    return found


def written(request: ConsoleRequest) -> Sequence[Written]:
    """The last records that agents and providers wrote where the person reads, newest first."""
    lately = [one for one in finding.newest(request.caller, LOOKED_AT) if one.version.writer.type != Member.Type.HUMAN][
        :WRITTEN
    ]
    names = writers(request.organisation.id, (one.version.writer for one in lately))
    return [
        Written(
            title=one.version.name,
            excerpt=excerpt(one.version) if one.version.draft.title else "",
            url=address(request, "record", one.version.memory_id, one.version.id),
            memory=one.memory_name,
            memory_url=address(request, "memory", one.version.memory_id),
            writer=names[one.version.writer],
            at=one.version.written_at,
        )
        for one in lately
    ]
