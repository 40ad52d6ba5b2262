"""From a question to the best versions: as many candidates as it takes, fused, opened as far as needed, folded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memories.content import words_of
from memories.providers.base import Found, Provider, Question, RecordVersion
from memories.providers.vectors import speaker_of, telling_attributes

from . import fusion
from .fold import Print, fold, groups, print_of
from .fusion import Ranked
from .names import Read
from .profiles import Profile

# Each signal brings so many candidates for each result; more, when all of them say the same, and never more than these.
FOR_EACH_RESULT = 5
DEEPER = 4
DEEPEST = 3_200
# So many of the best are opened and compared at first, for each result.
OPENED = 2


@dataclass(frozen=True)
class Shown:
    """A version that is shown, how it was ranked, and the near-identical ones that are not."""

    version: RecordVersion
    ranked: Ranked
    similar: tuple[RecordVersion, ...] = ()


def prepared(question: Question, read: Read, profile: Profile) -> Question:
    """The question as a profile puts it to a provider."""
    return replace(
        question,
        meant=read.meant if profile.names else question.query,
        named=read.named,
        legs=profile.legs,
        depth=max(profile.depth, question.limit * FOR_EACH_RESULT),
    )


def best(
    provider: Provider, memories: Sequence[str], question: Question, profile: Profile
) -> tuple[Found, Sequence[Shown]]:
    """All candidates, and the best of them: as many as there are, at most the limit, no two alike while others are."""
    while True:
        found = provider.candidates(memories, question)
        ranked = fusion.fuse(found.candidates, profile, found.words)
        shown, enough = _opened(provider, ranked, question, profile)
        if enough or not found.more or question.depth >= DEEPEST:
            return found, shown
        question = replace(question, depth=question.depth * DEEPER)


def _opened(
    provider: Provider, ranked: Sequence[Ranked], question: Question, profile: Profile
) -> tuple[Sequence[Shown], bool]:
    # The versions to show, and whether each of them says something else or nothing else was there to say.
    limit, taken = question.limit, 0
    opened: list[tuple[Ranked, RecordVersion]] = []
    # Who asks for every version means every one.
    folds = profile.fold and not question.view.include_all
    while True:
        window = ranked[taken : max(taken * 2, limit * OPENED)]
        versions = provider.open([one.key for one in window], question.view)
        opened += [(one, versions[one.key]) for one in window if one.key in versions]
        taken += len(window)
        if folds:
            found = groups([_print(version) for _, version in opened])
        else:
            found = [[place] for place in range(len(opened))]
        enough = len(found) >= limit
        if enough or taken >= len(ranked):
            shown = []
            for kept in fold(found, limit):
                one, version = opened[kept.place]
                shown.append(Shown(version, one, tuple(opened[place][1] for place in kept.behind)))
            return shown, enough


def _print(version: RecordVersion) -> Print:
    draft = version.draft
    told = [
        draft.type,
        speaker_of(draft),
        draft.valid_from,
        draft.valid_to,
        telling_attributes(draft.attributes or {}),
        draft.file_ids,
    ]
    return print_of(words_of(draft.title, draft.content, {}), json.dumps(told, sort_keys=True, default=str))
