"""What a run changed, change by change: before and after word by word, why, and the sources it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.consolidation.records import ABOUT
from memories.models import Run, RunChange
from memories.providers.base import RecordVersion
from memories.services import accepting
from memories.services import runs as verbs
from memories.services.records import provider_of
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.errors import MemoryNotFound

from . import differences
from .nodes import address
from .principals import Named, named, writers
from .records import frame, part_context

# What an engine notes down for itself beside what it writes.
NOTES = frozenset({ABOUT})
# How many changes of a kind the page of a run shows, and how many a page of one kind does.
FIRST = 10
PAGE = 50
MOST_SOURCES = 20
Kind, Outcome = RunChange.Kind, RunChange.Outcome
KINDS: Mapping[str, tuple[str, str]] = {
    Kind.CREATED: ("New records", "created"),
    Kind.SUPERSEDED: ("Replaced by a newer version", "superseded"),
    Kind.FORGOTTEN: ("Forgotten", "forgotten"),
    Kind.SUPPORTED: ("Heard again", "supported"),
}
REASONS = {
    "stated": "It was said.",
    "corrected": "It was corrected, or something newer was said of the same thing.",
    "repeated": "The same was said again.",
    "named": "It was named for the first time.",
    "expired": "The time for which it held is over.",
    "differs": "It differs in something that matters from what was there; you decide between them.",
    "approved": "It waited, and a person let it through.",
    "member_wrote": "A member wrote what it would have replaced; you decide between them.",
}
OUTCOMES = {
    Outcome.RESTORED: "Undone: it says what it said before.",
    Outcome.FORGOTTEN: "Undone: it is forgotten.",
    Outcome.SKIPPED: "Left alone when this was undone.",
}


@dataclass(frozen=True)
class ChangeView:
    """One change as a page shows it; `undo_url` is None for what is undone, or cannot be by this person.

    `plain` is for a record of which the name says everything.
    """

    id: str
    kind: str
    url: str
    name: str
    type: str
    reason: str
    title: Sequence[differences.Piece]
    parts: Sequence[differences.PartChange]
    attributes: Sequence[differences.ValueChange]
    plain: bool
    outcome: str
    undone: bool
    sources: int
    sources_url: str
    undo_url: str | None
    accept_url: str | None = None
    accepted: bool = False
    accepted_by: Named | None = None
    accepted_at: datetime | None = None


@dataclass(frozen=True)
class Group:
    """The changes of one kind: `total` as the run counted them, `more_url` where the rest is."""

    kind: str
    title: str
    total: int
    changes: Sequence[ChangeView] = field(default_factory=tuple)
    more_url: str | None = None
    next_url: str | None = None
    first_url: str | None = None

    @property
    def erased(self) -> bool:
        """Whether some of what was changed is not there any more."""
        return not (self.more_url or self.next_url or self.first_url) and len(self.changes) < self.total


def groups(request: ConsoleRequest, place: Place, run: Run, kind: str = "", after: int = 0) -> list[Group]:
    """The first changes of each kind, or a page of those of one."""
    url = address(request, "run", place.memory.id, run.id)
    pages_of: list[tuple[str, str, int, Sequence[verbs.Changed], int | None]] = []
    for one, (title, counter) in KINDS.items():
        total: int = getattr(run, counter)
        if not total or kind not in ("", one):
            continue
        changes, following = verbs.changes(place, run, PAGE if kind else FIRST, after if kind else 0, one)
        pages_of.append((one, title, total, changes, following))
    agreed = {one.change.accepted_by for _, _, _, changes, _ in pages_of for one in changes if one.change.accepted_by}
    names = named(request.organisation.id, agreed)
    found = []
    for one, title, total, changes, following in pages_of:
        listed = f"{url}?kind={one}"
        found.append(
            Group(
                kind=one,
                title=title,
                total=total,
                changes=[view(request, place, run, change, names) for change in changes],
                more_url=listed if following and not kind else None,
                next_url=f"{listed}&after={following}" if following and kind else None,
                first_url=listed if kind and after else None,
            )
        )
    return found


def view(
    request: ConsoleRequest, place: Place, run: Run, changed: verbs.Changed, names: Mapping[str, Named]
) -> ChangeView:
    """One change with its words; no query."""
    row, shown = changed.change, changed.shown
    undone = row.outcome in (Outcome.RESTORED, Outcome.FORGOTTEN)
    undoes = not run.is_active and not undone and Privilege.DELETE in place.privileges
    undoes = undoes and (row.after is not None or row.kind == Kind.FORGOTTEN)
    accepts = not run.is_active and not undone and row.accepted_at is None and accepting.may_accept(place)
    accepts = accepts and not own(request, row, changed) and (row.after is not None or row.kind == Kind.FORGOTTEN)
    before, after = changed.before, changed.after
    if row.kind == Kind.SUPPORTED:
        before = after = shown
    revert = f"{address(request, 'run-revert', place.memory.id, run.id)}?change={row.id}"
    return ChangeView(
        id=row.id,
        kind=row.kind,
        url=f"{address(request, 'record', place.memory.id, row.record_id)}?version={shown.number}",
        name=shown.name,
        type=shown.draft.type,
        reason=REASONS.get(row.reason, ""),
        **words(before, after),
        plain=row.kind != Kind.SUPERSEDED and plainly(shown),
        outcome=OUTCOMES.get(Outcome(row.outcome), "") if row.outcome else "",
        undone=undone,
        sources=len(row.sources),
        sources_url=f"{address(request, 'run-sources', place.memory.id, run.id)}?change={row.id}",
        undo_url=revert if undoes else None,
        accept_url=address(request, "run-accept", place.memory.id, run.id) if accepts else None,
        accepted=row.accepted_at is not None and not undone,
        accepted_by=names.get(row.accepted_by),
        accepted_at=row.accepted_at,
    )


def own(request: ConsoleRequest, row: RunChange, changed: verbs.Changed) -> bool:
    """Whether it was written on behalf of the person who looks: somebody else has to decide about it."""
    on_behalf = changed.after.writer.on_behalf_of if changed.after else ""
    return row.kind != Kind.FORGOTTEN and on_behalf == request.caller.member.principal


def words(before: RecordVersion | None, after: RecordVersion | None) -> dict[str, Any]:
    """What was said before and after; without one of them, what the other says as it stands."""
    there = after or before
    assert there is not None
    old, new = (before or there).draft, (after or there).draft
    both = before is not None and after is not None
    return {
        "title": differences.words(old.title, new.title),
        "parts": differences.parts(old.content, new.content),
        "attributes": differences.attributes(attributes(before), attributes(after)) if both else (),
    }


def attributes(version: RecordVersion | None) -> dict[str, Any]:
    """The attributes of a version that are for people."""
    given = (version.draft.attributes or {}) if version else {}
    return {name: value for name, value in given.items() if name not in NOTES}


def plainly(version: RecordVersion) -> bool:
    """Whether the name of a version is all that it says."""
    return not version.draft.title and version.name == version.draft.said


@member_page
@require_GET
def sources(request: ConsoleRequest, memory_id: str, run_id: str) -> HttpResponse:
    """What a change rests on, as it was said; opened in place, or as a page."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    run = verbs.find(place, run_id)
    change = RunChange.objects.filter(run=run, pk=request.GET.get("change", "")[:80]).first()
    if change is None:
        raise MemoryNotFound()
    context = {
        **frame(request, place),
        "run_url": f"{address(request, 'run', memory_id, run.id)}",
        **told(request, place, change.sources),
    }
    return pages.answer(request, "memories/run_sources.html", context, fragment="sources")


def told(request: ConsoleRequest, place: Place, record_ids: Sequence[str]) -> dict[str, Any]:
    """Episodes as they were said, oldest first; `gone` is how many of them were erased since."""
    named = list(dict.fromkeys(record_ids))
    found = provider_of(place).histories(place.memory.id, set(named[:MOST_SOURCES]))
    heads = [found[one][-1] for one in named[:MOST_SOURCES] if found.get(one)]
    names = writers(request.organisation.id, (one.writer for one in heads))
    return {
        "sources": [
            {
                "title": one.name,
                "url": address(request, "record", place.memory.id, one.id),
                "writer": names[one.writer],
                "written_at": one.written_at,
                "status": one.status,
                "parts": [part_context(request, one, index) for index in range(len(one.draft.content))],
            }
            for one in heads
        ],
        "gone": len(named[:MOST_SOURCES]) - len(heads),
        "more": max(0, len(named) - MOST_SOURCES),
    }
