"""How an instruction to an assistant is worded in other languages than English: patterns by language, kept as data."""
# ruff: noqa: RUF001 - signs that look alike are what this is about

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "tongues.toml"
# Up to six words between two others; up to fourteen signs where words are not parted.
WORDS = r"(?:[ ,]{1,2}[\w'’]{1,20}){0,6}?[ ,]{1,2}"
SIGNS = r"[^。！？\n]{0,14}?"


@dataclass(frozen=True)
class Tongue:
    """The patterns of one language, each with words of which one has to be there."""

    code: str
    override: str
    override_hints: tuple[str, ...]
    orders: str
    order_hints: tuple[str, ...]


def read() -> Iterator[Tongue]:
    """The languages in the order of the file."""
    for entry in tomllib.loads(DATA.read_text(encoding="utf-8"))["tongue"]:
        yield Tongue(
            code=entry["code"],
            override=_override(entry),
            override_hints=tuple(entry["override_hints"]),
            orders=_begins(entry["code"]) + _either(entry["orders"]),
            order_hints=tuple(entry["order_hints"]),
        )


def _override(entry: dict[str, Any]) -> str:
    if "override" in entry:
        return _either(entry["override"])
    return rf"\b{_either(entry['verbs'])}{WORDS}{_either(entry['nouns'])}\b"


def _either(alternatives: list[str]) -> str:
    joined = "|".join(alternatives)
    return f"(?:{joined})".replace("<words>", WORDS).replace("<signs>", SIGNS)


def _begins(code: str) -> str:
    # Where words are parted by spaces, a phrase begins with one.
    return "" if code in ("zh", "ja", "ko", "ar", "hi") else r"\b"


TONGUES = tuple(read())
