"""What every endpoint on one harness shares: sight before a body is read, and refusals in the chapter's own code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rest_framework.request import Request

from harnesses.errors import HarnessInvalid
from harnesses.services.sight import Desk, look
from memories.api.base import caller_of
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.views import Endpoint

__all__ = ["HarnessEndpoint", "caller_of", "in_own_code"]


class HarnessEndpoint(Endpoint):
    """An address inside one harness; what is not a read is for those who manage it."""

    desk: Desk

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if str(request.method).lower() not in self.http_method_names or not hasattr(self, str(request.method).lower()):
            return
        self.desk = look(caller_of(request), kwargs["harness_id"])
        if request.method not in {"GET", "HEAD"}:
            self.desk.require_manager()


@contextmanager
def in_own_code() -> Iterator[None]:
    """Refuse a field of a harness as invalid_input: memory_invalid is another chapter's."""
    try:
        yield
    except MemoryInvalid as refused:
        raise HarnessInvalid(refused.message, param=refused.param) from None
