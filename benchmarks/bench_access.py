"""Measures the questions of access on a large tree, beside the two things a Django team would otherwise use.

    python -m benchmarks.bench_access --scale small

It runs on a database of its own, which is thrown away, or on an empty one that --database-url names. Exit code 0:
measured; 1: two methods disagreed, or what was loaded is not what the product writes; 2: the database cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import access_corpus, report, stage
from benchmarks.stage import Unusable

PRODUCT, CTE, CTE_FROM_HELD, LIBRARIES = (
    "Heartwood",
    "recursive CTE",
    "recursive CTE from what is held",
    "guardian + treebeard",
)
NOTES = (
    "Every method gave every answer alike before any was timed; the caller's groups are known beforehand. Of two ways",
    "to write the CTE for readable sets the quicker one is shown. guardian + treebeard know no closed branch: the",
    "application stops at the first one above, and asks for permission rows by chain or by user. Writes include the",
    "checks of foreign keys that a commit makes, and are taken back.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = stage.arguments(
        "Measures who may read which memory, beside two other ways.",
        access_corpus.SCALES,
        seed="of the world and of who asks",
    )
    parser.add_argument("--database-url", metavar="URL", help="an empty Postgres database; without it, one is started")
    options = parser.parse_args(arguments)

    def measure() -> dict[str, Any]:
        settings = "benchmarks.access_settings"
        with stage.database("access", durable=False, url=options.database_url, DJANGO_SETTINGS_MODULE=settings):
            return run(options.scale, options.seed)

    return stage.perform(measure, describe, options.json)


def run(scale: str, seed: int) -> dict[str, Any]:
    """Migrate, load, compare and measure; return all numbers. Raises Unusable and Wrong."""
    import django
    from django.core.management import call_command
    from django.db import DatabaseError, connection

    django.setup()
    try:
        tables = connection.introspection.table_names()
        if "members_organisation" in tables:
            raise Unusable("The database is in use: name an empty one.")
        call_command("migrate", verbosity=0)
        # The libraries' tables have no migrations, and refer to the product's.
        call_command("migrate", run_syncdb=True, verbosity=0)
    except DatabaseError as error:
        raise Unusable(f"The database cannot be used: {str(error).strip()}") from error
    from benchmarks import access_load, access_measure

    corpus = access_corpus.grow(access_corpus.SCALES[scale], seed)
    try:
        seconds = access_load.load(corpus)
        proven = access_load.prove_reach(corpus) if scale == "tiny" else None
        sizes = access_load.sizes()
        rows = access_measure.measure(corpus, seed)
    finally:
        connection.close()
    return {
        "machine": report.machine(),
        "scale": scale,
        "corpus": about(corpus),
        "load_seconds": seconds,
        "reach_rows_proven": proven,
        "tables": sizes,
        "rows": rows,
    }


def about(corpus: access_corpus.Corpus) -> dict[str, Any]:
    """What the figures depend on besides the machine."""
    return {
        "organisations": len(corpus.roots),
        "memories": len(corpus.organisation),
        "depth": max(corpus.depth),
        "restricted": sum(corpus.restricted),
        "grants": len(corpus.grants) + len(corpus.to_everyone),
        "members": len(corpus.members.organisation),
        "groups": len(corpus.members.groups),
        "reach": sum(corpus.depth),
        "largest_organisation": corpus.organisation.count(0),
        "branch": len(corpus.subtree(corpus.branch)),
        "branch_depth": corpus.depth[corpus.branch],
    }


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    machine, corpus, tables = summary["machine"], summary["corpus"], summary["tables"]
    reach, memories = tables["memories_reach"], tables["memories_memory"]
    folders = sum(figures["mb"] for name, figures in tables.items() if name.startswith("access_rival"))
    methods = (PRODUCT, CTE, "times", LIBRARIES, "times")
    return "\n".join(
        [
            report.on(machine),
            f"{summary['scale']}: {corpus['memories']:,} memories {corpus['depth']} levels deep in "
            f"{corpus['organisations']} organisations, {corpus['restricted']:,} restricted; {corpus['grants']:,} "
            f"grants to {corpus['members']:,} members and {corpus['groups']:,} groups; the largest organisation has "
            f"{corpus['largest_organisation']:,} memories, the branch {corpus['branch']:,}",
            f"memories {memories['mb']:.0f} MB, reach {reach['mb']:.0f} MB ({reach['rows']:,} rows, indexes "
            f"{reach['indexes_mb']:.0f} MB); {LIBRARIES} {folders:.0f} MB; loaded in "
            f"{sum(summary['load_seconds'].values()):.0f} s",
            "",
            report.table(["p50 / p95, ms", *methods], [_row(row, "", _span) for row in summary["rows"]]),
            "",
            report.table(
                ["of that in the database, p50, ms (queries)", *methods],
                [_row(row, "database_", _in_database) for row in summary["rows"]],
            ),
            "",
            *NOTES,
        ]
    )


def _row(row: dict[str, Any], part: str, show: Callable[[dict[str, Any]], str]) -> list[str]:
    methods, field = row["methods"], f"{part}p50_ms"
    ways = [methods[name] for name in (CTE, CTE_FROM_HELD) if name in methods]
    product, libraries = methods[PRODUCT], methods[LIBRARIES]
    cte = min(ways, key=lambda figures: float(figures[field]))
    rivals = [(show(rival), _times(rival[field] / product[field])) for rival in (cte, libraries)]
    return [row["question"], show(product), *rivals[0], *rivals[1]]


def _span(figures: dict[str, Any]) -> str:
    return f"{figures['p50_ms']:.1f} / {figures['p95_ms']:.1f}"


def _in_database(figures: dict[str, Any]) -> str:
    return f"{figures['database_p50_ms']:.2f} ({_queries(figures)})"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _queries(figures: dict[str, Any]) -> str:
    least, most = figures["queries_min"], figures["queries_max"]
    return f"{least}" if least == most else f"{least} to {most}"


if __name__ == "__main__":
    sys.exit(main())
