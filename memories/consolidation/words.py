"""Sentences and words of plain text, and which words carry something. English; other languages are split alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

WORD = re.compile(r"[^\W_]+(?:['\u2019.&-][^\W_]+)*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|no|inc|ltd|co|corp|dept|approx|e\.g|i\.e|etc|a\.m|p\.m|"
    r"[a-z](?:\.[a-z])*)\.)$",
    re.IGNORECASE,
)
_END = re.compile(r"""(?:[.!?…]+["'”\u2019)\]]*|[。\uff01\uff1f])(?=\s|$)|(?<=[。\uff01\uff1f])|\n+|(?<=\])(?=\s)""")
_BULLET = re.compile(r"^\s*(?:[-*•‣]|\d{1,3}[.)])\s+")


def bag(some: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(some.split())


STOP = bag(
    "a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it "
    "its they them their theirs is am are was were be been being do does did done doing have has had having will "
    "would shall should can could may might must to of in on at by for from with without about into over under up "
    "down out off as than then so and or but if because while when where who whom which what why how not no nor "
    "only just very too also there here all any both each few more most other some such own same s t don ll re ve "
    "d m im ive id again once ever even still yet really quite much many lot lots well now get got gets getting "
    "go goes going gonna let lets make makes made making know think thing things way ways one ones yes yeah oh "
    "wow hey"
)


LONGEST_SENTENCE = 1_000
"""Characters beyond which something is no sentence, whatever stands at its end: nobody said it in one breath."""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, in order, each trimmed; line breaks and list items end one too."""
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.end()]
        if end[0].startswith(".") and len(end[0]) == 1 and _ABBREVIATION.search(piece.rstrip()):
            continue
        start = end.end()
        if tidy := _BULLET.sub("", piece).strip():
            yield tidy
    if tidy := _BULLET.sub("", text[start:]).strip():
        yield tidy


def words(text: str) -> list[str]:
    """The words of a text, case-folded and without typographic variants, in order."""
    return [word.replace("\u2019", "'") for word in WORD.findall(unicodedata.normalize("NFKC", text).casefold())]


def content_words(text: str) -> list[str]:
    """The words that carry something, reduced to a stem, in order."""
    return [stem(word) for word in map(_bare, words(text)) if word not in STOP and (len(word) > 1 or word.isdigit())]


def plain(text: str) -> str:
    """The text as its case-folded words: two texts that say the same in the same words are equal here."""
    return " ".join(words(text))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A rough stem, so that "painted", "paints" and "painting" are one word."""
    for ending in ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            base = word[: -len(ending)]
            if ending in ("ied", "ies"):
                return base + "y"
            if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
                base = base[:-1]
            return base.removesuffix("e")
    return word.removesuffix("e") if len(word) > 3 else word


def _bare(word: str) -> str:
    return word.removesuffix("'s").removesuffix("'")
