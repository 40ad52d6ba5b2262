"""GET and PUT /v1/harnesses/{id}/memories: what an agent holds, and its two memory settings (Memories §2.17)."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from harnesses.services import attachment
from uhp_site.http.fields import MISSING

from . import document, shapes
from .base import HarnessEndpoint


class HarnessMemories(HarnessEndpoint):
    """The memories of a harness's agent."""

    @document.read_attachment
    def get(self, request: Request, harness_id: str) -> dict[str, Any]:
        """Read what the agent was granted, highest in the tree first, as far as the caller sees it."""
        return shapes.attachment(attachment.attachment(self.desk))

    @document.change_attachment
    def put(self, request: Request, harness_id: str) -> dict[str, Any]:
        """Set the default memory and whether turns are observed; access is given by grants, not here."""
        body = self.body(request)
        observe = body.flag("observe")
        default = body.identifier("default_memory_id") if body.has("default_memory_id") else MISSING
        return shapes.attachment(attachment.attachment(attachment.attach(self.desk, default, observe)))
