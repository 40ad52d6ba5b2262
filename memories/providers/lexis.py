"""What of a text is put into the index of words, and what of a question is looked up there. Pure.

Plain words are Postgres' business: it parses and stems them. Here is what it does not know: languages without spaces,
scripts other than the organisation's, accents, compounds, identifiers, numbers, emoji. A plain English text has
nothing of it, and is indexed as Postgres indexes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from . import folding, scripts

# How much of a text is indexed, in characters, and how many bytes of lexemes may come beside the plain words: what
# surely fits a tsvector, which Postgres bounds at 1 MB.
MAX_WORDS = 150_000
MAX_BYTES = 250_000
MAX_SECOND = 40_000
LONGEST = 100

# A lexeme's label is how much it counts: words in full, other forms of them half, endings of Japanese words little.
WHOLE, FORM, FAINT = "", "C", "B"
# In the order in which Postgres takes them: D (no label), C, B, A.
WEIGHTS = (0.1, 0.05, 0.01, 0.1)
# Before the parts of compounds, so that nothing else is found by a beginning.
PART = "~"
SHORTEST_PART = 4
SHORTEST_COMPOUND = 11
LONGEST_COMPOUND = 60

VOCABULARY = Path(__file__).resolve().parents[1] / "embedders" / "data" / "bert-base-uncased-vocab.txt"

_GAPS = re.compile("(?<=\\d)[\u00a0\u202f\u2009'\u2019](?=\\d{3}(?!\\d))")
_POINTED = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{3})+)(?:,\d+)?(?![\w.])")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)-(?=\d)")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ACRONYM = re.compile(r"(?:[A-Za-z]\.){2,}[A-Za-z]?")
_SYMBOLIC = re.compile(r"\.?[A-Za-z]{1,3}(?:\+\+|#)|\.[A-Za-z]{3,4}")
_NUMBER = re.compile(r"[vV]?(\d+(?:\.\d+)+)")
_ENDINGS = ("s", "es", "d", "ed", "ing", "ly", "ness", "ies", "ied", "er", "ers", "able", "less", "ful")
_EDGES = ".,;:!?()[]{}<>\"'`*"
_NOISE = frozenset({"http", "https", "www", "com", "org", "net"})


@dataclass
class Text:
    """A text taken apart: `plain` and `stemmed` are words for Postgres to stem, `second` other forms of them, and
    `exact` lexemes as they are, each with its label. `beginnings` are looked up as beginnings of lexemes.
    """

    language: str
    plain: str = ""
    second: str = ""
    stemmed: Mapping[str, str] = field(default_factory=dict)
    exact: Mapping[str, str] = field(default_factory=dict)
    beginnings: tuple[str, ...] = ()

    @property
    def literal(self) -> str:
        """The exact lexemes as Postgres writes a tsvector."""
        return " ".join(f"{quoted(lexeme)}:1{label}" for lexeme, label in self.exact.items())


def quoted(lexeme: str) -> str:
    """A lexeme as tsvector and tsquery write it."""
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def indexed(text: str, language: str) -> Text:
    """What of a record's text is indexed."""
    return _Taken(text, language, asked=False).result()


def asked(text: str, language: str) -> Text:
    """What of a question is looked up."""
    return _Taken(text, language, asked=True).result()


@cache
def vocabulary() -> frozenset[str]:
    """Words that many texts have: one of them is not taken for a compound, or for another word misspelt."""
    lines = VOCABULARY.read_text(encoding="utf-8").split("\n")
    return frozenset(line for line in lines if len(line) > 2 and line.isalpha())


def is_known(word: str) -> bool:
    """Whether a word is of the vocabulary, or an English form of one that is."""
    known = vocabulary()
    if word in known:
        return True
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and (stem in known or f"{stem}e" in known or f"{stem}y" in known):
            return True
    return False


