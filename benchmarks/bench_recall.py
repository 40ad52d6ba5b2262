"""Measures recall in a large organisation: by how much the one who asks may read, the whole call and its legs.

    python -m benchmarks.bench_recall --scale small

It runs on an embedded Postgres of its own, which is thrown away afterwards. Exit code 0: measured; 1: an answer was not
what the product promises; 2: the database cannot be run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import metrics, recall_corpus, report, stage
from benchmarks.stage import Unusable

NOTES = (
    "The whole call is the service, access included, with the question's vector given; records come back opened.",
    "Meaning includes counting what is readable. recall@10 compares the chosen plan with comparing everything; no",
    "search by meaning brought fewer rows than there are. Words follow Zipf's law, eight to a question.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    options = parse(arguments)

    def measure() -> dict[str, Any]:
        tuning = {
            "shared_buffers": options.shared_buffers,
            "max_parallel_maintenance_workers": str(options.builders - 1),
        }
        environment = {"HEARTWOOD_EMBEDDER": "benchmarks.recall_corpus.Planted", "HEARTWOOD_LOG_LEVEL": "ERROR"}
        with stage.database("recall", durable=False, keep=options.keep, tuning=tuning, **environment) as directory:
            return run(directory, options)

    return stage.perform(measure, describe, options.json)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = stage.arguments(
        "Measures recall by how much may be read.",
        recall_corpus.SCALES,
        seed="of the world and the questions",
        samples="questions asked of every place, instead of what the scale says",
    )
    parser.add_argument("--shared-buffers", default="192MB", help="of the database, as for Postgres (%(default)s)")
    parser.add_argument("--builders", type=int, default=1, help="processes that build the index (%(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the database there, and use it the next time")
    parser.add_argument("--no-http", action="store_true", help="leave out the server and the bundled model")
    return parser.parse_args(arguments)


def run(directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Migrate, load, build and measure; return all numbers. Raises Unusable and Wrong."""
    stage.migrate()
    from django.db import connection

    from benchmarks.recall_measure import Bench, embedding
    from memories.providers import plans

    scale = recall_corpus.SCALES[options.scale]
    plans.EXACT_UP_TO = scale.exact_up_to or plans.EXACT_UP_TO
    corpus = recall_corpus.grow(scale, options.seed)
    try:
        people, made = loaded(directory, options, corpus)
        bench = Bench(corpus, people, options.samples)
        rows = bench.measure()
        lists, fresh = bench.id_list(), bench.fresh()
        over_http = [] if options.no_http else served(directory, bench)
        model = {} if options.no_http else embedding(200, options.seed)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database()) / 1e9")
            gigabytes = round(float(cursor.fetchone()[0]), 2)
    finally:
        connection.close()
    return {
        **{"machine": report.machine(), "scale": options.scale, "shared_buffers": options.shared_buffers},
        **{"records": corpus.records, "memories": len(corpus.parent), "organisations": scale.small_organisations + 1},
        **{"database_gb": gigabytes, **made, "exact_up_to": plans.EXACT_UP_TO},
        **{"rows": rows, "id_list": lists, "fresh": fresh, "http": over_http, "embedding": model},
        "goals": goals(rows, lists, model),
    }


def loaded(directory: Path, options: argparse.Namespace, corpus: recall_corpus.Corpus) -> tuple[Any, dict[str, Any]]:
    """Load the world and build its index, or take it as an earlier run kept it; who is in it, and what that took."""
    from benchmarks import recall_load
    from benchmarks.recall_measure import build

    mark = directory / "recall.json"
    if mark.exists():
        kept = json.loads(mark.read_text(encoding="utf-8"))
        if (kept["scale"], kept["seed"]) != (options.scale, options.seed):
            raise Unusable(f"{directory} holds another world: {kept['scale']}, seed {kept['seed']}.")
        return recall_load.People.found(*kept["members"]), kept["made"]
    people, seconds = recall_load.load(corpus)
    made = {"load_seconds": seconds, "built": build(people.reader.organisation_id)}
    members = [people.reader.id, people.scattered.id]
    kept = {"scale": options.scale, "seed": options.seed, "members": members, "made": made}
    mark.write_text(json.dumps(kept), encoding="utf-8")
    return people, made


