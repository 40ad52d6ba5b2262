"""What every memory endpoint shares: sight, then privilege, before a body is read (Memories §4.5)."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request

from members.callers import Caller
from memories.access import Privilege
from memories.models import Memory
from memories.reader import Reader
from memories.services.sight import Place, look
from uhp_site.http.errors import MemoryNotFound
from uhp_site.http.views import Endpoint

Needs = dict[str, tuple[Privilege, ...]]


class MemoryEndpoint(Endpoint):
    """An address inside one memory. `needs` names, by method, the privilege: any one of those listed."""

    needs: ClassVar[Needs]
    removes_memory: ClassVar[bool] = False
    place: Place
    reader: Reader

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in self.needs:
            return
        caller = caller_of(request)
        self.reader = Reader(caller)
        try:
            self.place = look(caller, kwargs["memory_id"])
        except MemoryNotFound as unseen:
            # A memory that is deleted cannot be looked at any more; who deleted it may have missed the answer.
            if not self.removes_memory or method != "DELETE" or Memory.objects.filter(pk=kwargs["memory_id"]).exists():
                raise
            self.gone = unseen
            return
        self.place.require(*self.needs[method])


def caller_of(request: Request) -> Caller:
    """The caller that authentication found."""
    caller = request.user
    assert isinstance(caller, Caller)
    return caller
