"""Looking through a run: accept one of its changes, or all that are left; and say when runs ask for that."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.services import accepting, run_asking
from memories.services.sight import look
from uhp_site.http.errors import MemoryBusy, MemoryForbidden, MemoryInvalid, VersionConflict

from .nodes import address
from .questions import counted, led

MODES = [
    (run_asking.Mode.NOTABLE.value, "Those of which writes wait, that replaced much, or wrote something grave"),
    (run_asking.Mode.ALWAYS.value, "Every run that changed something"),
    (run_asking.Mode.OFF.value, "None"),
]


class AsksForm(forms.Form):
    """Which runs of a memory ask for a person."""

    mode = forms.ChoiceField(label="Which runs", choices=MODES)
    records = forms.IntegerField(
        label="Much is",
        min_value=1,
        max_value=run_asking.MOST_RECORDS,
        help_text="So many records replaced or forgotten by one run.",
    )


@member_page
@require_POST
def accept(request: ConsoleRequest, memory_id: str, run_id: str) -> HttpResponse:
    """Accept the changes named, or with `rest` all that nobody has looked at."""
    place = look(request.caller, memory_id)
    chosen = [one[:80] for one in request.POST.getlist("change")]
    if not chosen and request.POST.get("rest") != "yes":
        raise MemoryInvalid("Name a change.", param="change")
    if not accepting.may_accept(place):
        raise MemoryForbidden()
    try:
        done = accepting.accept(place, run_id, chosen or None)
    except (MemoryBusy, MemoryForbidden, VersionConflict) as refusal:
        messages.error(request, refusal.message or "You cannot decide about this.")
    else:
        own = counted(done.own, "change", "changes")
        left = f" {own} written on your behalf waits for somebody else." if done.own else ""
        said = f"{counted(done.accepted, 'change was', 'changes were')} accepted.{left}"
        messages.success(request, said if done.accepted or done.own else "There was nothing left to accept.")
    kind = request.POST.get("kind", "")[:20]
    return led(request, address(request, "run", memory_id, run_id) + (f"?kind={kind}" if kind else ""))


@member_page
@require_POST
def asks(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Set which runs of a memory ask for a person."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    form = AsksForm(request.POST)
    if form.is_valid():
        run_asking.set_rule(place, form.cleaned_data["mode"], form.cleaned_data["records"])
        messages.success(request, "Saved. It holds from the next run on.")
    else:
        messages.error(request, "Nothing was changed: say which runs ask, and how many records are much.")
    return redirect("console:schedule", request.organisation.slug, memory_id)