def goals(rows: Sequence[dict[str, Any]], lists: dict[str, float], model: dict[str, float]) -> dict[str, float]:
    """What is compared within this run."""
    whole = rows[-2]
    branches = rows[:-1]
    found = {
        "P3 worst p95 of meaning, ms": max(row["meaning"]["p95_ms"] for row in rows),
        "P4 words at everything / with a list of ids": lists["product_p50_ms"] / lists["list_p50_ms"],
        "least recall@10 of meaning, all compared": min(
            (row["recall_at_10"] for row in rows if "walk" in row), default=1.0
        ),
        "least recall@10 of meaning, by the index": min(
            (row["recall_at_10"] for row in rows if "walk" not in row), default=1.0
        ),
        "P1 meaning / comparing everything, where everything is read": whole["meaning"]["p50_ms"]
        / whole["exact"]["p50_ms"],
    }
    for row in branches:
        if row["records"] == 200_000:
            found["P1 meaning / comparing everything, at 200,000"] = row["meaning"]["p50_ms"] / row["exact"]["p50_ms"]
        if row["records"] == 10_000 and "walk" in row:
            found["P2 meaning / walking the index, p95 at 10,000"] = row["meaning"]["p95_ms"] / row["walk"]["p95_ms"]
    if model:
        found["P10 embedding many / one at a time"] = model["batched_per_second"] / model["single_per_second"]
    return {name: round(value, 4) for name, value in found.items()}


def served(directory: Path, bench: Any) -> list[dict[str, Any]]:
    """The whole of it over HTTP with the bundled model, one worker, one client that keeps its connection (P5)."""
    from members import services

    token = services.issue_key(bench.people.reader).token
    with stage.served(HEARTWOOD_EMBEDDER="minilm", WEB_CONCURRENCY="1") as port:
        return [
            {"name": name, "records": size, **_asked(port, token, place.memory.id, bench.questions)}
            for name, size, place in bench.places()[:-1]
        ]


def _asked(port: int, token: str, memory_id: str, questions: Sequence[tuple[Any, str]]) -> dict[str, float]:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    times = []
    for number, (_, text) in enumerate([questions[0], *questions]):
        body = json.dumps({"query": text, "limit": 10})
        started = time.perf_counter()
        link.request("POST", f"/v1/memories/{memory_id}/recall", body, headers)
        answer = link.getresponse()
        answer.read()
        if answer.status != 200:
            raise Unusable(f"The server answered {answer.status}.")
        if number:
            times.append((time.perf_counter() - started) * 1000)
    link.close()
    return {"p50_ms": round(metrics.percentile(times, 50), 1), "p95_ms": round(metrics.percentile(times, 95), 1)}


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    built, fresh = summary["built"], summary["fresh"]
    over_http = {row["name"]: row for row in summary["http"]}
    header = ["records readable", "memories", "whole", "scope", "meaning", "words", "open", "recall@10", "exact"]
    header += ["over HTTP"] if over_http else []
    lines = [
        f"{report.on(summary['machine'])}, shared_buffers {summary['shared_buffers']}",
        f"{summary['scale']}: {summary['records']:,} records in {summary['memories']:,} memories of "
        f"{summary['organisations']} organisations, {summary['database_gb']} GB; index of the largest built in "
        f"{built['index_s']:.0f} s, {built['index_mb']:.0f} MB; its words counted in {built['words_s']:.1f} s",
        "",
        "p50 / p95, ms",
        report.table(header, [_row(row, over_http) for row in summary["rows"]]),
        "",
        report.table(["within this run", ""], [[name, f"{value:.3g}"] for name, value in summary["goals"].items()]),
        "",
        f"{fresh['rows']:,} records that the index does not hold yet: meaning {fresh['meaning_p50_ms']:.1f} ms at "
        f"everything, the newest found; {fresh['taken_in']:,} taken in, {fresh['per_second']:.0f} per second.",
    ]
    if model := summary["embedding"]:
        lines.append(
            f"Bundled model: a question {model['query_p50_ms']:.1f} / {model['query_p95_ms']:.1f} ms; "
            f"{model['single_per_second']:.0f} records per second one at a time, "
            f"{model['batched_per_second']:.0f} together."
        )
    said = sorted({note for row in summary["rows"] for note in row["degraded"]})
    lines += ["", *NOTES, *([f"Said in `degraded`: {', '.join(said)}."] if said else [])]
    return "\n".join(lines)


def _row(row: dict[str, Any], over_http: dict[str, Any]) -> list[str]:
    cells = [row["name"], f"{row['memories']:,}", _span(row["whole"]), _span(row["legs"]["scope"])]
    cells += [_span(row["legs"][leg]) for leg in ("meaning", "words", "open")]
    cells += [f"{row['recall_at_10']:.3f}", _span(row["exact"])]
    if over_http:
        cells.append(_span(over_http[row["name"]]) if row["name"] in over_http else "")
    return cells


def _span(figures: dict[str, float]) -> str:
    return f"{figures['p50_ms']:.1f} / {figures['p95_ms']:.1f}"


if __name__ == "__main__":
    sys.exit(main())
