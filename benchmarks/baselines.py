"""What a server is compared with, computed here: BM25, and a model's bare similarity, both over whole lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from math import log

import numpy as np

from benchmarks.corpus import Conversation
from memories.embedders.base import Embedder

WORD = re.compile(r"[a-z0-9]+")
# The usual constants; a short text is long here.
SATURATION, LENGTH = 1.2, 0.75

Ranking = list[str]
Ranker = Callable[[str], Ranking]


def bm25(conversation: Conversation) -> Ranker:
    """Rank the turns of a conversation, speakers included, by BM25 over lower-cased words."""
    bags = [Counter(WORD.findall(turn.content.lower())) for turn in conversation.turns]
    lengths = [bag.total() for bag in bags]
    mean = sum(lengths) / len(lengths)
    held: dict[str, list[int]] = {}
    for number, bag in enumerate(bags):
        for word in bag:
            held.setdefault(word, []).append(number)

    def rank(question: str) -> Ranking:
        scores: dict[int, float] = {}
        for word in set(WORD.findall(question.lower())):
            having = held.get(word, [])
            tells = log(1 + (len(bags) - len(having) + 0.5) / (len(having) + 0.5))
            for number in having:
                count, share = bags[number][word], lengths[number] / mean
                gain = count * (SATURATION + 1) / (count + SATURATION * (1 - LENGTH + LENGTH * share))
                scores[number] = scores.get(number, 0.0) + tells * gain
        return [conversation.turns[number].id for number in sorted(scores, key=lambda one: (-scores[one], one))]

    return rank


def bare(conversation: Conversation, embedder: Embedder) -> Ranker:
    """Rank the turns of a conversation, speakers included, by cosine similarity, the question as it is."""
    vectors = embedder.embed([turn.content for turn in conversation.turns])
    ids: Sequence[str] = [turn.id for turn in conversation.turns]

    def rank(question: str) -> Ranking:
        likeness = vectors @ embedder.embed_query(question)
        return [ids[number] for number in np.argsort(-likeness, kind="stable")]

    return rank
