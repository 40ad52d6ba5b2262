"""Writing systems: which characters belong to one, how its words are folded, and which stemmer knows it. Pure."""

# ruff: noqa: RUF001 - letters that look like others are the matter here
from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

# Written without spaces between words: pieces of so many characters stand for words.
PIECES = {"cjk": 2, "sea": 3}
RANGES = {
    "han": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "kana": "\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff",
    "hangul": "\u1100-\u11ff\uac00-\ud7a3",
    "sea": "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3",
    "cyrillic": "\u0400-\u052f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "arabic": "\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06ff"
    "\u0750-\u077f\u08a0-\u08ff",
    "hebrew": "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u05d0-\u05f2",
    "devanagari": "\u0900-\u0963\u0971-\u097f",
    "tamil": "\u0b82-\u0bd7",
    "armenian": "\u0531-\u0556\u0561-\u0587",
}
CJK = RANGES["han"] + RANGES["kana"] + RANGES["hangul"]
SPACELESS = re.compile(f"(?P<cjk>[{CJK}]+)|(?P<sea>[{RANGES['sea']}]+)")
HIRAGANA = re.compile("[\u3041-\u309e\u30fc]+")
SPACED = re.compile(
    "|".join(
        f"(?P<{name}>[{RANGES[name]}]+(?:[\u200c\u200d'][{RANGES[name]}]+)*)"
        for name in ("cyrillic", "greek", "arabic", "hebrew", "devanagari", "tamil", "armenian")
    )
)
_BASE = (
    "[\u00a9\u00ae\u203c\u2049\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\U0001f000-\U0001faff]"
)
_LOOKS = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\u20e3]"
EMOJI = re.compile(f"[\U0001f1e6-\U0001f1ff]{{2}}|{_BASE}{_LOOKS}*(?:\u200d{_BASE}{_LOOKS}*)*")
LOOKS = re.compile(f"{_LOOKS}|\u200d")

# The configuration of Postgres that stems a script, for those with one language of its own, or one that is nearest.
STEMMERS: Mapping[str, str] = {
    "cyrillic": "russian",
    "greek": "greek",
    "arabic": "arabic",
    "devanagari": "hindi",
    "tamil": "tamil",
    "armenian": "armenian",
}
# Configurations for another language of one of these scripts: an organisation's choice replaces the one above.
SCRIPT_OF: Mapping[str, str] = {
    "russian": "cyrillic",
    "serbian": "cyrillic",
    "greek": "greek",
    "arabic": "arabic",
    "hindi": "devanagari",
    "nepali": "devanagari",
    "tamil": "tamil",
    "armenian": "armenian",
    "yiddish": "hebrew",
}
# Languages that write several words as one.
COMPOUNDING = frozenset(
    {"german", "dutch", "danish", "norwegian", "swedish", "finnish", "hungarian", "estonian", "yiddish"}
)
# Languages with a comma before the decimals, which set points between thousands.
POINT_GROUPS = frozenset(
    {"german", "dutch", "danish", "norwegian", "swedish", "finnish", "spanish", "portuguese", "italian", "french"}
    | {"indonesian", "turkish", "romanian", "greek", "russian", "catalan", "basque", "hungarian", "serbian"}
)
# Languages in which an accent is an ornament: folded before stemming. Elsewhere a stemmer needs to see it.
WITHOUT_ACCENTS = frozenset({"english", "simple"})

_SINGLE = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h", "Ħ": "H", "ı": "i"}
    | {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "Th", "ŋ": "n", "İ": "I"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "ø": "oe"})
_ARABIC = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ئ": "ي", "ک": "ك", "ہ": "ه", "ؤ": "و"}
    | dict.fromkeys((*range(0x0610, 0x061B), 0x0640, *range(0x064B, 0x0660), 0x0670, *range(0x06D6, 0x06EE)))
)
_ENDING = re.compile("(?<=[\u0620-\u064a]{3})\u0647$")
_KATAKANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)} | {0x30FD: 0x309D, 0x30FE: 0x309E}
_POINTS = re.compile("[\u0591-\u05c7]")
_HEBREW_PREFIXES = "ושהכלבמ"


def without_accents(text: str) -> str:
    """Latin letters without what stands above, below or through them; a letter that is two is written as two."""
    plain = text.translate(_SINGLE)
    return "".join(one for one in unicodedata.normalize("NFD", plain) if unicodedata.category(one) != "Mn")


def umlauts_as_two(text: str) -> str:
    """Latin letters with an umlaut or ring as they are written where the letter cannot be had."""
    return without_accents(text.translate(_UMLAUTS))


def folded(script: str, word: str) -> str:
    """A word as its script's words are compared: without vowel points, ornament and variants of letters."""
    if script == "arabic":
        # The mark for the feminine is as often left out; with it, the stemmer knows what it sees.
        return _ENDING.sub("\u0629", word.translate(_ARABIC))
    if script == "cyrillic":
        return word.replace("ё", "е").replace("Ё", "Е")
    if script == "greek":
        return without_accents(word).casefold()
    if script == "hebrew":
        return _POINTS.sub("", word)
    return word


def without_prefix(script: str, word: str) -> str:
    """A Hebrew word without the one letter that may be written on to it; empty where there is none."""
    return word[1:] if script == "hebrew" and len(word) > 3 and word[0] in _HEBREW_PREFIXES else ""


def pieces(run: str, size: int) -> list[str]:
    """Every piece of so many characters, and the shorter ones at the end, so that any beginning can be looked up."""
    return [run[start : start + size] for start in range(len(run))]


def kana_as_one(run: str) -> str:
    """Both Japanese syllabaries written in one."""
    return run.translate(_KATAKANA)


def stemmer(script: str, language: str) -> str:
    """The configuration that stems words of a script in an organisation of a language."""
    return language if SCRIPT_OF.get(language) == script else STEMMERS.get(script, "simple")
