"""Who and what a question names, of those its reader may know of: members, speakers and entity records in its scope.

A name matches whatever has the name in it and says nothing of what is asked; so it is taken out of what is compared by
meaning, and lifts instead what is by or about the named.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Lower

from members.models import Member
from memories.providers.base import Candidate, Named, Provider, Question, View

# How many words of a question may begin a name, and how many a name may have.
MOST_WORDS = 64
LONGEST = 4
# So many words have to be left for a question to be compared without the names.
LEAST_LEFT = 3

WORD = re.compile(r"[^\W_]+")
POSSESSIVE = r"(?:['\u2019]s\b|(?<=s)['\u2019])?"
SPACES = re.compile(r"\s+")
# What stands around a name that was taken out.
LOOSE = re.compile(r"\s+([?!.,;:])|\(\s*\)")


@dataclass(frozen=True)
class Read:
    """A question, whom it names, and what is left of it to be compared by meaning."""

    named: Named
    meant: str


def phrases(question: str) -> Collection[str]:
    """What could be a name in a question: up to four words, in lower case, the first of them written as names are.

    Where nothing is written large, as by people in a hurry, anything may be one.
    """
    words = list(WORD.finditer(question))[:MOST_WORDS]
    hurried = not any(word[0][0].isupper() for word in words)
    found: set[str] = set()
    for start, word in enumerate(words):
        if not hurried and word[0][0].islower():
            continue
        for end in words[start : start + LONGEST]:
            found.add(SPACES.sub(" ", question[word.start() : end.end()]).lower())
    return found


def without(question: str, names: Iterable[str]) -> str:
    """A question without these names; as it was where too little would be left."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    if not longest_first:
        return question
    either = "|".join(SPACES.sub(r"\\s+", re.escape(name).replace(r"\ ", " ")) for name in longest_first)
    left = re.sub(rf"(?<!\w)(?:{either})(?!\w){POSSESSIVE}", " ", question, flags=re.IGNORECASE)
    left = LOOSE.sub(r"\1", SPACES.sub(" ", left)).strip()
    return left if len(WORD.findall(left)) >= LEAST_LEFT else question


def of_members(organisation_id: str, asked: Collection[str]) -> Named:
    """The members of an organisation whom some phrases name, by the whole name or its first word."""
    first = Func(Lower("name"), Value(" "), Value(1), function="split_part", output_field=TextField())
    found = (
        Member.objects.of(organisation_id)
        .annotate(lower=Lower("name"), first=first)
        .filter(Q(lower__in=asked) | Q(first__in=asked))
        .values_list("id", F("lower"), F("first"))
    )
    rows = list(found) if asked else []
    names = {name for _, *both in rows for name in both if name in asked}
    return Named(frozenset(names), writers=frozenset(member_id for member_id, *_ in rows))


def read(question: str, organisation_id: str, provider: Provider, memory_ids: Sequence[str], view: View) -> Read:
    """Look up whom a question names, nowhere but among members and in these memories."""
    asked = phrases(question)
    if not asked:
        return Read(Named(), question)
    named = of_members(organisation_id, asked) | provider.named(memory_ids, asked, view)
    return Read(named, without(question, named.names))


def strangers(
    named: Named, provider: Provider, memory_ids: Sequence[str], question: Question, candidates: Sequence[Candidate]
) -> Collection[str]:
    """The members named in a question, when nothing it may look at is by, about, or so much as mentions any of them."""
    if not named.writers or named.entities or any(one.scores.get("fields") for one in candidates):
        return ()
    asked = Question(text=" ".join(sorted(named.names)), view=question.view, legs=frozenset({"text"}), depth=1)
    return () if provider.candidates(memory_ids, asked).candidates else sorted(named.names)
