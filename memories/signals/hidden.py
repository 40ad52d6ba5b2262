"""What a person does not see and a model reads: characters of no width, tags, letters that look alike, markup."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

from .base import Signal, Span

ZERO_WIDTH = "It has characters of no width, which a person does not see."
DIRECTION = "It has characters that change the direction of text, so that it reads otherwise than it is stored."
TAGS = "It has invisible tag characters, which can spell words that only a model reads."
SELECTORS = "It has runs of variation selectors, in which words can be hidden."
CONTROL = "It has control characters."
LOOKALIKE = "It has words that mix letters of two scripts that look alike."
STYLE = "It has markup that hides what it says."
COMMENT = "It has a comment in markup, which a page does not show."
PUSHED = "It has a very long gap, behind which text is out of sight."
PILED = "It has piles of combining marks."

# Everything that may have to be looked at; most of it is rare in any text.
SUSPECTS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U000e0000-\U000e0fff]"
)
# What is taken out before anything else is looked for.
INVISIBLE = re.compile(
    "[\xad\u034f\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)
OVERRIDES = "\u202d\u202e"
LEANINGS = "\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069"
JOINING = re.compile("[\u0600-\u07bf\u08a0-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]")
RIGHT_TO_LEFT = re.compile(
    "[\u05d0-\u05f2\u0620-\u064a\u0671-\u06d3\u0710-\u072f\u0780-\u07a5\ufb1d-\ufdf9\ufe70-\ufefc]"
)
LATIN = "A-Za-z\u00c0-\u024f"
MIXED = re.compile(
    rf"(?<!\w)(?=\w{{0,30}}[A-Za-z])(?=\w{{0,30}}[\u0370-\u03ff\u0400-\u04ff])[{LATIN}\u0370-\u04ff\d_]{{2,60}}(?!\w)"
)
LIKE_LATIN = frozenset("асеорхуіјѕһԁԛԝАВСЕНІЈКМОРЅТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανιρυκ")
LIKE_CYRILLIC = frozenset("aceopxyijsABCEHIJKMOPSTXY")
HIDING = re.compile(
    r"style\s{0,3}=\s{0,3}[\"'][^\"'\n]{0,120}?(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|"
    r"font-size\s{0,3}:\s{0,3}0|"
    r"opacity\s{0,3}:\s{0,3}0(?![.\d])|color\s{0,3}:\s{0,3}(?:white|transparent|#fff(?:fff)?\b)|(?:left|top|"
    r"text-indent)\s{0,3}:\s{0,3}-\d{3,5})|"
    r"<(?:span|div|p|font)\s[^>\n]{0,80}?(?:\bhidden\b(?![-=\w])|color\s{0,3}=\s{0,3}[\"']?(?:white|#fff))",
    re.IGNORECASE,
)
COMMENTED = re.compile(
    r"<!--(?!\[if)[^<]{1,2000}?-->|^\[(?://|comment)\]: ?# ?[(\"'][^\n]{1,500}[)\"']", re.MULTILINE | re.IGNORECASE
)
GAP = re.compile(r"(?:[ \t\u00a0\u3000]{150}|(?:\n[ \t]{0,3}){30})\s{0,4000}+\S")
PILE = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20f0]{4}")
FLAG, REGIONS = "\U0001f3f4", range(0xE0020, 0xE0080)


def look(text: str) -> Iterator[Signal]:
    """What a person would not see of a text. Joiners of emoji and of scripts that need them are as they should be."""
    yield from _characters(text)
    if not text.isascii():
        yield from _lookalikes(text)
        for match in PILE.finditer(text):
            yield Signal("hidden.piled", 0.5, PILED, (_span(match),))
    if "<" in text:
        for match in HIDING.finditer(text):
            yield Signal("hidden.style", 0.6, STYLE, (_span(match),))
    if "\n\n" in text or " " * 150 in text or not text.isascii() or "\t\t" in text:
        for match in GAP.finditer(text):
            yield Signal("hidden.pushed", 0.6, PUSHED, (Span(match.start(), match.end()),))


def comments(text: str) -> Iterator[re.Match[str]]:
    """The comments in markup, whose words have to be looked at before they are held against anybody."""
    if "<!--" in text or "]:" in text:
        yield from COMMENTED.finditer(text)


def plain(text: str) -> tuple[str, list[int]]:
    """The text without what is invisible, and where something was taken out: positions in the plain text, in order."""
    if text.isascii():
        return text, []
    cut = [match.start() - before for before, match in enumerate(INVISIBLE.finditer(text))]
    return (INVISIBLE.sub("", text) if cut else text), cut


def place(position: int, cut: list[int]) -> int:
    """Where a position of the plain text is in the text it was made from."""
    return position + bisect_right(cut, position)


def _characters(text: str) -> Iterator[Signal]:
    found = list(SUSPECTS.finditer(text))
    leaning = bool(found) and RIGHT_TO_LEFT.search(text) is not None
    for match in found:
        if meaning := _what(text, match.start(), leaning):
            name, weight, reason = meaning
            yield Signal(f"hidden.{name}", weight, reason, (_span(match),))


def _what(text: str, at: int, leaning: bool) -> tuple[str, float, str] | None:
    # What a suspect is held for; None for one that is as it should be. `leaning`: some of the text goes right to left.
    sign = text[at]
    if _controls(sign):
        return "control", 0.5, CONTROL
    if "\U000e0000" <= sign <= "\U000e007f":
        return None if _in_flag(text, at) else ("tags", 0.9, TAGS)
    if "\ufe00" <= sign <= "\ufe0f" or "\u180b" <= sign <= "\u180d" or sign >= "\U000e0100":
        following = SUSPECTS.match(text, at + 1)
        run = following is not None and following[0] not in "\u200d\U000e0020" and not _in_flag(text, at + 1)
        return ("selectors", 0.8, SELECTORS) if run else None
    if sign in OVERRIDES:
        return "direction", 0.8, DIRECTION
    if sign in LEANINGS:
        return None if leaning else ("direction", 0.6, DIRECTION)
    return None if _needed(text, at) else ("zero_width", 0.7, ZERO_WIDTH)


def _controls(sign: str) -> bool:
    return sign < " " or "\x7f" <= sign <= "\x9f" or "\ufff0" <= sign <= "\ufffc"


def _needed(text: str, at: int) -> bool:
    sign = text[at]
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if sign == "\ufeff":
        return at == 0
    if sign == "\xad":
        return _hyphenated(text, at)
    if sign == "\u2800":
        # A blank of Braille, where there is Braille.
        return "\u2801" <= before <= "\u28ff" or "\u2801" <= after <= "\u28ff"
    if sign in "\u200c\u200d":
        return bool(before and after) and (
            bool(JOINING.match(before)) or (sign == "\u200d" and _pictured(before) and _pictured(after))
        )
    if sign == "\u200b":
        # Where words are not parted, it marks where a line may break.
        return any(
            "\u0e00" <= near <= "\u0eff" or "\u1780" <= near <= "\u17ff" or "\u1000" <= near <= "\u109f"
            for near in (before, after)
        )
    return False


def _pictured(sign: str) -> bool:
    return sign >= "\U0001f000" or sign in "\ufe0f\u20e3" or unicodedata.category(sign) == "So"


def _hyphenated(text: str, at: int) -> bool:
    # At most every third letter may be followed by one in a word that is divided on purpose.
    near = text[max(0, at - 3) : at + 4]
    return near.count("\xad") == 1 and text[at - 1 : at].isalpha() and text[at + 1 : at + 2].isalpha()


def _in_flag(text: str, at: int) -> bool:
    # The flags of regions are a black flag, then letters as tags, at most seven with the end.
    begun = at
    while begun > 0 and at - begun < 8 and ord(text[begun]) in REGIONS:
        begun -= 1
    return text[begun] == FLAG


def _lookalikes(text: str) -> Iterator[Signal]:
    for match in MIXED.finditer(text):
        letters = [one for one in match[0] if one.isalpha()]
        latin = [one for one in letters if one < "\u0250"]
        other = [one for one in letters if one >= "\u0370"]
        if not latin or not other or len(letters) < 3:
            continue
        if all(one in LIKE_LATIN for one in other) or (
            len(other) > len(latin) and all(one in LIKE_CYRILLIC for one in latin)
        ):
            yield Signal("hidden.lookalike", 0.7, LOOKALIKE, (_span(match),))


def _span(match: re.Match[str]) -> Span:
    return Span(match.start(), match.end())
