"""Endpoints on holds, which are our own beside the protocol: what must not be removed until somebody says otherwise."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from memories.access import Privilege
from memories.services import holds
from memories.services.sight import Place, look
from uhp_site.http import pagination
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.views import Endpoint

from . import document, shapes
from .base import caller_of

REASON_LENGTH = 500
ID_LENGTH = 200


class Holds(Endpoint):
    """The holds that sit on one memory, which the query or the body names."""

    place: Place

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method not in {"GET", "HEAD", "POST"}:
            return
        field, sent = ("memory_id", self.body(request)) if request.method == "POST" else ("memory", self.query(request))
        memory_id = sent.data.get(field)
        if not isinstance(memory_id, str):
            raise MemoryInvalid("Name the memory.", param=field)
        self.place = look(caller_of(request), memory_id)
        self.place.require(Privilege.DELETE)

    @document.list_holds
    def get(self, request: Request) -> dict[str, Any]:
        """List holds, newest first; `include=all` adds those that were lifted."""
        query = self.query(request)
        limit = pagination.read_limit(query, pagination.DEFAULT)
        lifted = query.choice("include", ("standing", "all"), "standing") == "all"
        found = holds.listed(self.place, limit + 1, lifted=lifted, before=pagination.read_time_cursor(query))
        page, following = pagination.cut(found, limit, lambda one: (one.placed_at.isoformat(), one.id))
        return shapes.listed(map(shapes.hold, page), following)

    @document.place_hold
    def post(self, request: Request) -> dict[str, Any]:
        """Put a memory with everything below it, or one record, on hold."""
        body = self.body(request)
        reason = body.text("reason", longest=REASON_LENGTH, required=True) or ""
        record_id = body.data.get("record_id")
        if record_id is not None:
            record_id = body.text("record_id", longest=ID_LENGTH)
        return shapes.hold(holds.place_hold(self.place, reason, record_id))


class HoldDetail(Endpoint):
    """One hold."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method == "DELETE":
            place, _ = holds.find(caller_of(request), kwargs["hold_id"])
            place.require(Privilege.DELETE)

    @document.lift_hold
    def delete(self, request: Request, hold_id: str) -> dict[str, Any]:
        """Lift a hold; it stays as evidence that there was one."""
        return {**shapes.hold(holds.lift(caller_of(request), hold_id)), "deleted": True}
