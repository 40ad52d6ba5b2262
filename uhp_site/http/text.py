"""What text may hold: anything Postgres and UTF-8 can keep, so neither NUL nor half a surrogate pair. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")
MAX_DEPTH = 32


def flaw(text: str) -> str | None:
    """Say in one sentence why a text cannot be kept, or None when it can."""
    found = UNKEEPABLE.search(text)
    if found is None:
        return None
    return "Text cannot hold a NUL character." if found.group() == "\0" else "Text holds half of a surrogate pair."


def json_flaw(value: object, path: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """The first place in a JSON value that cannot be kept, as (dotted path, sentence), or None."""
    if len(path) > MAX_DEPTH:
        return ".".join(path[:1]), f"Nested deeper than {MAX_DEPTH} levels."
    problem: str | None = None
    if isinstance(value, str):
        problem = flaw(value)
    elif isinstance(value, float) and not math.isfinite(value):
        problem = "The number is too large."
    if problem:
        return ".".join(path), problem
    for step, inner in _inside(value):
        if key_problem := flaw(step):
            return ".".join(path), key_problem
        if found := json_flaw(inner, (*path, step)):
            return found
    return None


def _inside(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, dict):
        return ((str(key), inner) for key, inner in value.items())
    if isinstance(value, list):
        return ((str(index), inner) for index, inner in enumerate(value))
    return ()
