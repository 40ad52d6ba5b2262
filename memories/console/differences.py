"""What differs between two versions of a record: words, parts, attributes and references. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

# A word with the space after it: spaces alone are everywhere and would match anything with anything.
WORDS = re.compile(r"\S+\s*|\s+")
# Comparing takes time with the square of the number of pieces; what is longer is compared in larger pieces.
MOST = 1_500
SAME, ADDED, REMOVED = "same", "added", "removed"


@dataclass(frozen=True)
class Piece:
    """Some text that both have, or only the newer (`added`), or only the older (`removed`)."""

    kind: str
    text: str


@dataclass(frozen=True)
class PartChange:
    """One part: `same`, `added`, `removed`, or `changed`, then with its words in `pieces`; `label` names it."""

    kind: str
    label: str
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class ValueChange:
    """One attribute that was added, removed or changed, its values as text."""

    kind: str
    name: str
    before: str = ""
    after: str = ""


def words(before: str, after: str) -> tuple[Piece, ...]:
    """The way from one text to another, word by word; by lines, or as a whole, when it is very long."""
    if before == after:
        return (Piece(SAME, before),) if before else ()
    for split in (WORDS.findall, _lines):
        old, new = split(before), split(after)
        start = _common(old, new)
        end = _common(old[start:][::-1], new[start:][::-1])
        middle = old[start : len(old) - end], new[start : len(new) - end]
        if max(map(len, middle)) <= MOST:
            found = [(SAME, old[:start]), *_compared(*middle), (SAME, old[len(old) - end :])]
            return _joined(found)
    return _joined([(REMOVED, [before]), (ADDED, [after])])


def parts(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> tuple[PartChange, ...]:
    """The parts of the newer version in order, with those of the older that are gone where they were."""
    keys = [[json.dumps(part, sort_keys=True, default=str) for part in some] for some in (before, after)]
    found: list[PartChange] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if kind == "equal":
            found += [_part(SAME, part) for part in after[j1:j2]]
            continue
        old, new = before[i1:i2], after[j1:j2]
        for index in range(max(len(old), len(new))):
            found += _pair(old[index] if index < len(old) else None, new[index] if index < len(new) else None)
    return tuple(found)


def attributes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[ValueChange, ...]:
    """The attributes that are not the same, by name."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            found.append(ValueChange(ADDED, name, after=readable(after[name])))
        elif name not in after:
            found.append(ValueChange(REMOVED, name, before=readable(before[name])))
        elif _canonical(before[name]) != _canonical(after[name]):
            found.append(ValueChange("changed", name, readable(before[name]), readable(after[name])))
    return tuple(found)


def readable(value: object) -> str:
    """A value of an attribute as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def label(part: Mapping[str, Any]) -> str:
    """What a part is, in a few words: a file by its name and size, a text by who said it."""
    if part.get("type") == "file":
        file = part.get("file") or {}
        name = file.get("name") or file.get("id") or ""
        return f"{name}, {file['bytes']:,} bytes" if isinstance(file.get("bytes"), int) else str(name)
    said = [str(part[name]) for name in ("role",) if part.get(name)]
    return " ".join(said or ([] if part.get("type") == "text" else [str(part.get("type", ""))]))


def _pair(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[PartChange]:
    alike = old is not None and new is not None and _kind(old) == _kind(new)
    if old is not None and new is not None and alike:
        pieces = words(str(old.get("text") or ""), str(new.get("text") or ""))
        yield PartChange("changed", label(new) if label(old) == label(new) else f"{label(old)} → {label(new)}", pieces)
        return
    if old is not None:
        yield _part(REMOVED, old)
    if new is not None:
        yield _part(ADDED, new)


def _kind(part: Mapping[str, Any]) -> tuple[object, object]:
    # Another file is another part, however alike the words are that stand for it; so is what only a program reads.
    kind = part.get("type")
    return kind, None if kind == "text" else _canonical(part.get("file", part))


def _part(kind: str, part: Mapping[str, Any]) -> PartChange:
    text = str(part.get("text") or "")
    return PartChange(kind, label(part), (Piece(kind, text),) if text else ())


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    # Compared without the space behind: a word at the end of a text is the same word.
    bare = [[piece.rstrip() for piece in some] for some in (old, new)]
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, bare[0], bare[1], autojunk=False).get_opcodes():
        if kind == "equal":
            for before, after in zip(old[i1:i2], new[j1:j2], strict=True):
                yield from _spaced(before, after)
        else:
            yield REMOVED, old[i1:i2]
            yield ADDED, new[j1:j2]


def _spaced(old: str, new: str) -> Iterator[tuple[str, Sequence[str]]]:
    if old == new:
        yield SAME, [new]
        return
    bare = new.rstrip()
    yield SAME, [bare]
    yield REMOVED, [old[len(bare) :]]
    yield ADDED, [new[len(bare) :]]


def _joined(found: Iterable[tuple[str, Sequence[str]]]) -> tuple[Piece, ...]:
    joined: list[Piece] = []
    for kind, some in found:
        text = "".join(some)
        if text and joined and joined[-1].kind == kind:
            joined[-1] = Piece(kind, joined[-1].text + text)
        elif text:
            joined.append(Piece(kind, text))
    return tuple(joined)


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)
