"""A memory as it stood: at an instant that was typed in, or at one that was given a name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.providers.base import Instant
from memories.services import snapshots as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from .instants import asked
from .nodes import address
from .questions import led
from .records import frame

LISTED = 200
NAME_LENGTH = 160
MESSAGE_LENGTH = 2000


@dataclass(frozen=True)
class Moment:
    """What a page is asked about: `at` is None for now. `query` says the same again in an address."""

    at: datetime | None
    value: str
    error: str
    snapshot: Instant | None
    snapshots: tuple[Instant, ...]

    @property
    def query(self) -> dict[str, str]:
        """The part of an address that asks for this instant."""
        if self.snapshot:
            return {"snapshot": self.snapshot.id}
        return {"as_of": self.value} if self.at else {}


def moment(request: ConsoleRequest, place: Place) -> Moment:
    """The instant asked for: a snapshot, which is exact, or else `as_of`."""
    named = tuple(verbs.listed(place, LISTED))
    chosen = next((one for one in named if one.id == request.GET.get("snapshot")), None)
    if chosen:
        return Moment(chosen.at, "", "", chosen, named)
    given = asked(request, "as_of")
    return Moment(given.at, given.value, given.error, None, named)


@member_page
@require_http_methods(["GET", "POST"])
def snapshots(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The named instants of a memory, and the form that names this one."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    error, name, message = "", request.POST.get("name", ""), request.POST.get("message", "")
    if request.method == "POST":
        place.require(Privilege.WRITE)
        fields = Fields({"name": name, "message": message})
        try:
            given = fields.text("name", longest=NAME_LENGTH, required=True, one_line=True) or ""
            verbs.take(place, given, fields.text("message", longest=MESSAGE_LENGTH) or "")
        except MemoryInvalid as refusal:
            error = refusal.message
        else:
            messages.success(request, f"The snapshot {given} was taken.")
            return led(request, request.path)
    url = address(request, "memory", memory_id)
    context = {
        **frame(request, place),
        "snapshots": [
            {"name": one.name, "message": one.message, "at": one.at, "url": f"{url}?snapshot={one.id}"}
            for one in verbs.listed(place, LISTED)
        ],
        "may_take": Privilege.WRITE in place.privileges,
        "name": name,
        "message": message,
        "name_length": NAME_LENGTH,
        "message_length": MESSAGE_LENGTH,
        "error": error,
        "action_url": request.path,
        "memory_url": url,
    }
    return pages.answer(request, "memories/snapshots.html", context, status=422 if error else 200)
