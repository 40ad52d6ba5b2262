"""What says nearly the same in one memory, told by words alone: also what was written in this very transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from members.ids import to_uuid
from memories.models import Version

from . import frequencies, spoken, words

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

# The longest text that is looked for, in characters: a record of many pages repeats no other by chance.
LONGEST = 20_000
# Two texts of which one has three times as many words do not say the same; attributes are words of a record, too.
TIMES, MORE = 3, 60


def found(memory_id: str, text: str, limit: int) -> Sequence[Version]:
    """The current versions that share most words with a text, the most first; episodes are left out.

    In a large organisation its rarest words are looked for: who shares most of a text shares some of these.
    """
    terms = words.asked_for(text[:LONGEST], spoken.inside(memory_id))
    if not terms.any_of:
        return []
    count = len(terms.lexemes) + len(terms.beginnings)
    common = frequencies.around(memory_id, terms.lexemes)
    asked = replace(terms, lexemes=tuple(frequencies.rarest_first(terms.lexemes, common)))
    # Elsewhere its own words are compared: the index of words would bring what everybody has written.
    looked_up = "" if common else "IS TRUE"
    rows = Version.objects.raw(
        f"""
        SELECT v.* FROM memories_version v, (SELECT %(asked)s::tsquery AS lexemes) AS asked
        WHERE v.memory_id = %(memory)s AND v.invalidated_at IS NULL AND v.type <> 'episode'
          AND (v.words @@ asked.lexemes) {looked_up} AND length(v.words) BETWEEN %(least)s AND %(most)s
        ORDER BY {words.RANK} DESC, v.id LIMIT %(limit)s
        """,
        {
            "asked": asked.any_of,
            "memory": to_uuid(memory_id, "hmem_"),
            "least": count // TIMES,
            "most": count * TIMES + MORE,
            "limit": limit,
        },
    )
    return list(rows)
