"""The results of a recall as the explorer shows them: what matched, how the score came about, where it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from members.shell import ConsoleRequest
from memories.access import Privilege
from memories.models import GoldenQuestion, Memory
from memories.models.tree import MemoryQuerySet
from memories.providers.base import RecordVersion
from memories.reader import Reader
from memories.recall.fusion import Leg, Ranked
from memories.recall.marking import Marker, Piece, marker
from memories.recall.pipeline import Recalled
from memories.recall.profiles import Profile

from .explore_said import SIGNALS, WHY
from .nodes import Crumb, address
from .records import RecordView, record_rows

SNIPPET = 320
# How much of a text comes before the first word that is marked.
BEFORE = 60


@dataclass(frozen=True)
class LegView:
    """One signal of a result: what it is called, its place, its own score, that score between 0 and 1, its weight."""

    name: str
    rank: int
    raw: str
    normalised: str
    weight: str


@dataclass(frozen=True)
class Path:
    """The memories down to a record, as far up as they are shown; `hidden` says that there is more above."""

    steps: Sequence[Crumb]
    hidden: bool


@dataclass(frozen=True)
class Result:
    """One result: `title` and `snippet` in pieces; `elsewhere` is its place by the other profile, 0 for none."""

    place: int
    row: RecordView
    title: Sequence[Piece]
    snippet: Sequence[Piece]
    memory_id: str
    path: Path
    score: str
    legs: Sequence[LegView]
    about: str
    lent: str
    why: Sequence[str]
    similar: int
    golden: bool
    elsewhere: int | None = None


@dataclass(frozen=True)
class Words:
    """What was asked in words, and with it where the golden questions of that memory are looked for."""

    text: str
    memory: Memory


def results(
    request: ConsoleRequest,
    words: Words,
    recalls: Sequence[tuple[Profile, Recalled]],
    shown: MemoryQuerySet | None = None,
    *,
    by_version: bool = False,
) -> list[list[Result]]:
    """The results of one recall or several, in a constant number of queries.

    `shown` are the memories of which a path may tell, where somebody looks with other eyes.
    """
    hits = [hit for _, recalled in recalls for hit in recalled.hits]
    versions = {_key(hit.version): hit.version for hit in hits}
    rows = dict(zip(versions, record_rows(request, list(versions.values()), by_version=by_version), strict=True))
    texts = {key: (title_of(one, rows[key]), said(one)) for key, one in versions.items()}
    marks = marker(
        words.text, [text for pair in texts.values() for text in pair], request.organisation.id, words.memory.id
    )
    paths = paths_of(request, {one.memory_id for one in versions.values()}, shown)
    golden = _golden(words)
    ranks = [{_key(hit.version): place for place, hit in enumerate(one.hits, 1)} for _, one in recalls]
    found = []
    for index, (profile, recalled) in enumerate(recalls):
        other = ranks[1 - index] if len(ranks) == 2 else None
        found.append(
            [
                Result(
                    place=place,
                    row=rows[key],
                    title=marks.pieces(texts[key][0]),
                    snippet=snippet(texts[key][1], marks),
                    memory_id=hit.version.memory_id,
                    path=paths[hit.version.memory_id],
                    score="" if hit.score is None else f"{hit.score:.2f}",
                    legs=legs(hit.ranked, profile),
                    about=_share(hit.ranked.about if hit.ranked else 0.0),
                    lent=_share(hit.ranked.lent if hit.ranked else 0.0),
                    why=[WHY.get(one, one) for one in hit.why],
                    similar=len(hit.similar),
                    golden=(hit.version.memory_id, hit.version.id) in golden,
                    elsewhere=other.get(key, 0) if other is not None else None,
                )
                for place, hit in enumerate(recalled.hits, 1)
                for key in [_key(hit.version)]
            ]
        )
    return found


def title_of(version: RecordVersion, row: RecordView) -> str:
    """What a result is headed by: its title, or the start of what it says."""
    return (version.draft.title or row.excerpt or "Untitled record")[:200]


def said(version: RecordVersion) -> str:
    """All that a record says in words, on one line."""
    return " ".join(" ".join(str(part.get("text") or "") for part in version.draft.content).split())


def snippet(text: str, marks: Marker) -> Sequence[Piece]:
    """The stretch of a text in which most words are that were asked for, with these marked."""
    if len(text) <= SNIPPET:
        return marks.pieces(text)
    spans = marks.spans(text)
    starts = [max(0, start - BEFORE) for start, _ in spans] or [0]
    best = max(starts, key=lambda at: (sum(at <= start and stop <= at + SNIPPET for start, stop in spans), -at))
    # From the start of a word, and to the end of one.
    if best:
        best = text.find(" ", best, best + BEFORE) + 1 or best
    cut = text[best : best + SNIPPET]
    whole = cut.rpartition(" ")[0] if best + SNIPPET < len(text) and " " in cut else cut
    ends = [Piece("… ")] * (best > 0), [Piece(" …")] * (best + len(whole) < len(text))
    return (*ends[0], *marks.pieces(whole), *ends[1])


def legs(ranked: Ranked | None, profile: Profile) -> list[LegView]:
    """What each signal of a profile says of a result, those that say nothing left out."""
    if ranked is None:
        return []
    return [_leg(signal, ranked.legs[signal], profile) for signal in profile.weights if signal in ranked.legs]


def _leg(signal: str, leg: Leg, profile: Profile) -> LegView:
    name, weight = SIGNALS.get(signal, signal), profile.weights[signal]
    return LegView(name, leg.rank, f"{leg.raw:.3f}", f"{leg.normalised:.2f}", f"{weight:g}")


def paths_of(request: ConsoleRequest, memory_ids: Collection[str], shown: MemoryQuerySet | None) -> Mapping[str, Path]:
    """The way down to each of these memories, as far up as it is shown; a constant number of queries."""
    principals = request.caller.principals
    tree = Memory.objects.of(request.organisation.id)
    memories = list(tree.filter(pk__in=memory_ids).with_privileges(principals).held_by(principals, Privilege.READ))
    views = Reader(request.caller).memories(memories, counted=False)
    above = {one for view in views for one in view.ancestors}
    allowed = (shown if shown is not None else tree).filter(pk__in=above)
    known = {one.id: one for one in allowed}
    found: dict[str, Path] = {}
    for view in views:
        chain: list[Memory] = [view.memory]
        for ancestor in reversed(view.ancestors):
            if ancestor not in known:
                break
            chain.append(known[ancestor])
        steps = [Crumb(one.name, address(request, "memory", one.id)) for one in reversed(chain)]
        found[view.memory.id] = Path(steps, chain[-1].parent_id is not None)
    return {one: found.get(one, Path((), hidden=True)) for one in memory_ids}


def _golden(words: Words) -> set[tuple[str, str]]:
    kept = GoldenQuestion.objects.of(words.memory.organisation_id).filter(memory=words.memory, question=words.text)
    return set(kept.values_list("expected_memory_id", "expected_record_id")) if words.text else set()


def _key(version: RecordVersion) -> tuple[str, str, int]:
    return version.memory_id, version.id, version.number


def _share(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 0.005 else ""
