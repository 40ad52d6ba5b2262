"""Measures how well signals tell what they are about, on the examples written for them, and what looking costs.

    python -m benchmarks.bench_signals [--seeds 5] [--misses]

Precision is the share of texts held for something that are it; recall the share of those that are it that are held for
it; a text counts from weight 0.5 on. Values in the blanks of the examples are invented anew for each seed. Exit code 0.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.signal_corpus import KINDS, Example, examples
from memories.signals.base import NOTABLE
from memories.signals.look import look_at

KILOBYTE = 1024
ROUNDS = 5
NOTES = (
    "Nora moved to the flat above the bakery in May and asked us to send the invoices there. The landlord wants the "
    "boiler checked before winter; Jonas has the number of the plumber. On Thursday we went through the budget: paint "
    "is gone, two chairs were broken, the rest holds until March 2025. Der Termin am 14.3. wurde verschoben, die "
    "Unterlagen liegen im Schrank. La réunion commence à neuf heures, salle 204. Deployments run from the main branch "
    "after the tests have passed, and somebody looks at the graphs for ten minutes. "
)


@dataclass(frozen=True)
class Score:
    """How many of the true and of the false examples were held for it."""

    hits: int
    true: int
    wrong: int
    false: int

    @property
    def precision(self) -> float:
        """From 0 to 1; 1 when nothing was held for it."""
        return self.hits / (self.hits + self.wrong) if self.hits + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """From 0 to 1."""
        return self.hits / self.true if self.true else 1.0


def held(example: Example) -> bool:
    """Whether the text is held for what its kind is about."""
    wanted = KINDS[example.kind]
    return any(one.kind in wanted and one.weight >= NOTABLE for one in look_at(example.text))


def score(shown: Sequence[Example]) -> Score:
    """The score of some examples of one kind."""
    found = [(example.true, held(example)) for example in shown]
    return Score(
        hits=sum(true and hit for true, hit in found),
        true=sum(true for true, _ in found),
        wrong=sum(hit and not true for true, hit in found),
        false=sum(not true for true, _ in found),
    )


def cost(text: str, size: int) -> float:
    """Microseconds of processor time per kilobyte of looking at a text of this many bytes; the best of some rounds."""
    repeated = (text * (size // len(text.encode()) + 1)).encode()[:size].decode(errors="ignore")
    best = float("inf")
    for _ in range(ROUNDS):
        begun = time.process_time()
        look_at(repeated)
        best = min(best, time.process_time() - begun)
    return best * 1e6 * KILOBYTE / size


def main(argv: Sequence[str] | None = None) -> int:
    """Print precision and recall by kind, then what looking costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="how often the blanks are filled in anew")
    parser.add_argument("--misses", action="store_true", help="print what was told wrongly with the first seed")
    options = parser.parse_args(argv)
    print(f"{'kind':<12} {'true':>5} {'false':>6} {'precision':>10} {'recall':>8}   worst of {options.seeds} seeds")
    for kind in KINDS:
        scores = [score(examples(kind, seed)) for seed in range(1, options.seeds + 1)]
        precision, recall = min(one.precision for one in scores), min(one.recall for one in scores)
        print(f"{kind:<12} {scores[0].true:>5} {scores[0].false:>6} {precision:>10.3f} {recall:>8.3f}")
    if options.misses:
        for example in (one for kind in KINDS for one in examples(kind)):
            if held(example) != example.true:
                print(f"  {'missed' if example.true else 'wrongly'} {example.kind}: {example.text[:100]!r}")
    dense = " ".join(one.text for kind in ("instruction", "secret") for one in examples(kind) if not one.true)
    print(f"\n{'microseconds of CPU per KB':<30} {'1 KB':>8} {'16 KB':>8} {'256 KB':>8}")
    for name, text in (("ordinary notes", NOTES), ("about prompts and keys", dense)):
        figures = [cost(text, size) for size in (KILOBYTE, 16 * KILOBYTE, 256 * KILOBYTE)]
        print(f"{name:<30} " + " ".join(f"{one:>8.0f}" for one in figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
