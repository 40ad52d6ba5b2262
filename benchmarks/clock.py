"""Times calls in this process, one after the other, and counts the statements that each of them sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

from benchmarks import metrics


@dataclass
class Times:
    """Milliseconds of every call of one kind, and the statements it sent."""

    whole: list[float] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)

    def add(self, other: Times) -> None:
        """Take calls of the same kind that were timed elsewhere."""
        self.whole += other.whole
        self.queries += other.queries

    @property
    def seconds(self) -> float:
        """All calls together."""
        return sum(self.whole) / 1000

    def summary(self) -> dict[str, float | int]:
        """The figures that are published."""
        return {
            "calls": len(self.whole),
            "p50_ms": round(metrics.percentile(self.whole, 50), 2),
            "p95_ms": round(metrics.percentile(self.whole, 95), 2),
            "queries_p50": int(metrics.percentile(self.queries, 50)),
            "queries_max": max(self.queries),
        }


def clock(name: str, calls: Sequence[Callable[[], object]], *, silent: bool = False) -> Times:
    """Make calls one after the other behind a progress bar of this name, or none; Django has to be set up.

    Savepoints count as statements, BEGIN and COMMIT do not.
    """
    from django.db import connection

    times = Times()
    sent = 0

    def count(execute: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal sent
        sent += 1
        return execute(*arguments)

    with connection.execute_wrapper(count):
        for call in tqdm(calls, desc=name, unit=" calls", mininterval=1.0, disable=silent):
            sent, started = 0, time.perf_counter()
            call()
            times.whole.append((time.perf_counter() - started) * 1000)
            times.queries.append(sent)
    return times
