"""Looking at a text: everything that a person who reviews it should know beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import encoded, hidden, instructions, personal, secrets, structure
from .base import NOTABLE, Signal, Span, lower, merged

# How deep an encoding inside an encoding is followed, and how many values of attributes are looked at.
LAYERS = 2
MOST_VALUES = 1_000
DISGUISED = "It has an instruction to an assistant in an encoding, or written so that a person does not see it."


def look_at(text: str, attributes: Mapping[str, Any] | None = None) -> tuple[Signal, ...]:
    """The signals of a text and of the strings among its attributes, strongest first."""
    found = list(_look(text, LAYERS))
    for where, name, value in _strings(attributes or {}):
        # Beside its name: `password` says what the value is.
        said = f"{name} = {value}"
        found.extend(_moved(signal, where, len(said) - len(value)) for signal in _look(said, LAYERS))
    return merged(found)


def _look(text: str, layers: int) -> Iterator[Signal]:
    plain, cut = hidden.plain(text)
    lowered = lower(plain)
    readable: list[Signal] = []
    readable.extend(instructions.look(plain, lowered))
    readable.extend(structure.look(plain, lowered))
    readable.extend(secrets.look(plain, lowered))
    readable.extend(personal.look(plain))
    if cut:
        readable = [_put_back(signal, cut) for signal in readable]
    yield from readable
    yield from hidden.look(text)
    for match in hidden.comments(text):
        span = (Span(match.start(), match.end()),)
        orders = _orders(match[0])
        yield Signal("hidden.comment", 0.8 if orders else 0.3, hidden.COMMENT, span)
    for one in (*encoded.look(plain), *_spelled(text)) if layers else ():
        span = (Span(hidden.place(one.span.start, cut), hidden.place(one.span.end, cut)),)
        yield Signal(one.name, 0.7, encoded.REASON, span)
        if any(inner.kind == "instruction" and inner.weight >= NOTABLE for inner in _look(one.text, layers - 1)):
            yield Signal("instruction.disguised", 0.9, DISGUISED, span)


def _orders(text: str) -> bool:
    bare = text.removeprefix("<!--").removesuffix("-->").strip()
    return any(one.weight >= NOTABLE for one in instructions.look(bare, lower(bare)))


def _spelled(text: str) -> Iterator[encoded.Decoded]:
    # What invisible tag characters spell.
    tags = (
        [(at, sign) for at, sign in enumerate(text) if "\U000e0020" <= sign <= "\U000e007e"]
        if not text.isascii()
        else []
    )
    if len(tags) > 7:
        said = "".join(chr(ord(sign) - 0xE0000) for _, sign in tags)
        if encoded.worded(said):
            yield encoded.Decoded("encoded.tags", Span(tags[0][0], tags[-1][0] + 1), said)


def _put_back(signal: Signal, cut: list[int]) -> Signal:
    spans = tuple(Span(hidden.place(one.start, cut), hidden.place(one.end, cut)) for one in signal.spans)
    return Signal(signal.name, signal.weight, signal.reason, spans)


def _moved(signal: Signal, where: str, by: int) -> Signal:
    spans = tuple(Span(max(0, one.start - by), max(0, one.end - by), where) for one in signal.spans)
    return Signal(signal.name, signal.weight, signal.reason, spans)


def _strings(attributes: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    # Path, name and value of every string; numbers can be of cards and telephones, too.
    waiting: list[tuple[str, str, Any]] = [(f"attributes.{key}", key, value) for key, value in attributes.items()]
    seen = 0
    while waiting and seen < MOST_VALUES:
        where, name, value = waiting.pop()
        seen += 1
        if isinstance(value, str):
            yield where, name, value
        elif isinstance(value, int) and not isinstance(value, bool) and value > 9_999_999:
            yield where, name, str(value)
        elif isinstance(value, Mapping):
            waiting.extend((f"{where}.{key}", str(key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            waiting.extend((f"{where}.{at}", name, inner) for at, inner in enumerate(value))
