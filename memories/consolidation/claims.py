"""Whether two sentences say the same, say otherwise of the same thing, or have nothing to do with each other. Pure.

Told by words alone and on purpose: sentences that differ in a number or a name are nearly the same to an embedder.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property
from operator import attrgetter

from memories.consolidation.names import names_in
from memories.consolidation.select import CHATTER
from memories.consolidation.times import NUMBERS, When, dates_in
from memories.consolidation.words import STOP, bag, stem, words

ALIKE = 0.75
"""The share of words in common, values apart, from which two sentences are about the same thing."""


class Relation(Enum):
    """How a new sentence stands to an older one."""

    SAME = "same"
    NEWER = "newer"  # it says of itself that something changed
    DIFFERS = "differs"  # a number, name, date, unit, or a not
    OTHER = "other"


_FILLERS = bag(
    "the a an really very just so also finally that please oh well yeah yes actually hey quite indeed definitely "
    "simply totally literally honestly basically thanks thank wow ok okay and but too still already as"
)
_OPENING = bag("sorry actually correction oh well hey so and but also wait hi hello yes yeah ok okay")
_NEGATIONS = bag("not no never none nothing nobody neither nor without cannot hardly isn't aren't")
_CONTRACTED = (
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"\bcannot\b"), "can not"),
    (re.compile(r"\b(it|that|he|she|there|what|who)'s\b"), r"\1 is"),
)
_MARKED = re.compile(
    r"\b(?:now|no longer|not any ?more|any ?more|actually|correction|instead|changed|switched|moved to|from now on|"
    r"these days|turns out|i meant|scratch that|has become|became|renamed|postponed|rescheduled|replaced)\b",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"\b(?:have |has )?(?:just |recently )?(?:moved|relocated) (?:here )?(?:to|from \w+ to)\b", re.IGNORECASE
)
_EVENT = re.compile(
    r"\b(?:went|met|got|made|took|saw|had|came|gave|bought|sold|ran|ate|drank|read|wrote|won|lost|found|flew|"
    r"drove|saw|swam|"
    r"told|said|began|did|caught|sent|spent|\w{2,}ed)\b",
    re.IGNORECASE,
)
_STATE = re.compile(r"\b(?:is|are|am|was|were|will|has|have|had to)\b|['\u2019](?:s|re|ve|m|ll)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\w)-?\d[\d.,:/]*|(?<!\w)\d+(?=[a-z])", re.IGNORECASE)
_LIKES = bag("like love enjoy prefer adore")
_DISLIKES = bag("hate dislike detest loathe despise")
_LIKE_STEMS, _DISLIKE_STEMS = frozenset(map(stem, _LIKES)), frozenset(map(stem, _DISLIKES))
_SEVERAL_STEMS = (
    _LIKE_STEMS | _DISLIKE_STEMS | frozenset(map(stem, bag("want wish know visit watch read play meet see")))
)
# Ordinary words that mean the opposite of each other, or a unit: swapping one is no rewording.
_TELLING = bag(
    "before after above below more less most least up down on off in out open closed always left right buy sell "
    "start stop begin end increase decrease accept reject allow forbid enable disable first last true false good "
    "bad high low early late old young full empty win lose won lost km mile kg lb lbs gram pound euro dollar usd "
    "eur gbp hour minute second day week month year am pm percent meter metre feet foot inch celsius fahrenheit "
    "mb gb tb"
)
_TELLING_STEMS = frozenset(map(stem, _TELLING))
_SLOT = re.compile(
    r"^(?P<slot>(?:my|our|the|their|his|her|[\w.'-]+'s)\s+(?:[\w'-]+\s+){0,3}?[\w'-]+)\s+(?:is|are|was|were|"
    r"will be|=|:)\s+"
    r"(?:now |actually )?(?P<value>.+)$"
)
# What one has one of at a time, whatever kind of word its value is.
_SINGLE = bag(
    "favourite favorite name colour color job title birthday address password phone number email timezone role "
    "status size language city country age height weight deadline budget price version owner manager preference "
    "nickname"
)
_MARKERS = bag("now actually longer anymore instead changed switched correction moved")
_PLACE_SLOT = re.compile(
    r"^(?P<who>\S+) (?P<slot>(?:live|lives|work|works|study|studies)) (?:in|at|for|as) (?P<value>.+)$"
)


Span = tuple[date, date]


@dataclass(frozen=True)
class Said:
    """One sentence by a known or unknown speaker, on a day, as it was said."""

    text: str
    who: str = ""
    on: date | None = None
    meant: tuple[Span, ...] | None = None
    """The days that its relative dates mean, where they were written out before; else they are read from `on`."""

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Its words in order, fillers left out, contractions written out, first person told by the speaker."""
        return tuple(word for word in self._all if word not in _FILLERS)

    @cached_property
    def _all(self) -> tuple[str, ...]:
        plain = self.text.replace("\u2019", "'").casefold()
        for pattern, replacement in _CONTRACTED:
            plain = pattern.sub(replacement, plain)
        who = "-".join(words(self.who)) or "speaker"
        # "We" is no single person: it is those of the speaker, whoever they are.
        turned = {"i": who, "me": who, "myself": who, "my": f"{who}'s", "mine": f"{who}'s", "am": "is"}
        turned |= {"we": f"{who}-and-others", "us": f"{who}-and-others", "our": f"{who}-and-others'"}
        spoken = [turned.get(word, word) for word in words(plain)]
        while len(spoken) > 1 and spoken[0] in _OPENING:
            spoken.pop(0)
        return tuple(spoken)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """The numbers in it, in digits."""
        spelled = (str(NUMBERS[word]) for word in self._all if word in NUMBERS and word not in ("a", "an", "one"))
        return tuple(sorted((*(found.strip(".,:") for found in _NUMBER.findall(self.text)), *spelled)))

    @property
    def shown(self) -> bool:
        """Whether it says what a picture or another file shows, rather than what somebody says."""
        return self.text.startswith("[")

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The signs in it that are no punctuation: of currencies, of mathematics, small pictures."""
        return tuple(sign for sign in self.text if sign in "%#@&/*" or unicodedata.category(sign)[0] == "S")

    @cached_property
    def event(self) -> bool:
        """Whether it tells of something that happened, rather than of how something is."""
        return bool(_EVENT.search(self.text)) and not _STATE.search(self.text)

    @cached_property
    def proper(self) -> tuple[str, ...]:
        """The names in it, in order."""
        return tuple(name.key for name in sorted(names_in(self.text), key=lambda name: name.position))

    @cached_property
    def days(self) -> tuple[Span, ...]:
        """The dates it names that stay the same whenever it is said."""
        return tuple((one.start, one.end) for one in self._dates if not one.moving)

    @cached_property
    def moving(self) -> tuple[Span, ...]:
        """The dates it names that depend on when it is said."""
        if self.meant is not None:
            return self.meant
        return tuple(dict.fromkeys((one.start, one.end) for one in self._dates if one.moving))

    @cached_property
    def _dates(self) -> tuple[When, ...]:
        return tuple(dates_in(self.text, self.on)) if self.on else ()

    @cached_property
    def negated(self) -> int:
        """How often it says no."""
        return sum(word in _NEGATIONS for word in self._all)

    @cached_property
    def telling(self) -> frozenset[str]:
        """The words of which another would say something else: units, and words that have an opposite."""
        return frozenset(stem(word) for word in self._all) & _TELLING_STEMS

    @cached_property
    def frame(self) -> frozenset[str]:
        """What it is about: the words that carry something, its values left out."""
        values = {part for name in self.proper for part in words(name)} | set(NUMBERS) | _NEGATIONS
        values |= {part for one in self._dates for part in words(one.words)}
        return frozenset(
            stem(word)
            for word in self._all
            if not (word in STOP or word in CHATTER or word in values or word in _MARKERS or word[0].isdigit())
            and stem(word) not in _TELLING_STEMS
        ) | (frozenset(map(stem, self._all)) & (_LIKE_STEMS | _DISLIKE_STEMS))

    @cached_property
    def slot(self) -> tuple[str, str] | None:
        """Something there is one of, such as a favourite colour, and what it is."""
        match = _SLOT.match(" ".join(self._all))
        if not match or self.moving or not _SINGLE.intersection(match["slot"].split()):
            return None
        return match["slot"], match["value"]

    @cached_property
    def place(self) -> tuple[str, str, str] | None:
        """Who lives, works or studies where."""
        match = _PLACE_SLOT.match(" ".join(self.tokens))
        if not match or not self.proper:
            return None
        return match["who"], stem(match["slot"]), match["value"].removesuffix(" now")


def relate(new: Said, old: Said) -> Relation:
    """How a new sentence stands to an older one; the same thing is never told by likeness alone."""
    if (new.tokens, new.marks, new.numbers) == (old.tokens, old.marks, old.numbers):
        return Relation.SAME if new.moving == old.moving else Relation.OTHER
    if new.shown or old.shown:
        return Relation.OTHER
    if _differ(new, old) or _valued(new.slot, old.slot) or _valued(new.place, old.place):
        return Relation.NEWER if _MARKED.search(new.text) else Relation.DIFFERS
    if _turned(new, old) or _moved(new, old):
        return Relation.NEWER
    return Relation.OTHER


def agree(new: Sequence[Said], old: Sequence[Said]) -> bool:
    """Whether texts differ in no number, name, day or unit, and neither denies what the other says."""
    if (sum(one.negated for one in new) + sum(one.negated for one in old)) % 2:
        return False
    for values in (_numbers, _proper, _days, _telling):
        mine = {value for one in new for value in values(one)}
        its = {value for one in old for value in values(one)}
        if mine - its and its - mine:
            return False
    return True


def changed(new: Sequence[Said]) -> bool:
    """Whether a text says of itself that something is not as it was."""
    return any(_MARKED.search(one.text) for one in new)


_numbers, _proper = attrgetter("numbers"), attrgetter("proper")
_days, _telling = attrgetter("days"), attrgetter("telling")


def _differ(new: Said, old: Said) -> bool:
    """About the same thing in the same words, except for a number, name, date, unit or negation."""
    common = new.frame & old.frame
    if len(common) < 2 or len(common) / len(new.frame | old.frame) < ALIKE:
        return False
    if new.moving != old.moving or (
        new.event and old.event and not (new.moving or (new.days and new.days == old.days))
    ):
        return False  # the same again on another day, or on nobody knows which, is another event
    if _otherwise(new.numbers, old.numbers) or _otherwise(new.days, old.days) or (new.negated + old.negated) % 2:
        return True
    if new.telling - old.telling and old.telling - new.telling:
        return True
    # One can like, want or know several; only what is said with more words besides can be about the same thing.
    several = common & _SEVERAL_STEMS
    return _otherwise(new.proper, old.proper) and len(common) > 2 and not several


def _otherwise(new: tuple[object, ...], old: tuple[object, ...]) -> bool:
    return bool(new and old) and new != old


def _valued(new: tuple[str, ...] | None, old: tuple[str, ...] | None) -> bool:
    """The same slot with another value."""
    return bool(new and old) and new[:-1] == old[:-1] and new[-1] != old[-1]  # type: ignore[index]


def _turned(new: Said, old: Said) -> bool:
    """What was liked is disliked, or the other way round."""
    for one, other in ((new, old), (old, new)):
        if not one.frame & _LIKE_STEMS or one.negated % 2:
            continue
        disliked = other.frame & _DISLIKE_STEMS or (other.frame & _LIKE_STEMS and other.negated % 2)
        mine, its = one.frame - _LIKE_STEMS, other.frame - _LIKE_STEMS - _DISLIKE_STEMS
        if disliked and mine and mine == its and one.proper == other.proper and one.numbers == other.numbers:
            return True
    return False


def _moved(new: Said, old: Said) -> bool:
    """Somebody moved somewhere, and lived somewhere else before."""
    if old.place is None or old.place[1] != stem("live") or new.tokens[:1] != (old.place[0],):
        return False
    return bool(new.proper) and new.proper != old.proper and _MOVED.search(new.text) is not None
