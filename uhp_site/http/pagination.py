"""The one pagination: `limit` and an opaque `cursor` in, `next` out, always by key (contract A-06)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from .errors import MemoryInvalid
from .fields import Fields, parse_instant
from .text import flaw

T = TypeVar("T")

DEFAULT = 50
MOST = 200


@dataclass(frozen=True)
class Paging:
    """How many are asked for, and the key of the last one the client has."""

    limit: int
    after: tuple[Any, ...] | None


def read(query: Fields, *shape: type, default: int = DEFAULT) -> Paging:
    """Read `limit` and `cursor`; `shape` is the types of the key. Raises MemoryInvalid below 1 or for a bad cursor."""
    return Paging(read_limit(query, default), read_cursor(query, shape))


def read_limit(query: Fields, default: int) -> int:
    """The page size: refused below 1, cut at MOST."""
    value = query.data.get("limit")
    if value is None:
        return default
    if not str(value).isascii() or not str(value).lstrip("-").isdigit():
        raise query.refuse("limit", "This must be a whole number.")
    if str(value).startswith("-") or not str(value).strip("0"):
        raise query.refuse("limit", "This is at least 1.")
    return MOST if len(str(value)) > 6 else min(int(value), MOST)


def read_cursor(query: Fields, shape: Sequence[type]) -> tuple[Any, ...] | None:
    """The key inside a cursor that this server made."""
    cursor = query.data.get("cursor")
    if cursor is None:
        return None
    try:
        padded = str(cursor).encode("ascii") + b"=" * (-len(str(cursor)) % 4)
        key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        raise _bad_cursor() from None
    if not isinstance(key, list) or len(key) != len(shape):
        raise _bad_cursor()
    if any(type(part) is not kind for part, kind in zip(key, shape, strict=True)):
        raise _bad_cursor()
    if any(flaw(part) for part in key if isinstance(part, str)):
        raise _bad_cursor()
    if any(abs(part) > 2**31 for part in key if isinstance(part, int)):
        raise _bad_cursor()
    return tuple(key)


def read_time_cursor(query: Fields) -> tuple[datetime, str] | None:
    """The instant and the id inside a cursor of a list that is ordered by time."""
    key = read_cursor(query, (str, str))
    if key is None:
        return None
    moment = parse_instant(key[0])
    if moment is None:
        raise _bad_cursor()
    return moment, key[1]


def make_time_cursor(key: tuple[datetime, str] | None) -> str | None:
    """An opaque cursor for a list that is ordered by time; None at the end."""
    return make_cursor(key[0].isoformat(), key[1]) if key else None


def make_cursor(*key: Any) -> str:
    """An opaque cursor for the key of the last row of a page."""
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def cut(rows: Sequence[T], limit: int, key: Callable[[T], tuple[Any, ...]]) -> tuple[Sequence[T], str | None]:
    """Cut `limit + 1` rows to a page, with the cursor of the next one; None at the end."""
    page = rows[:limit]
    return page, make_cursor(*key(page[-1])) if len(rows) > limit else None


def _bad_cursor() -> MemoryInvalid:
    return MemoryInvalid("The cursor is not one that this server gave.", param="cursor")
