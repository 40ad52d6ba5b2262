"""Which words of a text are those that a question asks for, so that a page can mark them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection

from memories.providers import scripts, words

WORD = re.compile(r"\w+(?:['\u2019]\w+)?")
# How many different words of the texts of one page are looked at.
MOST_WORDS = 5_000


@dataclass(frozen=True)
class Piece:
    """A stretch of text, and whether it is a word that was asked for."""

    text: str
    marked: bool = False


@dataclass(frozen=True)
class Marker:
    """Knows the lexemes of a question, and by which lexemes each word of some texts is found."""

    asked: frozenset[str]
    lexemes: Mapping[str, frozenset[str]]

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The text in pieces, those that were asked for marked; together they are the text."""
        found: list[Piece] = []
        end = 0
        for start, stop in self.spans(text):
            found += [Piece(text[end:start])] if start > end else []
            found.append(Piece(text[start:stop], marked=True))
            end = stop
        return (*found, *([Piece(text[end:])] if end < len(text) else []))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where in a text the words stand that were asked for, in order and apart."""
        spans: list[tuple[int, int]] = []
        for match in WORD.finditer(text):
            word = match[0]
            if scripts.SPACELESS.search(word):
                spans += self._inside(word, match.start())
            elif self.lexemes.get(word.lower(), frozenset()) & self.asked:
                spans.append(match.span())
        return spans

    def _inside(self, run: str, at: int) -> list[tuple[int, int]]:
        # Where there are no spaces the index keeps pieces; those that overlap are marked as one.
        spans: list[tuple[int, int]] = []
        plain = scripts.kana_as_one(run)
        places = (
            (at + place, at + place + len(piece))
            for piece in self.asked
            if piece and scripts.SPACELESS.search(piece)
            for place in range(len(plain) - len(piece) + 1)
            if plain.startswith(piece, place)
        )
        for start, stop in sorted(places):
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
            else:
                spans.append((start, stop))
        return spans


def marker(question: str, texts: Sequence[str], organisation_id: str, memory_id: str) -> Marker:
    """Learn what of these texts a question asked of a memory looks for; a constant number of queries."""
    asked = frozenset(words.lexemes_asked(question, [memory_id])) if question else frozenset()
    if not asked:
        return Marker(frozenset(), {})
    different = dict.fromkeys(match[0].lower() for text in texts for match in WORD.finditer(text))
    return Marker(asked, _lexemes(list(different)[:MOST_WORDS], organisation_id))


def _lexemes(different: Collection[str], organisation_id: str) -> Mapping[str, frozenset[str]]:
    language = words.languages([organisation_id]).get(organisation_id, "english")
    config = language if language in words.configurations() else "simple"
    spelt = [scripts.without_accents(word) for word in different]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT t.word, ARRAY(SELECT lexeme FROM unnest(
                to_tsvector(%(config)s::regconfig, t.word) || to_tsvector(%(config)s::regconfig, t.spelt)))
            FROM unnest(%(words)s::text[], %(spelt)s::text[]) AS t(word, spelt)
            """,
            {"config": config, "words": list(different), "spelt": spelt},
        )
        return {word: frozenset(lexemes) for word, lexemes in cursor.fetchall()}
