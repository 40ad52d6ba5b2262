"""How many records of a large organisation have a word: only of words so common that they tell little.

A word stands here only when very many records have it, so that nothing of any one record can be read from it, and
nothing has to be taken out when one is erased.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db import connection, transaction

from members.ids import to_uuid
from memories.models import CommonWord, Memory

from .inside import Branches, is_wide

LEFT_OUT = "words:common_ones_left_out"
# A word is common when at least this share of the records has it, and at least so many.
SHARE, LEAST = 0.002, 500
# So many records stand for all of them.
SAMPLE = 50_000
# About so many records may be looked at for the words of one question.
MOST_MATCHES = 10_000
# However many have them, no more are ranked.
MOST_RANKED = 100_000
CAPPED = f"words:capped_at_{MOST_RANKED}_records"


def rarest_first(lexemes: Collection[str], common: Mapping[str, int], most: int = MOST_MATCHES) -> Sequence[str]:
    """The words to search by: the rarest, as long as all records that have one are not too many, and at least one.

    Words that are not common cost next to nothing and always stay. Pure.
    """
    kept: list[str] = []
    matches = 0
    for lexeme in sorted(lexemes, key=lambda one: (common.get(one, 0), one)):
        matches += common.get(lexeme, 0)
        if kept and matches > most:
            break
        kept.append(lexeme)
    return kept


def telling(memory_ids: Sequence[str], lexemes: Sequence[str]) -> Sequence[str]:
    """The words to search by where there is much to read; what is left out is noted."""
    if not lexemes or not isinstance(memory_ids, Branches) or not is_wide(memory_ids):
        return lexemes
    common = of(memory_ids.organisation_id, lexemes)
    kept = set(rarest_first(lexemes, common))
    if len(kept) < len(set(lexemes)):
        memory_ids.note(LEFT_OUT)
    if sum(common.get(one, 0) for one in kept) > MOST_RANKED:
        memory_ids.note(CAPPED)
    return [one for one in lexemes if one in kept]


def of(organisation_id: str, lexemes: Collection[str]) -> Mapping[str, int]:
    """How many records have each of these words; a word that is absent is rare."""
    found = CommonWord.objects.filter(organisation=organisation_id, lexeme__in=list(lexemes))
    return dict(found.values_list("lexeme", "records"))


def around(memory_id: str, lexemes: Collection[str]) -> Mapping[str, int]:
    """The same of the organisation that a memory belongs to, in one query."""
    home = Memory.deleted_too.filter(pk=memory_id).values("organisation_id")
    found = CommonWord.objects.filter(organisation__in=home, lexeme__in=list(lexemes))
    return dict(found.values_list("lexeme", "records"))


def count(organisation_id: str) -> int:
    """Count the words of an organisation anew, by a sample of its current records; return how many are common."""
    organisation = to_uuid(organisation_id, "org_")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM memories_version WHERE organisation_id = %s AND invalidated_at IS NULL",
            [organisation],
        )
        (records,) = cursor.fetchone()
        step = max(1, records // SAMPLE)
        # ts_stat takes the text of a query; what is put into it is an id and a number.
        sample = (
            f"SELECT words FROM memories_version WHERE organisation_id = '{organisation}'"  # noqa: S608
            f" AND invalidated_at IS NULL AND id % {step} = 0"
        )
        CommonWord.objects.filter(organisation=organisation_id).delete()
        cursor.execute(
            """
            INSERT INTO memories_commonword (organisation_id, lexeme, records)
            SELECT %(organisation)s, word, ndoc * %(step)s FROM ts_stat(%(sample)s)
            WHERE ndoc * %(step)s >= %(least)s AND ndoc > 1 AND length(word) <= 200
            """,
            {
                "organisation": organisation,
                "step": step,
                "sample": sample,
                "least": max(LEAST, int(records * SHARE)),
            },
        )
        return int(cursor.rowcount)
