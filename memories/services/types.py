"""The verbs on types: register, look up, list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from members import events
from members.events import Actor
from memories.content import CORE_TYPES
from memories.models import TypeDefinition
from memories.models.types import find, read
from memories.record_types import BUILT_IN, RecordType, read_type
from uhp_site.http.errors import MemoryInvalid

__all__ = ["find", "listed", "register"]

ANY_OBJECT = {"type": "object"}
MAX_TYPES = 500


def listed(organisation_id: str) -> list[RecordType]:
    """The core types, those that come with the server, and the organisation's own by name."""
    core = [RecordType(name, description, ANY_OBJECT, core=True) for name, description in CORE_TYPES.items()]
    own = TypeDefinition.objects.filter(organisation_id=organisation_id).order_by("type")
    return [*core, *BUILT_IN.values(), *(read(one.definition) for one in own)]


@transaction.atomic
def register(
    organisation_id: str, definition: Mapping[str, Any], actor: Actor = events.SYSTEM
) -> tuple[RecordType, bool]:
    """Register a type, or replace its definition; also whether it is new. Records that are there stay as they are.

    Raises MemoryInvalid for a definition that is not one, or that has the name of a type that comes with the server.
    """
    given = read_type(definition)
    if given.type in BUILT_IN:
        raise MemoryInvalid(f"{given.type} comes with the server and stays as it is.", param="type")
    _, created = TypeDefinition.objects.update_or_create(
        organisation_id=organisation_id, type=given.type, defaults={"definition": dict(definition)}
    )
    if TypeDefinition.objects.filter(organisation_id=organisation_id).count() > MAX_TYPES:
        raise MemoryInvalid(f"An organisation registers at most {MAX_TYPES} types.")
    events.record(organisation_id, actor, "type.registered" if created else "type.changed", subject=given.type)
    return given, created
