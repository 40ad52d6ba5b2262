"""What is remarkable about a record beside the words in it: what is there already, who writes, and from what."""
# ruff: noqa: RUF001 - signs that look alike are what this is about

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .base import Signal

# What is only told beside other records of the same memory.
NEAR_DUPLICATE, CONFLICT = "context.near_duplicate", "context.conflict"
COMPARED = frozenset({NEAR_DUPLICATE, CONFLICT})
# From this share of common words on two texts say the same, or nearly; below the second they have little in common.
SAME = 0.9
ALIKE = 0.6
# So many writes in an hour are a burst when they are also this many times what is usual.
BURST = 30
TIMES_USUAL = 5
# How far a source is to be trusted, by what it is: what a person said, an agent, a provider, something outside.
TRUST = {"human": 1.0, "agent": 0.6, "provider": 0.4, "outside": 0.2}

WORD = re.compile(r"\w{1,40}")
NUMBER = re.compile(r"\d{1,20}(?:[.,:/-]\d{1,20}){0,5}")
DATE = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|januar|februar|märz|mai|juni|juli|oktober|dezember|montag|dienstag|"
    r"mittwoch|donnerstag|freitag|samstag|sonntag|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|"
    r"novembre|décembre|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|enero|febrero|marzo|abril|mayo|junio|"
    r"julio|agosto|septiembre|octubre|noviembre|diciembre|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:not|no|never|none|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't|wasn't|without|neither|nicht|"
    r"kein\w{0,2}|"
    r"nie|niemals|ohne|ne|pas|jamais|sans|aucun\w?|nunca|sin|ningún|ninguna|não|nem|sem|non|mai|senza|niet|geen|"
    r"nooit|не|нет|"
    r"никогда|без|nie|nigdy|bez)\b|n't\b|不|没|無|ない|ません|않|아니",
    re.IGNORECASE,
)
NAME = re.compile(r"(?<=[\w,;:] )[A-ZÀ-ÖØ-ÞА-Я][\w'’-]{1,30}")


@dataclass(frozen=True)
class Nearby:
    """A record that is there already, and how near the provider puts it, from 0 to 1."""

    record_id: str
    text: str
    similarity: float = 0.0


@dataclass(frozen=True)
class Difference:
    """What two texts that are otherwise alike differ in: number, date, name, negation or words."""

    kind: str
    mine: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True)
class Habit:
    """How a writer has written here: versions before, versions in the last hour, and in a usual hour of writing."""

    before: int
    last_hour: int
    usual: float


def overlap(mine: str, theirs: str) -> float:
    """The share of words that two texts have in common, from 0 to 1."""
    one, other = (set(WORD.findall(text.lower())) for text in (mine, theirs))
    return len(one & other) / len(one | other) if one | other else 0.0


def differences(mine: str, theirs: str) -> tuple[Difference, ...]:
    """In what two texts differ, the kinds that change what is said first."""
    found = []
    taken: set[str] = set()
    for kind, pattern in (("number", NUMBER), ("date", DATE), ("name", NAME), ("negation", NEGATION)):
        one, other = ([said.lower() for said in pattern.findall(text)] for text in (mine, theirs))
        added, lacking = _without(one, other), _without(other, one)
        taken |= {*added, *lacking}
        if added or lacking:
            found.append(Difference(kind, added, lacking))
    one, other = (WORD.findall(text.lower()) for text in (mine, theirs))
    known = {word for said in taken for word in WORD.findall(said)}
    added, lacking = (
        tuple(word for word in words if word not in known) for words in (_without(one, other), _without(other, one))
    )
    if added or lacking:
        found.append(Difference("words", added, lacking))
    return tuple(found)


def near_duplicate(text: str, nearby: Iterable[Nearby]) -> Signal | None:
    """That records say the same already, or nearly, and nothing else; and which."""
    same = [one.record_id for one in nearby if _says(text, one.text) or (_alike(text, one) and _same(text, one))]
    if not same:
        return None
    return Signal(NEAR_DUPLICATE, 0.5, "It says what another record says already.", records=tuple(same))


def conflict(text: str, nearby: Iterable[Nearby]) -> tuple[Signal, Nearby] | None:
    """That a record says otherwise in a number, a date, a name or a negation; and which one."""
    for one in sorted(nearby, key=lambda near: -max(near.similarity, overlap(text, near.text))):
        if overlap(text, one.text) < ALIKE or _says(text, one.text):
            continue
        kinds = [found.kind for found in differences(text, one.text)]
        telling = [kind for kind in kinds if kind != "words"]
        # One word for another is a conflict of words only when nearly all the rest is the same.
        if telling and len(kinds) <= 3:
            reason = f"It differs from another record in a {' and a '.join(telling)}."
            return Signal(CONFLICT, 0.6, reason, records=(one.record_id,)), one
    return None


def unusual(habit: Habit) -> tuple[Signal, ...]:
    """That somebody writes here for the first time, or far more than usual."""
    found = []
    if habit.before == 0:
        found.append(Signal("context.new_writer", 0.3, "Its writer has not written here before."))
    if habit.last_hour >= BURST and habit.last_hour >= TIMES_USUAL * max(habit.usual, 1.0):
        found.append(Signal("context.burst", 0.5, "Its writer writes far more than usual."))
    return tuple(found)


def lowest_trust(sources: Sequence[str]) -> Signal | None:
    """What the least trusted source is, of human, agent, provider and outside; nothing when all were people."""
    known = [source for source in sources if source in TRUST]
    if not known:
        return None
    lowest = min(known, key=lambda source: TRUST[source])
    if lowest == "human":
        return None
    weight = round((1 - TRUST[lowest]) * 0.6, 2)
    spoken = {"agent": "an agent", "provider": "a provider", "outside": "something outside the memory"}[lowest]
    return Signal("context.trust", weight, f"The least trusted of its sources is {spoken}.")


def _says(mine: str, theirs: str) -> bool:
    """Whether two texts are the same words in the same order, whatever their capitals and signs."""
    return WORD.findall(mine.lower()) == WORD.findall(theirs.lower())


def _alike(text: str, one: Nearby) -> bool:
    return max(overlap(text, one.text), one.similarity) >= SAME


def _same(text: str, one: Nearby) -> bool:
    return not differences(text, one.text) or all(found.kind == "words" for found in differences(text, one.text))


def _without(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    left = list(other)
    rest = []
    for said in one:
        if said in left:
            left.remove(said)
        else:
            rest.append(said)
    return tuple(dict.fromkeys(rest))
