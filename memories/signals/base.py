"""What a signal is: a name, how strong it is, where it was found and why it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# From this weight on a signal counts by itself; below, it is a hint that is only shown beside others.
NOTABLE = 0.5
# More places than this of one kind say nothing new.
MOST_SPANS = 20
# How much before and after a word that it has to have a pattern is tried on, in characters.
BEFORE = 120
AFTER = 280
# How much before a match is looked at to see whether it begins there.
LEAD = 24


@dataclass(frozen=True, order=True)
class Span:
    """Where something was found, in characters; `where` is empty for the text, else the path of an attribute."""

    start: int
    end: int
    where: str = ""


@dataclass(frozen=True)
class Signal:
    """One reason to look twice. `weight` is from 0 to 1; the reason is a sentence and quotes nothing of the text.

    `records` are the ids of other records that it is about, too.
    """

    name: str
    weight: float
    reason: str
    spans: tuple[Span, ...] = ()
    records: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The part of the name before the dot: instruction, hidden, encoded, secret, personal or context."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Rule:
    """A pattern that speaks for itself. It is only tried around the `hints`, of which every match has one."""

    name: str
    weight: float
    reason: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()
    begins: re.Pattern[str] | None = None

    def find(self, lowered: str) -> Iterator[re.Match[str]]:
        """The matches in a text in lower case, each after what `begins` asks for when it does."""
        for start, end in windows(lowered, self.hints):
            for match in self.pattern.finditer(lowered, start, end):
                at = match.start()
                if self.begins is None or self.begins.search(lowered, max(0, at - LEAD), at):
                    yield match


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern for text in lower case; without a flag that ignores case the engine can skip ahead."""
    lowered = re.sub(r"\\.|[A-ZÀ-ÞΑ-ΩА-Я]", lambda one: one[0] if one[0][0] == "\\" else one[0].lower(), source)
    return re.compile(lowered, flags)


def windows(lowered: str, hints: Iterable[str], before: int = BEFORE, after: int = AFTER) -> Iterator[tuple[int, int]]:
    """The parts of a text around words that are looked for; looking for a word costs far less than for a pattern."""
    begun = ended = -1
    for at in sorted(found for hint in hints for found in _places(lowered, hint)):
        if at - before > ended:
            if ended >= 0:
                yield begun, ended
            begun = max(0, at - before)
        ended = at + after
    if ended >= 0:
        yield begun, ended


def _places(lowered: str, hint: str) -> Iterator[int]:
    at = lowered.find(hint)
    while at >= 0:
        yield at
        at = lowered.find(hint, at + len(hint))


def lower(text: str) -> str:
    """The text in lower case, sign by sign: some capitals would become two signs."""
    lowered = text.lower()
    return (
        lowered if len(lowered) == len(text) else "".join(one if len(one.lower()) > 1 else one.lower() for one in text)
    )


def merged(found: Iterable[Signal]) -> tuple[Signal, ...]:
    """One signal per name, with the highest weight and all its places; strongest first."""
    by_name: dict[str, list[Signal]] = {}
    for signal in found:
        by_name.setdefault(signal.name, []).append(signal)
    together = [_joined(signals) for signals in by_name.values()]
    return tuple(sorted(together, key=lambda one: (-one.weight, one.name)))


def _joined(signals: Sequence[Signal]) -> Signal:
    strongest = max(signals, key=lambda one: one.weight)
    spans = sorted({span for signal in signals for span in signal.spans})[:MOST_SPANS]
    return Signal(strongest.name, strongest.weight, strongest.reason, tuple(spans))


def notable(signals: Iterable[Signal], kind: str = "") -> tuple[Signal, ...]:
    """Those that count by themselves, of one kind or of all."""
    return tuple(one for one in signals if one.weight >= NOTABLE and kind in ("", one.kind))
