"""What becomes of a write: it is live, live and looked at afterwards, or held until a person agrees. Pure.

A policy has a mode and rules for particular cases; of the rules the first that fits decides, and else the mode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from .base import NOTABLE, Signal
from .context import COMPARED

MAX_RULES = 50
MAX_WORDS = 50
WRITERS = ("human", "agent", "provider")
PRINCIPAL = re.compile(r"(?:member|group|provider):\S{1,160}")
TYPE = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*")
SIGNAL = re.compile(r"[a-z]{1,20}(?:\.[a-z_]{1,30})?")
CONDITIONS = {"writer", "type", "standing", "confidence_below", "signals", "weight"}


class Mode(StrEnum):
    """What a memory asks for: nothing, that a person looks afterwards, or that one agrees first."""

    OFF = "off"
    FLAG = "flag"
    HOLD = "hold"


class Outcome(StrEnum):
    """What becomes of one write."""

    LIVE = "live"
    FLAG = "flag"
    HOLD = "hold"


@dataclass(frozen=True)
class Written:
    """What a policy looks at: who writes (human, agent or provider, and which principal), and what."""

    writer: str
    principal: str
    type: str
    standing: bool = False
    confidence: float | None = None
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A case, and what is done in it; every condition that is named has to be met."""

    then: Mode
    writer: tuple[str, ...] = ()
    type: tuple[str, ...] = ()
    standing: bool | None = None
    confidence_below: float | None = None
    signals: tuple[str, ...] = ()
    weight: float = NOTABLE

    @property
    def asks_to_compare(self) -> bool:
        """Whether it names a signal that is only told beside other records."""
        return any(name in self.signals for name in ("context", *COMPARED))

    def fits(self, written: Written) -> bool:
        """Whether this is the case."""
        if self.writer and not {written.writer, written.principal} & set(self.writer):
            return False
        if self.type and written.type not in self.type:
            return False
        if self.standing is not None and written.standing != self.standing:
            return False
        if self.confidence_below is not None and (
            written.confidence is None or written.confidence >= self.confidence_below
        ):
            return False
        return not self.signals or any(
            one.weight >= self.weight and (one.name in self.signals or one.kind in self.signals)
            for one in written.signals
        )


@dataclass(frozen=True)
class Policy:
    """What holds for one memory. `accept_after_days` is None when nothing is accepted by itself."""

    mode: Mode = Mode.FLAG
    rules: tuple[Rule, ...] = ()
    accept_after_days: int | None = None

    def compares(self, written: Written) -> bool:
        """Whether what becomes of a write hangs on what its memory says already: a rule that comes first asks that."""
        for rule in self.rules:
            if rule.fits(written):
                return False
            if rule.asks_to_compare and replace(rule, signals=()).fits(written):
                return True
        return False

    def decide(self, written: Written) -> Outcome:
        """What becomes of a write. By its mode alone, `flag` is about what agents and providers write."""
        for rule in self.rules:
            if rule.fits(written):
                return Outcome.LIVE if rule.then == Mode.OFF else Outcome(rule.then.value)
        if self.mode == Mode.HOLD:
            return Outcome.HOLD
        flagged = self.mode == Mode.FLAG and written.writer != "human"
        return Outcome.FLAG if flagged else Outcome.LIVE


def read_rules(value: Any) -> tuple[Rule, ...]:
    """Rules as JSON has them: a list of {"when": {…}, "then": "off" | "flag" | "hold"}. Raises MemoryInvalid."""
    if not isinstance(value, list) or len(value) > MAX_RULES:
        raise MemoryInvalid(f"Rules are a list of at most {MAX_RULES}.", param="rules")
    return tuple(_rule(f"rules.{index}", one) for index, one in enumerate(value))


def _rule(path: str, value: Any) -> Rule:
    if not isinstance(value, dict) or set(value) - {"when", "then"}:
        raise MemoryInvalid("A rule has when and then.", param=path)
    when = value.get("when", {})
    if not isinstance(when, dict):
        raise MemoryInvalid("What a rule is about is an object.", param=f"{path}.when")
    if unknown := set(when) - CONDITIONS:
        raise MemoryInvalid("There is no such condition.", param=f"{path}.when.{min(unknown)}")
    fields = Fields(when, f"{path}.when")
    then = Fields(value, path).choice("then", tuple(mode.value for mode in Mode), "")
    if not then:
        raise MemoryInvalid("A rule says what is done: off, flag or hold.", param=f"{path}.then")
    standing = when.get("standing")
    if standing is not None and not isinstance(standing, bool):
        raise fields.refuse("standing", "This is true or false.")
    return Rule(
        then=Mode(then),
        writer=_words(fields, "writer", lambda word: word in WRITERS or bool(PRINCIPAL.fullmatch(word))),
        type=_words(fields, "type", lambda word: bool(TYPE.fullmatch(word))),
        standing=standing,
        confidence_below=_share(fields, "confidence_below"),
        signals=_words(fields, "signals", lambda word: bool(SIGNAL.fullmatch(word))),
        weight=_share(fields, "weight") or NOTABLE,
    )


def _words(fields: Fields, name: str, fits: Any) -> tuple[str, ...]:
    value = fields.data.get(name, [])
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or len(value) > MAX_WORDS or (name in fields.data and not value):
        raise fields.refuse(name, f"This is a word, or a list of at most {MAX_WORDS}.")
    for word in value:
        if not isinstance(word, str) or not fits(word):
            raise fields.refuse(name, "There is no such word here.")
    return tuple(value)


def _share(fields: Fields, name: str) -> float | None:
    value = fields.data.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise fields.refuse(name, "This is a number from 0 to 1.")
    return float(value)


def strongest(signals: Sequence[Signal]) -> float:
    """The weight of the strongest signal; 0 without any."""
    return max((one.weight for one in signals), default=0.0)
