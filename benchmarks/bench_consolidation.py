"""Measures what the default engine of consolidation keeps of long conversations, how much, and how well it is found.

    python -m benchmarks.bench_consolidation --data locomo10.json

Without --data it does the same with an invented corpus. No server and no database: the engine reads episodes and
writes into a memory in this process, and questions are answered by a simple scorer (meaning by the bundled embedder,
words by BM25), so the figures compare derived records with raw turns and are no figures of the server's recall.
Exit code 0: measured; 2: the data cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from tqdm import tqdm

from benchmarks import locomo_format, metrics, report, stage
from benchmarks.corpus import ADVERSARIAL, Conversation, Question, generate
from benchmarks.scorer import Scorer, Vectors
from benchmarks.shelf import Shelf, cited, episode
from benchmarks.stage import Unusable
from memories.consolidation.base import Kept
from memories.consolidation.registry import default

BATCH, BEFORE = 50, 4
LIMIT = 10
TUNED = 5
"""The rules were tuned while looking at the first so many conversations, and at none of the others."""
RAW, DERIVED, BOTH = "raw turns", "derived records", "both"
NOTES = (
    "Evidence: turns that the answerable questions name; it is kept when a derived record cites it, which carries what",
    "was kept of its words. Records are all that the engine wrote, entities included. recall@10 is the share of a",
    "question's evidence among the first ten results, a derived record standing for every turn it cites: it is longer",
    "than a turn, so the characters of the ten are given too. Scorer: 0.7 meaning, 0.3 BM25, in this process; not the",
    "server's recall.",
)


@dataclass(frozen=True)
class Made:
    """What the engine made of one conversation."""

    conversation: Conversation
    shelf: Shelf
    seconds: float

    @property
    def questions(self) -> list[Question]:
        """The questions that have an answer and say where it is."""
        return [one for one in self.conversation.questions if one.category != ADVERSARIAL and one.evidence]

    @property
    def evidence(self) -> set[str]:
        """The turns that answer some question."""
        return {turn for one in self.questions for turn in one.evidence}

    @property
    def citing(self) -> Mapping[str, Sequence[str]]:
        """The turns that each derived record cites, entities left out."""
        return {id: cited(one) for id, one in self.shelf.facts.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = argparse.ArgumentParser(description="Measures what the default engine of consolidation keeps.")
    parser.add_argument("--data", type=Path, help="the LoCoMo file; without it the corpus is invented")
    parser.add_argument("--conversations", type=int, help="only the first so many")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="keep vectors in this .npz file between runs")
    parser.add_argument("--no-recall", action="store_true", help="leave out the questions, and with them the embedder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    options = parser.parse_args(arguments)

    def measured() -> dict[str, Any]:
        conversations = choose(options.data, options.conversations)
        vectors = None if options.no_recall else Vectors(options.cache)
        summary = measure(conversations, vectors, invented=options.data is None)
        if vectors:
            vectors.save()
        return summary

    return stage.perform(measured, describe, options.json)


def choose(data: Path | None, most: int | None) -> list[Conversation]:
    """The conversations to read. Raises Unusable."""
    if data is None:
        return generate(conversations=10, sessions=5, turns=16)[:most]
    try:
        return locomo_format.load(data)[:most]
    except (OSError, ValueError) as error:
        raise Unusable(f"The data cannot be used: {error}") from error


def measure(conversations: Sequence[Conversation], vectors: Vectors | None, *, invented: bool) -> dict[str, Any]:
    """Consolidate every conversation, ask its questions, and return the figures of each part."""
    made = [consolidate(one) for one in tqdm(conversations, desc="consolidate", unit=" conversations")]
    parts = {"all": made}
    if not invented and len(made) > TUNED:
        parts = {f"1-{TUNED}, tuned on": made[:TUNED], f"{TUNED + 1}-{len(made)}, held out": made[TUNED:], "all": made}
    asked = [ask(one, vectors) for one in tqdm(made, desc="ask", unit=" conversations")] if vectors else []
    turns, seconds = sum(len(one.conversation.turns) for one in made), sum(one.seconds for one in made)
    return {
        "machine": report.machine(),
        "corpus": "invented" if invented else "LoCoMo",
        "kept": [{"part": name, **kept(part)} for name, part in parts.items()],
        "found": [
            {"part": name, **found([asked[made.index(one)] for one in part])} for name, part in parts.items() if asked
        ],
        "episodes": turns,
        "seconds": round(seconds, 3),
        "episodes_per_second": round(turns / seconds, 1),
    }


def consolidate(conversation: Conversation) -> Made:
    """Read one conversation in batches, as a run does, and take the processor time of the engine alone."""
    engine, shelf = default(), Shelf()
    episodes = [
        episode(turn.id, turn.text, turn.said_at, turn.speaker, session=str(turn.session))
        for turn in conversation.turns
    ]
    started = process_time()
    before: Sequence[Kept] = ()
    for start in range(0, len(episodes), BATCH):
        batch = episodes[start : start + BATCH]
        shelf.write(engine.propose(batch, before, shelf), batch[-1].written_at)
        before = batch[-BEFORE:]
    return Made(conversation, shelf, process_time() - started - shelf.seconds)


def kept(made: Sequence[Made]) -> dict[str, Any]:
    """How much was kept, and how much of what is asked about."""
    turns = sum(len(one.conversation.turns) for one in made)
    records, facts = sum(len(one.shelf.records) for one in made), sum(len(one.shelf.facts) for one in made)
    evidence = sum(len(one.evidence) for one in made)
    held = sum(len(one.evidence & {turn for turns in one.citing.values() for turn in turns}) for one in made)
    kinds = {
        kind: sum(one.shelf.kinds[kind] for one in made) for kind in ("support", "supersede", "conflict", "forget")
    }
    return {
        "turns": turns,
        "facts": facts,
        "entities": records - facts,
        "records_per_turn": round(records / turns, 4) if turns else 0.0,
        "evidence": evidence,
        "evidence_kept": round(held / evidence, 4) if evidence else 0.0,
        "turns_cited": round(sum(len({t for c in one.citing.values() for t in c}) for one in made) / turns, 4),
        **kinds,
    }


Asked = Mapping[str, Sequence[tuple[float, int]]]


def ask(made: Made, vectors: Vectors) -> Asked:
    """For every question and each of the three things to look in: recall@10, and the characters of the ten."""
    turns = {turn.id: turn.content for turn in made.conversation.turns}
    facts = {id: one.draft.said for id, one in made.shelf.facts.items()}
    standing = {**{id: [id] for id in turns}, **made.citing}
    places = {RAW: turns, DERIVED: facts, BOTH: {**turns, **facts}}
    scorers = {name: Scorer(texts, vectors) for name, texts in places.items()}
    vectors.embed([one.text for one in made.questions])
    results: dict[str, list[tuple[float, int]]] = {name: [] for name in places}
    for question in made.questions:
        for name, scorer in scorers.items():
            best = scorer.best(question.text, LIMIT)
            seen = {turn for id in best for turn in standing[id]}
            share = len(seen.intersection(question.evidence)) / len(set(question.evidence))
            results[name].append((share, sum(len(places[name][id]) for id in best)))
    return results


def found(asked: Sequence[Asked]) -> dict[str, Any]:
    """The means over the questions."""
    return {
        name: {
            "questions": sum(len(one[name]) for one in asked),
            "recall": round(metrics.mean([share for one in asked for share, _ in one[name]]), 4),
            "characters": round(metrics.mean([length for one in asked for _, length in one[name]])),
        }
        for name in (RAW, DERIVED, BOTH)
    }


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    machine = summary["machine"]
    rows = [
        [
            one["part"],
            f"{one['turns']:,}",
            f"{one['facts']:,}",
            f"{one['entities']:,}",
            f"{one['records_per_turn']:.1%}",
            f"{one['turns_cited']:.1%}",
            f"{one['evidence_kept']:.1%}",
            f"{one['support']} / {one['supersede']} / {one['conflict']}",
        ]
        for one in summary["kept"]
    ]
    asked = [
        [
            f"{one['part']}: {name}",
            f"{one[name]['questions']:,}",
            f"{one[name]['recall']:.3f}",
            f"{one[name]['characters']:,}",
        ]
        for one in summary["found"]
        for name in (RAW, DERIVED, BOTH)
    ]
    header = ["conversations", "turns", "facts", "entities", "records per turn", "turns cited", "evidence kept"]
    tables = [report.table([*header, "repeated / replaced / conflicts"], rows)]
    if asked:
        tables.append(report.table(["looked in", "questions", f"recall@{LIMIT}", "characters"], asked))
    return "\n".join(
        [
            "```text",
            report.on(machine),
            f"{summary['corpus']}: {summary['episodes']:,} episodes in {summary['seconds']:.1f} s of one core, the "
            f"engine alone: {summary['episodes_per_second']:,.0f} episodes per second",
            "```",
            "",
            *(line for table in tables for line in (table, "")),
            *NOTES,
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
