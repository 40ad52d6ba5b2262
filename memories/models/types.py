"""The types of record that an organisation registered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.db import models

from memories.record_types import BUILT_IN, RecordType, read_type


class TypeDefinition(models.Model):
    """One extension type: its definition as it was registered, checked by `record_types.read_type`."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    type = models.CharField(max_length=80)
    definition = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "type"], name="type_once")]

    def __str__(self) -> str:
        return self.type


def find(organisation_id: str, name: str) -> RecordType | None:
    """The extension type of this name, if the organisation has it; the core types ask for nothing, and cost nothing."""
    if not name.startswith("x."):
        return None
    if name in BUILT_IN:
        return BUILT_IN[name]
    found = TypeDefinition.objects.filter(organisation_id=organisation_id, type=name).first()
    return read(found.definition) if found else None


def read(definition: Mapping[str, Any]) -> RecordType:
    """A definition as it was registered."""
    return _read(json.dumps(definition, sort_keys=True))


@lru_cache(maxsize=256)
def _read(definition: str) -> RecordType:
    # Checking a schema costs more than most writes do.
    return read_type(json.loads(definition))
