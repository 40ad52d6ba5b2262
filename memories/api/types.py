"""Endpoints on types: which there are, and using what they offer."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request

from memories.access import Privilege
from memories.record_types import RecordType
from memories.services import operations, types
from uhp_site.http.views import Endpoint

from . import document, shapes
from .base import MemoryEndpoint, Needs, caller_of


class Types(Endpoint):
    """The types of record."""

    @document.list_types
    def get(self, request: Request) -> dict[str, Any]:
        """List the core types and the organisation's; types that are not listed are kept and returned unchanged."""
        return shapes.listed(map(shown, types.listed(caller_of(request).organisation_id)))


class RecordOperation(MemoryEndpoint):
    """One operation on one record."""

    # To see the record; what else it takes, the operation says.
    needs: ClassVar[Needs] = {"POST": (Privilege.READ,)}

    @document.operate
    def post(self, request: Request, memory_id: str, record_id: str, name: str) -> dict[str, Any]:
        """Use an operation of the record's type; the body is its input."""
        outcome = operations.operate(self.place, record_id, name, self.body(request).data)
        result = outcome.value
        if outcome.version is not None:
            result = shapes.record(outcome.version, self.reader.resolve(outcome.version))
        return {"object": "memory.operation", "name": name, "result": result}


def shown(one: RecordType) -> dict[str, Any]:
    """A Type (Memories §2.15)."""
    return {
        "type": one.type,
        "core": one.core,
        "description": one.description,
        "schema": dict(one.schema),
        "text": ", ".join(one.text),
        "operations": [
            {
                "name": operation.name,
                "requires": operation.requires.words[0],
                "description": operation.description,
                "input": dict(operation.input),
            }
            for operation in one.operations
        ],
    }
