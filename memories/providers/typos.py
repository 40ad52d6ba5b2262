"""Words that nothing readable has, and those that were probably meant: a letter or two away, and readable.

What a reader may not read is never looked at: a candidate is a word of the versions that the question covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db import connection

from . import folding, inside, lexis, scripts, search
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

SHORTEST, LONGEST = 5, 24
# From this length on two letters may be wrong.
TWO_WRONG = 7
# How many words of one question are put right, by how many others each, and how much is read for it.
MOST_WORDS = 3
MOST_MEANT = 3
LOOKED_AT = 200
LOOKED_THROUGH = 3_000

_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = (_LATIN, "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρστυφχψως")


def corrected(
    words: str, language: str, lexemes: Sequence[str], found: Sequence[int], memory_ids: Sequence[str], view: View
) -> list[list[str]]:
    """For each word of a question that no readable version has, the lexemes of those that were probably meant.

    `lexemes` are those of the question and `found` the versions that have some of them.
    """
    suspects = list(dict.fromkeys(_suspects(words)))
    if not suspects:
        return []
    stems = _stems(suspects, language)
    known = _seen(sorted({stem for of in stems.values() for stem in of}), found)
    unseen = [word for word in suspects if stems.get(word) and not known & set(stems[word])][: 2 * MOST_WORDS]
    meant: list[list[str]] = []
    for word in unseen:
        if len(meant) == MOST_WORDS:
            break
        if _exists(stems[word], memory_ids, view):
            continue
        near = _one_off(word, language, memory_ids, view)
        if not near and len(stems[word][0]) >= TWO_WRONG:
            near = _two_off(stems[word][0], memory_ids, view)
        if near:
            meant.append([lexeme for lexeme in near if lexeme not in lexemes])
    return [one for one in meant if one]


def distance(one: str, other: str, most: int) -> int:
    """How many letters are wrong, missing, too many or swapped with the next; `most` + 1 when there are more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, against in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


def one_off(word: str) -> set[str]:
    """Every spelling one letter away."""
    letters = next((alphabet for alphabet in _ALPHABETS if word[0] in alphabet), "")
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    return {
        *(before + after[1:] for before, after in cuts if after),
        *(before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1),
        *(before + letter + after[1:] for before, after in cuts if after for letter in letters),
        *(before + letter + after for before, after in cuts for letter in letters),
    } - {word}


def _suspects(words: str) -> Iterator[str]:
    for token in folding.compared(words).split():
        whole = token.isalpha() and not scripts.SPACELESS.search(token)
        if whole and SHORTEST <= len(token) <= LONGEST and not lexis.is_known(token):
            yield token


def _stems(spellings: Sequence[str], language: str) -> dict[str, list[str]]:
    stems: dict[str, list[str]] = {}
    configs = [_config(spelling, language) for spelling in spellings]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT word, lexeme FROM unnest(%s::text[], %s::text[]) AS spelt(word, config),
                unnest(to_tsvector(config::regconfig, word))
            """,
            [list(spellings), configs],
        )
        for word, lexeme in cursor.fetchall():
            stems.setdefault(word, []).append(lexeme)
    return stems


def _config(word: str, language: str) -> str:
    match = scripts.SPACED.match(word)
    return language if match is None else scripts.stemmer(match.lastgroup or "", language)


def _seen(lexemes: Sequence[str], versions: Sequence[int]) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT lexeme FROM memories_version v, unnest(v.words)
            WHERE v.id = ANY(%s::bigint[]) AND lexeme = ANY(%s::text[])
            """,
            [list(versions), list(lexemes)],
        )
        return {str(lexeme) for (lexeme,) in cursor.fetchall()}


def _any(lexemes: Sequence[str]) -> str:
    return " | ".join(map(lexis.quoted, lexemes))


def _exists(lexemes: Sequence[str], memory_ids: Sequence[str], view: View) -> bool:
    conditions, parameters = search.conditions(view)
    within, memories = inside.fitting(memory_ids, "v.memory_id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT EXISTS (
                SELECT FROM memories_version v WHERE {within} AND v.words @@ %(asked)s::tsquery {conditions}
            )
            """,
            {"asked": _any(lexemes), **memories, **parameters},
        )
        return bool(cursor.fetchone()[0])


def _one_off(word: str, language: str, memory_ids: Sequence[str], view: View) -> list[str]:
    spellings = sorted(one_off(word))
    lexemes = sorted({stem for of in _stems(spellings, language).values() for stem in of if len(stem) > 2})
    if not lexemes:
        return []
    conditions, parameters = search.conditions(view)
    within, memories = inside.fitting(memory_ids, "v.memory_id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT lexeme FROM (
                SELECT v.words FROM memories_version v
                WHERE {within} AND v.words @@ %(asked)s::tsquery {conditions} LIMIT %(most)s
            ) near, unnest(near.words)
            WHERE lexeme = ANY(%(lexemes)s::text[]) GROUP BY lexeme ORDER BY count(*) DESC, lexeme LIMIT %(meant)s
            """,
            {
                "asked": _any(lexemes),
                "lexemes": lexemes,
                "most": LOOKED_AT,
                "meant": MOST_MEANT,
                **memories,
                **parameters,
            },
        )
        return [str(lexeme) for (lexeme,) in cursor.fetchall()]


def _two_off(stem: str, memory_ids: Sequence[str], view: View) -> list[str]:
    """Among the newest versions; the first letter is hardly ever the wrong one."""
    conditions, parameters = search.conditions(view)
    within, memories = inside.fitting(memory_ids, "v.memory_id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT lexeme, count(*) FROM (
                SELECT v.words FROM memories_version v WHERE {within} {conditions}
                ORDER BY v.id DESC LIMIT %(most)s
            ) newest, unnest(newest.words)
            WHERE left(lexeme, 1) = left(%(stem)s, 1)
              AND length(lexeme) BETWEEN length(%(stem)s) - 2 AND length(%(stem)s) + 2
            GROUP BY lexeme
            """,
            {"stem": stem, "most": LOOKED_THROUGH, **memories, **parameters},
        )
        rows = cursor.fetchall()
    near = [(distance(stem, lexeme, 2), -count, lexeme) for lexeme, count in rows]
    return [lexeme for far, _, lexeme in sorted(near)[:MOST_MEANT] if far <= 2]
