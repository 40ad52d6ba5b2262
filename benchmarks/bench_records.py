"""Measures how quickly records are written, listed, looked back at and exported, and what memory an export takes.

    python -m benchmarks.bench_records --scale small

It runs on an embedded Postgres of its own, as durable as a server's, which is thrown away afterwards. Requests go
through the whole application in this process, one after the other, with no network between. Exit code 0: measured;
1: an answer was not what had been written; 2: the database cannot be run.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from benchmarks import report, stage
from benchmarks.records_load import Bench, Scale, advance, embedding_beside_none, expect
from benchmarks.stage import peak_mib

NOTES = (
    "Requests are complete (API key, access, JSON both ways), one client, no network. Queries are the statements sent,",
    "savepoints included; BEGIN and COMMIT are not. The writer is an agent: what it imports or writes through the API",
    "is also put into the inbox. An import is `import_records`, a restore what `import_memory` does with versions as",
    "they were. What is listed and exported was loaded as rows, without words and vectors: neither reads those. Lists",
    "and history were read after VACUUM ANALYZE. An export runs in a new process, whose peak before it begins is that",
    "of the loaded application.",
)


SCALES = {
    "tiny": Scale(100, 10, 12, 3),
    "small": Scale(20_000, 500, 1_000, 100),
    "full": Scale(100_000, 500, 1_000, 100),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = stage.arguments(
        "Measures writing, listing, history and export of records.", SCALES, seed="of what is written"
    )
    options = parser.parse_args(arguments)

    def measure() -> dict[str, Any]:
        with stage.database("records") as directory:
            return run(directory, options.scale, options.seed)

    return stage.perform(measure, describe, options.json)


def run(directory: Path, scale: str, seed: int) -> dict[str, Any]:
    """Migrate, write and read; return all numbers. Raises Wrong."""
    from django.db import connection

    stage.migrate()
    size = SCALES[scale]
    try:
        bench = Bench(size, Random(seed))
        bulk = [bench.imported(directory, size.bulk), bench.restored(size.bulk)]
        memories = [bulk[0].pop("memory"), bench.loaded(size.records)]
        single = [*bench.single(), *embedding_beside_none(size, Random(seed))]
        record_id = bench.revise()
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        reads = [*bench.lists(memories[1]), *bench.history(record_id)]
        exports = [exported(directory, *one) for one in zip(memories, (size.bulk, size.records), strict=True)]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database()) / 1048576.0")
            database_mib = round(float(cursor.fetchone()[0]), 1)
    finally:
        connection.close()
    return {
        "machine": report.machine(),
        "scale": scale,
        "records": size.records,
        "versions": size.versions,
        "database_mib": database_mib,
        "embedding": round(single[1]["p95_ms"] / single[2]["p95_ms"], 2),
        "writes": [*bulk, *single, bench.revised],
        "reads": reads,
        "exports": exports,
    }


def exported(directory: Path, memory: str, count: int) -> dict[str, Any]:
    """Export a memory in a new process, as `export_memory` does, and return what that took. Raises Wrong."""
    target = directory / f"export-{count}"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        figures: dict[str, Any] = pool.apply(export_alone, (memory, str(target), count))
        # It ends by itself: one that is stopped leaves the lock of its progress bar behind.
        pool.close()
        pool.join()
    expect("records that were exported", figures["records"], count)
    figures["megabytes"] = round(sum(one.stat().st_size for one in target.rglob("*") if one.is_file()) / 1e6, 1)
    shutil.rmtree(target)
    return figures


def export_alone(memory: str, target: str, count: int) -> dict[str, Any]:
    """Export a memory in this process, which does nothing else; memory is the peak before and after, in MiB."""
    import django

    django.setup()
    from memories.models import Memory
    from memories.services.exports import export

    root = Memory.objects.get(pk=memory)
    before = peak_mib()
    with tqdm(total=count, desc=f"export {count:,}", unit=" records", mininterval=1.0) as bar:
        started = time.perf_counter()
        counts = export(root, Path(target), lambda what, done: advance(bar, done if what == "records" else 0))
        seconds = time.perf_counter() - started
    return {
        "records": counts["records"],
        "seconds": round(seconds, 2),
        "per_second": round(counts["records"] / seconds, 1),
        "peak_before_mib": round(before, 1),
        "peak_mib": round(peak_mib(), 1),
    }


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    machine = summary["machine"]
    writes = [
        [one["what"], f"{one['per_second']:,.0f}", _span(one) if "p50_ms" in one else "", _queries(one)]
        for one in summary["writes"]
    ]
    reads = [[one["what"], f"{one['p50_ms']:.1f}", f"{one['p95_ms']:.1f}", _queries(one)] for one in summary["reads"]]
    exports = [
        [
            f"export of {one['records']:,} records",
            f"{one['per_second']:,.0f}",
            f"{one['megabytes']:.1f}",
            f"{one['peak_before_mib']:.1f}",
            f"{one['peak_mib']:.1f}",
            f"{one['peak_mib'] - one['peak_before_mib']:.1f}",
        ]
        for one in summary["exports"]
    ]
    return "\n".join(
        [
            "```text",
            report.on(machine),
            f"{summary['scale']}: a memory of {summary['records']:,} records, one record with {summary['versions']:,} "
            f"versions; hashing embedder, embedded Postgres that waits for the disk, {summary['database_mib']:.0f} MiB",
            "```",
            "",
            report.table(["writes, one client", "per second", "p50 / p95, ms", "queries"], writes),
            "",
            f"Remembering while a worker makes the vectors beside remembering while none are made, at p95: "
            f"{summary['embedding']}.",
            "",
            report.table(["reads", "p50, ms", "p95, ms", "queries"], reads),
            "",
            report.table(
                ["export", "per second", "MB", "peak before, MiB", "peak after, MiB", "growth, MiB"],
                exports,
            ),
            "",
            *NOTES,
        ]
    )


def _span(figures: dict[str, Any]) -> str:
    return f"{figures['p50_ms']:.1f} / {figures['p95_ms']:.1f}"


def _queries(figures: dict[str, Any]) -> str:
    if "queries_p50" not in figures:
        return ""
    usual, most = figures["queries_p50"], figures["queries_max"]
    return f"{usual}" if usual == most else f"{usual}, at most {most}"


if __name__ == "__main__":
    sys.exit(main())