class _Taken:
    """Takes one text apart: a question splits what a record keeps whole, and the other way round."""

    def __init__(self, text: str, language: str, *, asked: bool) -> None:
        self.language = language
        self.asked = asked
        self.exact: dict[str, str] = {}
        self.beginnings: dict[str, None] = {}
        self.second: list[str] = []
        self.stemmed: defaultdict[str, list[str]] = defaultdict(list)
        self.text = _GAPS.sub("", text[:MAX_WORDS])
        self.room = MAX_BYTES
        self.second_room = MAX_SECOND

    def result(self) -> Text:
        """The parts of the text."""
        plain = self._latin(self.text if self.text.isascii() else self._in_other_scripts(folding.tidied(self.text)))
        return Text(
            language=self.language,
            plain=plain,
            second=" ".join(self.second),
            stemmed={config: " ".join(words) for config, words in self.stemmed.items()},
            exact=self.exact,
            beginnings=tuple(self.beginnings),
        )

    def _add(self, lexeme: str, label: str) -> None:
        if not 0 < len(lexeme) <= LONGEST or self.room < 0:
            return
        if lexeme not in self.exact or label < self.exact[lexeme]:
            self.room -= len(lexeme.encode()) + 8
            self.exact[lexeme] = label

    def _also(self, word: str) -> None:
        if self.second_room > 0:
            self.second_room -= len(word) + 1
            self.second.append(word)

    def _in_other_scripts(self, text: str) -> str:
        latin: list[str] = []
        for script, run in folding.runs(text):
            if script == "latin":
                latin.append(run)
                continue
            latin.append(" ")
            if script == "emoji":
                self._add(scripts.LOOKS.sub("", run), WHOLE)
            elif script in scripts.PIECES:
                self._pieces(run, scripts.PIECES[script])
            else:
                word = scripts.folded(script, run)
                self.stemmed[scripts.stemmer(script, self.language)].append(word)
                if shorter := scripts.without_prefix(script, word):
                    self._add(shorter, FORM)
        return "".join(latin)

    def _pieces(self, run: str, size: int) -> None:
        found = scripts.pieces(run, size)
        if self.asked and len(run) < size:
            self.beginnings[scripts.kana_as_one(run)] = None
            return
        if self.asked:
            found = found[: len(run) - size + 1]
        for piece in found:
            faint = scripts.HIRAGANA.fullmatch(piece) is not None
            self._add(scripts.kana_as_one(piece), FAINT if faint else WHOLE)

    def _latin(self, text: str) -> str:
        text = folding.grouped(text)
        if self.language in scripts.POINT_GROUPS:
            for match in _POINTED.finditer(text):
                self._add(match[1].replace(".", ""), FORM)
        if not text.isascii():
            text = self._accents(text)
        for token in text.split():
            if not token.isalpha() or not (token.islower() or token[1:].islower() or len(token) == 1):
                self._token(token)
            elif len(token) >= SHORTEST_COMPOUND:
                self._compound(token)
        return _BETWEEN_DIGITS.sub(" ", text)

    def _accents(self, text: str) -> str:
        for word in text.split():
            if word.isascii():
                continue
            plain, spelt = scripts.without_accents(word), scripts.umlauts_as_two(word)
            if self.language not in scripts.WITHOUT_ACCENTS:
                self._also(plain)
            if spelt != plain:
                self._also(spelt)
        return scripts.without_accents(text) if self.language in scripts.WITHOUT_ACCENTS else text

    def _token(self, token: str) -> None:
        """A token that is not simply a word: an identifier, a number, an address, a word beside a mark."""
        if _SYMBOLIC.fullmatch(token.rstrip(_EDGES)):
            self._add(token.rstrip(_EDGES).casefold(), WHOLE)
            return
        core = scripts.without_accents(token.strip(_EDGES))
        if core.isalpha() and (core[1:].islower() or core.isupper()):
            if len(core) >= SHORTEST_COMPOUND:
                self._compound(core)
            return
        if len(core) < 3:
            return
        if _ACRONYM.fullmatch(token.strip(",;:!?()[]\"'")):
            self._also(core.replace(".", ""))
            return
        if match := _NUMBER.fullmatch(core):
            self._number(match[1])
            return
        if "'" in core and core.replace("'", "").isalpha():
            self._with_apostrophe(core)
            return
        if core.replace("-", "").isalpha() and "-" in core and core.count("-") < 3:
            self._also(core.replace("-", ""))
            if not any(one[1:] != one[1:].lower() for one in core.split("-")):
                return
        self._joined(core)

    def _number(self, number: str) -> None:
        self._add(number, FORM)
        whole, _, rest = number.partition(".")
        if rest.isdigit() and (trimmed := rest.rstrip("0")) != rest:
            self._add(f"{whole}.{trimmed}" if trimmed else whole, FORM)

    def _with_apostrophe(self, core: str) -> None:
        before, _, after = core.partition("'")
        if len(before) == 1 and len(after) > 2:
            self._also(before + after)

    def _joined(self, core: str) -> None:
        parts = [part for stretch in re.split(r"[\W_]+", core) for part in _CAMEL.findall(stretch)]
        if len(parts) < 2 and core.isalnum():
            return
        self._add(core.casefold(), FORM)
        if "@" in core:
            self._add(core.rpartition("@")[2].casefold(), FORM)
        words = [part for part in parts if len(part) > 1 and part.casefold() not in _NOISE]
        if not all(word.isdigit() for word in words):
            for word in words[:12]:
                self._also(word)

    def _compound(self, word: str) -> None:
        word = word.casefold()[:LONGEST_COMPOUND]
        if self.language not in scripts.COMPOUNDING and is_known(scripts.without_accents(word)):
            return
        if self.asked:
            for cut in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
                self._also(word[:cut].removesuffix("s"))
                self._also(word[cut:])
        else:
            plain = scripts.without_accents(word)
            for start in (0, *range(3, len(plain) - SHORTEST_PART + 1)):
                self._add(PART + plain[start:], FORM)


def parts_beginning(lexemes: list[str], language: str) -> list[str]:
    """What the parts of compounds begin with that hold one of these words."""
    compounding = language in scripts.COMPOUNDING
    plain = (scripts.without_accents(lexeme) for lexeme in lexemes if len(lexeme) >= SHORTEST_PART)
    words = [lexeme for lexeme in dict.fromkeys(plain) if lexeme.isalpha() and lexeme.isascii()]
    return [PART + word for word in words if compounding or not is_known(word)]
