"""What a person did not want is not written again: remembered as a keyed hash that can be recognised and not read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from django.utils.crypto import salted_hmac

from memories.content import Draft, words_of
from memories.models import Memory, Refused

SALT = "memories.refused"
NOT_WORDS = re.compile(r"[\W_]+")


def content_hash(memory_id: str, draft: Draft) -> str:
    """The keyed hash of what a draft says in one memory, whatever its case and punctuation; empty for no words.

    It is keyed with the server's secret, so that nobody who reads the database can find out by guessing.
    """
    said = unicodedata.normalize("NFKC", words_of(draft.title, draft.content, {})).casefold()
    words = NOT_WORDS.sub(" ", said).strip()
    return salted_hmac(SALT, f"{memory_id}\0{words}", algorithm="sha256").hexdigest() if words else ""


def refuse(memory: Memory, hashes: Collection[str]) -> None:
    """Remember that these are not wanted in a memory; once each."""
    Refused.objects.bulk_create(
        [
            Refused(organisation_id=memory.organisation_id, memory_id=memory.id, content_hash=one)
            for one in sorted(set(hashes) - {""})
        ],
        ignore_conflicts=True,
    )


def refused(memory_id: str, hashes: Collection[str]) -> set[str]:
    """Which of these are not wanted in a memory."""
    known = Refused.objects.filter(memory_id=memory_id, content_hash__in=set(hashes))
    return set(known.values_list("content_hash", flat=True))


def accept(memory_id: str, hashes: Collection[str]) -> None:
    """Forget that these were not wanted: somebody chose them after all."""
    Refused.objects.filter(memory_id=memory_id, content_hash__in=set(hashes)).delete()
