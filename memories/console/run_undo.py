"""Taking a run back, or some of its changes: what that does and leaves alone, asked first, and then done."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.contrib import messages
from django.db.models import Max
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.models import Run, RunChange
from memories.services import reverting, undoing_many
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.errors import MemoryBusy

from .nodes import address
from .questions import CHANGED, counted, led
from .records import frame

LISTED = 50
SKIPS = {
    "erased": "it was erased since",
    "changed_later_in_the_run": "a later change of this run is about it as well; undo that one, too",
    "forgotten": "it is forgotten already, and will not be written again",
    "changed_since": "somebody changed it since",
}


@dataclass
class Fates:
    """What becomes of some records: how many, and the first of them by title."""

    total: int = 0
    records: list[dict[str, str]] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many are not listed."""
        return self.total - len(self.records)


@dataclass
class Plan:
    """What taking back would do and leave alone; `fingerprint` stands for all of it, so that nothing else is done.

    Of what is too `large` for one request only the number of changes is told: it is looked at while it is undone.
    """

    forgetting: Fates = field(default_factory=Fates)
    restoring: Fates = field(default_factory=Fates)
    leaving: Fates = field(default_factory=Fates)
    fingerprint: str = ""
    large: int = 0

    def fates(self, step: reverting.Step) -> Fates:
        """Where a step belongs."""
        if step.skip:
            return self.leaving
        return self.forgetting if step.outcome == RunChange.Outcome.FORGOTTEN else self.restoring

    def said(self) -> str:
        """One sentence on what was done, once it is."""
        parts = [
            f"{counted(one.total, 'record was', 'records were')} {what}"
            for one, what in (
                (self.forgetting, "forgotten"),
                (self.restoring, "brought back"),
                (self.leaving, "left alone"),
            )
            if one.total
        ]
        return f"{', '.join(parts)}." if parts else "There was nothing left to undo."


@member_page
@require_http_methods(["GET", "POST"])
def revert(request: ConsoleRequest, memory_id: str, run_id: str) -> HttpResponse:
    """Take back a run, or the changes named, once the person saw what that does and what it leaves alone."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    place.require(Privilege.READ)
    data = request.POST if request.method == "POST" else request.GET
    chosen = [one[:80] for one in data.getlist("change")] or None
    url, error, rest = address(request, "run", memory_id, run_id), "", data.get("rest") == "yes"
    try:
        plan = planned(request, place, run_id, chosen, rest=rest)
        if request.method == "POST":
            if data.get("expected") == plan.fingerprint:
                begun = undoing_many.begin(place, run_id, chosen, rest=rest, later=True)
                messages.success(request, plan.said() if isinstance(begun, Run) else "It is being undone.")
                return led(request, url)
            error = CHANGED
    except MemoryBusy as refusal:
        messages.error(request, refusal.message)
        return led(request, url)
    context = {
        **frame(request, place),
        "plan": plan,
        "run_url": url,
        "changes": chosen or [],
        "rest": rest,
        "kept": kept(place.memory.id, run_id) if rest else 0,
        "error": error,
        "action_url": request.path,
        "cancel_url": url,
    }
    return pages.answer(request, "memories/run_revert.html", context, fragment="confirm", status=422 if error else 200)


def planned(
    request: ConsoleRequest, place: Place, run_id: str, chosen: Collection[str] | None, *, rest: bool = False
) -> Plan:
    """What taking back would do, as titles; however much it is, only the first are kept."""
    steps = reverting.steps(place, run_id, chosen, rest=rest)
    run = Run.objects.get(pk=run_id)
    meant = reverting.changes_in(run, reverting.extent_of(run, chosen, rest=rest))
    total = meant.count()
    if total > undoing_many.AT_ONCE:
        last = meant.aggregate(at=Max("outcome_at"), accepted=Max("accepted_at"))
        said = repr((run.id, total, rest, run.reverted_at, *last.values()))
        return Plan(large=total, fingerprint=hashlib.sha256(said.encode()).hexdigest()[:32])
    return told(request, place.memory.id, steps)


def kept(memory_id: str, run_id: str) -> int:
    """How many changes somebody accepted, so that undoing the rest leaves them out."""
    accepted = RunChange.objects.filter(run=run_id, memory_id=memory_id, accepted_at__isnull=False)
    return accepted.exclude(outcome__in=[RunChange.Outcome.RESTORED, RunChange.Outcome.FORGOTTEN]).count()


def told(request: ConsoleRequest, memory_id: str, steps: Iterable[reverting.Step]) -> Plan:
    """What the steps would do."""
    plan, shown = Plan(), b""
    for step in steps:
        head = step.head
        said = repr((step.record_id, step.outcome.value, head.number if head else 0, step.skip))
        shown = hashlib.sha256(shown + said.encode()).digest()
        fates = plan.fates(step)
        fates.total += 1
        if len(fates.records) < LISTED:
            fates.records.append(
                {
                    "title": head.name if head else "A record that is gone",
                    "url": address(request, "record", memory_id, step.record_id) if head else "",
                    "why": SKIPS.get(step.skip, ""),
                }
            )
    plan.fingerprint = shown.hex()[:32]
    return plan
