"""Texts as they are compared: one script at a time, without width, case, accents and punctuation. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from . import scripts

MAX_PHRASES = 10

_GROUPED = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+)(?=(?:\.\d+)?(?![\w,]|\.\d*,))")
_PHRASE = re.compile(
    '["\u201c\u201d\u201e\u201f\u00ab\u00bb]([^"\u201c\u201d\u201e\u201f\u00ab\u00bb]+)'
    '["\u201c\u201d\u201e\u201f\u00ab\u00bb]'
)


def phrases(text: str) -> list[str]:
    """What is quoted in a question; each must occur as it stands."""
    found = dict.fromkeys(match[1].strip() for match in _PHRASE.finditer(text))
    return [phrase for phrase in found if compared(phrase)][:MAX_PHRASES]


def compared(text: str) -> str:
    """A text as phrases are compared: words and nothing else, without case, accents and width."""
    words = []
    for script, run in runs(tidied(grouped(text))):
        if script == "emoji":
            words.append(scripts.LOOKS.sub("", run))
        elif script == "latin":
            words.append(re.sub(r"[\W_]+", " ", scripts.without_accents(run).casefold()))
        else:
            words.append(scripts.kana_as_one(scripts.folded(script, run)).casefold())
    return " ".join("".join(words).split())


def occurs(phrase: str, text: str) -> bool:
    """Whether a phrase stands in a text, both as `compared` writes them; words are not cut, where there are any."""
    if scripts.SPACELESS.search(phrase):
        return phrase.replace(" ", "") in text.replace(" ", "")
    return f" {phrase} " in f" {text} "


class _Tidy(dict[int, str]):
    """Characters outside ASCII that part words or look like ASCII ones."""

    def __missing__(self, code: int) -> str:
        one = chr(code)
        kind = unicodedata.category(one)
        if code < 128 or kind[0] in "LM" or kind == "Nl" or scripts.EMOJI.match(one) or scripts.LOOKS.match(one):
            found = one
        elif kind[0] == "N":
            digit = unicodedata.digit(one, None)
            found = " " if digit is None else str(digit)
        else:
            found = {"\u2019": "'", "\u2018": "'", "\u2212": "-", "\u2010": "-", "\u2011": "-"}.get(one, " ")
        if 0x1F1E6 <= code <= 0x1F1FF or code == 0x200C:
            found = one
        self[code] = found
        return found


_TIDY = _Tidy()
_RUNS = re.compile(
    f"(?P<emoji>{scripts.EMOJI.pattern})|{scripts.SPACELESS.pattern}|{scripts.SPACED.pattern}|(?P<latin>[\\x00-\\x7f]+)"
)


def grouped(text: str) -> str:
    """A text without commas between thousands."""
    return _GROUPED.sub(lambda match: match[1].replace(",", ""), text)


def tidied(text: str) -> str:
    """A text in which what parts words is a space, and what looks like an ASCII character is one."""
    if text.isascii():
        return text
    wide = unicodedata.normalize("NFKC", text.replace("\u2026", " "))
    return wide.translate(_TIDY)


def runs(text: str) -> Iterator[tuple[str, str]]:
    """A tidied text as runs of one script each; what has no script of its own here goes with the Latin letters."""
    end = 0
    for match in _RUNS.finditer(text):
        if match.start() > end:
            yield "latin", text[end : match.start()]
        yield match.lastgroup or "latin", match[0]
        end = match.end()
    if end < len(text):
        yield "latin", text[end:]
