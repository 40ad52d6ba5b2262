"""Which words of a question each candidate has; how much each of them tells is judged over the candidates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db import connection

from . import lexis, words

# How many words of a question are told apart.
MOST_WORDS = 64


def matched(
    question: str, memory_ids: Sequence[str], keys: Collection[int]
) -> tuple[tuple[str, ...], Mapping[int, frozenset[str]]]:
    """The words that a question asks for, as the index keeps them, and which of them each version has."""
    asked = words.lexemes_asked(question, memory_ids)[:MOST_WORDS]
    if not asked or not keys:
        return asked, {}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT v.id, ARRAY(
                SELECT t.place FROM unnest(%(asked)s::tsquery[]) WITH ORDINALITY AS t(word, place)
                WHERE v.words @@ t.word)
            FROM memories_version v WHERE v.id = ANY(%(keys)s::bigint[])
            """,
            {"asked": [lexis.quoted(one) for one in asked], "keys": list(keys)},
        )
        return asked, {key: frozenset(asked[place - 1] for place in places) for key, places in cursor.fetchall()}
