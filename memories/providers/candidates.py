"""Finding candidates: each signal brings its best, those said around them join, and every one gets every score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from memories.embedders.base import Embedder, EmbedderUnavailable

from . import fields, late, meaning, neighbours, terms, words
from .active import UNAVAILABLE
from .base import Candidate, Found, Question
from .vectors import EMBEDDED

MEANING, CONTEXT, WORDS, FIELDS, TEXT = "meaning", "context", "words", "fields", "text"
NEIGHBOURS, TERMS = "neighbours", "terms"
# Which of the vectors of a version each signal compares.
ASPECTS = {MEANING: "own", CONTEXT: "context"}

Scores = dict[str, dict[int, float]]
Around = Mapping[int, tuple[int | None, int | None]]


def find(memory_ids: Sequence[str], question: Question, embedder: Callable[[], Embedder]) -> Found:
    """The best by each signal that the question uses, in these memories only, with the scores of all for each."""
    legs = {leg for leg in question.legs if (question.text if leg == TEXT else question.query)}
    signals = _Signals(memory_ids, question, legs, embedder)
    scores = signals.best()
    more = any(len(found) >= question.depth for found in scores.values())
    keys = {key for found in scores.values() for key in found}
    around = neighbours.around(keys, question.view) if NEIGHBOURS in legs else {}
    keys |= {key for pair in around.values() for key in pair if key is not None}
    signals.complete(scores, keys)
    asked: tuple[str, ...] = ()
    matched: Mapping[int, frozenset[str]] = {}
    if question.query:
        asked, matched = terms.matched(question.meant or question.query, memory_ids, keys)
    before, after = _links(around)
    candidates = [
        Candidate(
            key,
            {leg: found[key] for leg, found in scores.items() if key in found},
            matched.get(key, frozenset()),
            before.get(key),
            after.get(key),
        )
        for key in keys
    ]
    return Found(candidates, asked, signals.model, more, signals.notes)


class _Signals:
    """The signals of one question: what each finds by itself, and what it says of what the others found."""

    def __init__(
        self, memory_ids: Sequence[str], question: Question, legs: Collection[str], embedder: Callable[[], Embedder]
    ) -> None:
        self._memories, self._question, self._legs = memory_ids, question, legs
        self._aspects = {leg: aspect for leg, aspect in ASPECTS.items() if leg in legs}
        self._texts = {leg: text for leg, text in ((WORDS, question.query), (TEXT, question.text)) if leg in legs}
        self.model = ""
        self.notes: tuple[str, ...] = ()
        if self._aspects:
            try:
                asked_by = embedder()
                self._vector = asked_by.embed_query((question.meant or question.query)[:EMBEDDED])
                self.model = asked_by.name
                if not late.catch_up(memory_ids, asked_by, late.PATIENCE_SECONDS):
                    self.notes = (late.NOTE,)
            except EmbedderUnavailable:
                # Words still answer.
                self._aspects, self.notes = {}, (UNAVAILABLE,)

    def best(self) -> Scores:
        """The best by each signal."""
        view, depth = self._question.view, self._question.depth
        scores: Scores = {}
        for leg, aspect in self._aspects.items():
            scores[leg] = meaning.by_meaning(self._vector, self.model, self._memories, view, depth, aspect)
        for leg, text in self._texts.items():
            scores[leg] = words.by_words(text, self._memories, view, depth, phrases=leg == TEXT)
        if FIELDS in self._legs and self._question.named.entities:
            scores[FIELDS] = fields.by_fields(self._question.named, self._memories, view, depth)
        return scores

    def complete(self, scores: Scores, keys: Collection[int]) -> None:
        """Add the scores of all these versions for each signal; who says nothing to a signal stays without."""
        for leg, aspect in self._aspects.items():
            if missing := keys - scores[leg].keys():
                scores[leg] |= meaning.meaning_of(self._vector, self.model, missing, aspect)
        for leg, text in self._texts.items():
            # Where the words of the question are told apart, their joint rank has brought candidates and is done.
            weighed = leg == TEXT or TERMS not in self._legs
            if weighed and (missing := keys - scores[leg].keys()):
                scores[leg] |= words.words_of(text, missing, phrases=leg == TEXT)
        if CONTEXT in scores and (alone := keys - scores[CONTEXT].keys()):
            # What was said in no conversation is its own context.
            own = scores.get(MEANING) or meaning.meaning_of(self._vector, self.model, alone)
            scores[CONTEXT] |= {key: own[key] for key in alone if key in own}
        if FIELDS in self._legs:
            scores[FIELDS] = fields.by_or_about(self._question.named, keys)


def _links(around: Around) -> tuple[dict[int, int], dict[int, int]]:
    # Who joined as a neighbour has at least the one that brought it beside it.
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for key, (earlier, later) in around.items():
        if earlier is not None:
            before[key], after[earlier] = earlier, key
        if later is not None:
            after[key], before[later] = later, key
    return before, after
