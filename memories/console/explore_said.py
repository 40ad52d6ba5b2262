"""What a recall tells, in sentences: why it declined, what it did not do, and what its signals are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memories.recall import abstain
from memories.recall.abstain import Evidence

SIGNALS = {
    "meaning": "Meaning",
    "context": "Meaning in context",
    "terms": "Telling words",
    "words": "Words",
    "text": "Exact words",
}
WHY = {
    "query": "found by the question",
    "text": "has the exact words",
    "filters": "meets the filters",
}
REASONS = {
    abstain.NOTHING: "Nothing came near the question.",
    abstain.EVIDENCE: "What was found resembles the question less than answers usually do.",
    abstain.STRANGER: "The question names somebody, and nothing here is by, about or so much as mentions them.",
    abstain.WORDS: "No word of the question occurs in anything that was looked at.",
}
NOTES = (
    (r"query:embedder_unavailable", "The model that compares meanings could not be reached; only words were compared."),
    (r"query:vectors_awaited", "What was written a moment ago was compared by its words only."),
    (r"words:common_ones_left_out", "The most common words of the question were left out of the search by words."),
    (r"words:capped_at_(\d+)_records", "So many records have these words that only {} of them were ranked by words."),
    (r"text:capped_at_(\d+)_records", "Only {} records with these words were read for the phrase in quotes."),
    (r"time:capped_at_(\d+)_ms", "It took too long, and was cut short after {} milliseconds."),
    (r"results:capped_at_(\d+)", "There are more results than the {} that one answer holds."),
    (r"subtree:capped_at_(\d+)_memories", "There are more memories below than one question covers: the {} nearest."),
    (r"records:capped_at_(\d+)", "There are more records than the {} that one graph walks through."),
    (r"edges:capped_at_(\d+)", "There are more links than the {} that one graph holds."),
    (r"(\w+):not_supported", "The signal {} is not one that this server knows; it was left out."),
)
# Where the figure is drawn, in its own units.
LEFT, WIDTH = 10, 300


def sentence(note: str) -> str:
    """What a note in `degraded` means."""
    for pattern, said in NOTES:
        if match := re.fullmatch(pattern, note):
            return said.format(*(f"{int(one):,}" if one.isdigit() else one for one in match.groups()))
    return f"Something was not done ({note})."


def sentences(notes: Sequence[str]) -> list[str]:
    """What the notes in `degraded` mean, each once."""
    return list(dict.fromkeys(map(sentence, notes)))


@dataclass(frozen=True)
class Decision:
    """Whether recall declined to answer, why, and by how much: percentages, and where they are drawn."""

    abstained: bool
    reason: str
    percent: int | None = None
    threshold: int | None = None
    at: int = 0
    threshold_at: int = 0

    @property
    def width(self) -> int:
        """How wide the part of the figure is in which recall declines."""
        return self.threshold_at - LEFT


def decision(evidence: Evidence | None) -> Decision | None:
    """The decision that rests on some evidence; None where nothing was decided."""
    if evidence is None:
        return None
    reason = REASONS.get(evidence.reason, "")
    if evidence.probability is None or evidence.threshold is None:
        return Decision(evidence.abstain, reason)
    return Decision(
        evidence.abstain,
        reason,
        round(evidence.probability * 100),
        round(evidence.threshold * 100),
        LEFT + round(evidence.probability * WIDTH),
        LEFT + round(evidence.threshold * WIDTH),
    )
