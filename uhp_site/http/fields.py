"""Typed reading of a request's fields: a wrong type or value is refused with the field's name. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from .errors import MemoryInvalid
from .text import flaw

RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)


class Missing:
    """The type of MISSING."""


MISSING: Final = Missing()
"""Tells a field that was not sent from one that was sent as null."""


class Fields:
    """The fields of a JSON object or query string; unknown ones are ignored. Every method raises MemoryInvalid."""

    def __init__(self, data: Mapping[str, Any], path: str = "") -> None:
        self.data = data
        self.path = path

    def at(self, name: str) -> str:
        """The dotted path of a field, for `param`."""
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        """Whether the field was sent at all."""
        return name in self.data

    def refuse(self, name: str, message: str) -> MemoryInvalid:
        """The error for a field, to be raised."""
        return MemoryInvalid(message, param=self.at(name))

    def text(self, name: str, *, longest: int, required: bool = False, one_line: bool = False) -> str | None:
        """A string, trimmed, of at most `longest` characters; None when absent and not required."""
        value = self.data.get(name, MISSING)
        if value is MISSING:
            if required:
                raise self.refuse(name, "This field is required.")
            return None
        if not isinstance(value, str):
            raise self.refuse(name, "This must be a string.")
        if problem := flaw(value):
            raise self.refuse(name, problem)
        value = value.strip()
        if required and not value:
            raise self.refuse(name, "This must not be blank.")
        if len(value) > longest:
            raise self.refuse(name, f"This has at most {longest} characters.")
        if one_line and len(value.splitlines()) > 1:
            raise self.refuse(name, "This is one line.")
        return value

    def flag(self, name: str) -> bool | None:
        """A boolean; None when absent."""
        value = self.data.get(name, MISSING)
        if value is MISSING:
            return None
        if not isinstance(value, bool):
            raise self.refuse(name, "This must be true or false.")
        return value

    def identifier(self, name: str) -> str | Missing | None:
        """An id as the client sent it, None for null, MISSING when absent."""
        value = self.data.get(name, MISSING)
        if value is None or isinstance(value, Missing):
            return value
        if not isinstance(value, str):
            raise self.refuse(name, "This must be an id or null.")
        if problem := flaw(value):
            raise self.refuse(name, problem)
        return value

    def integer(self, name: str, *, least: int, most: int | None = None, default: int | None = None) -> int | None:
        """A whole number of at least `least` and at most `most`; `default` when absent or null."""
        value = self.data.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(name, "This must be a whole number.")
        if value < least:
            raise self.refuse(name, f"This is at least {least}.")
        if most is not None and value > most:
            raise self.refuse(name, f"This is at most {most}.")
        return value

    def choice(self, name: str, options: Collection[str], default: str) -> str:
        """One of a few words."""
        value = self.data.get(name, default)
        if not isinstance(value, str) or value not in options:
            raise self.refuse(name, f"This is one of: {', '.join(options)}.")
        return value

    def words(self, name: str, *, longest: int = 80, most: int = 100) -> list[str]:
        """A list of strings; empty when absent or null."""
        value = self.data.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most:
            raise self.refuse(name, f"This must be a list of at most {most} strings.")
        for index, word in enumerate(value):
            if not isinstance(word, str) or len(word) > longest:
                raise self.refuse(f"{name}.{index}", f"This must be a string of at most {longest} characters.")
            if problem := flaw(word):
                raise self.refuse(f"{name}.{index}", problem)
        return list(value)

    def instant(self, name: str) -> datetime | None:
        """An RFC 3339 instant with an offset; None when absent or null."""
        value = self.data.get(name)
        if value is None:
            return None
        moment = parse_instant(value) if isinstance(value, str) else None
        if moment is None:
            raise self.refuse(name, "This must be an RFC 3339 time with an offset, such as 2026-03-01T09:30:00Z.")
        return moment


def parse_instant(text: str) -> datetime | None:
    """The instant an RFC 3339 string names, in UTC, or None; a time without an offset names none."""
    if not RFC_3339.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
