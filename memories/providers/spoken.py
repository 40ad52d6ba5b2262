"""The languages that the words of an organisation are stemmed in: its own, and the one before while it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from members.ids import to_uuid

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

Languages = tuple[str, ...]
UNKNOWN: Languages = ("english",)


def by(organisation_id: str) -> Languages:
    """By an organisation."""
    return _of("o.id = %s", [to_uuid(organisation_id, "org_")])


def inside(memory_id: str) -> Languages:
    """By the organisation that a memory belongs to."""
    return _of("o.id = (SELECT organisation_id FROM memories_memory WHERE id = %s)", [to_uuid(memory_id, "hmem_")])


def where(version: int | None) -> Languages:
    """By the organisation that wrote a version, by its key."""
    return _of("o.id = (SELECT organisation_id FROM memories_version WHERE id = %s)", [version])


def _of(condition: str, parameters: Sequence[Any]) -> Languages:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT language, former_language FROM members_organisation o WHERE {condition}", parameters)
        found = cursor.fetchone()
    return tuple(str(language) for language in dict.fromkeys(found) if language) if found else UNKNOWN
