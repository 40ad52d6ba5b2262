"""Measures recall in a large organisation: by how much the one who asks may read, the whole call and its legs.

    python -m benchmarks.bench_recall --scale small

It runs on an embedded Postgres of its own, which is thrown away afterwards. Exit code 0: measured; 1: an answer was not
what the product promises; 2: the database cannot be run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import metrics, recall_corpus, report

NOTES = (
    "The whole call is the service, access included, with the question's vector given; records come back opened.",
    "Meaning includes counting what is readable. recall@10 compares the chosen plan with comparing everything; no",
    "search by meaning brought fewer rows than there are. Words follow Zipf's law, eight to a question.",
)


class Unusable(Exception):
    """The run cannot go on; the message is one sentence for the person who started it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    options = parse(arguments)
    # A run that is stopped still stops the database it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with database(options) as directory:
            summary = run(directory, options)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if "failure" in summary:
        print(summary["failure"], file=sys.stderr)
        return 1
    print(describe(summary))
    if options.json:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measures recall by how much may be read.")
    parser.add_argument("--scale", choices=tuple(recall_corpus.SCALES), default="small", help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of the world and the questions (%(default)s)")
    parser.add_argument("--shared-buffers", default="192MB", help="of the database, as for Postgres (%(default)s)")
    parser.add_argument("--builders", type=int, default=1, help="processes that build the index (%(default)s)")
    parser.add_argument("--samples", type=int, help="questions asked of every place, instead of what the scale says")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the database there, and use it the next time")
    parser.add_argument("--no-http", action="store_true", help="leave out the server and the bundled model")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    return parser.parse_args(arguments)


@contextmanager
def database(options: argparse.Namespace) -> Iterator[Path]:
    """A directory with a database, named in the environment; it is thrown away unless kept. Raises Unusable."""
    from uhp_site.runtime import postgres

    directory = options.keep or Path(tempfile.mkdtemp(prefix="heartwood-recall-"))
    directory.mkdir(parents=True, exist_ok=True)
    # An unprivileged user, whom the server runs as when root starts it, must be able to pass through.
    directory.chmod(0o711)
    postgres.SETTINGS |= {
        "shared_buffers": options.shared_buffers,
        "max_parallel_maintenance_workers": str(options.builders - 1),
    }
    cluster = postgres.Cluster(directory, durable=False)
    try:
        cluster.start()
        os.environ |= {
            "HEARTWOOD_DATA": str(directory),
            "DATABASE_URL": cluster.url,
            "DJANGO_SETTINGS_MODULE": "uhp_site.settings",
            "HEARTWOOD_EMBEDDER": "benchmarks.recall_corpus.Planted",
            "HEARTWOOD_LOG_LEVEL": "ERROR",
        }
        yield directory
    except postgres.Failure as error:
        raise Unusable(str(error)) from error
    finally:
        cluster.stop()
        if not options.keep:
            if not cluster.home.is_relative_to(directory):
                shutil.rmtree(cluster.home, ignore_errors=True)
            shutil.rmtree(directory, ignore_errors=True)


def run(directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Migrate, load, build and measure; return all numbers, or what failed."""
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    from benchmarks.recall_measure import Bench, Wrong, embedding
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
    except Wrong as error:
        return {"failure": str(error)}
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
    with socket(AF_INET, SOCK_STREAM) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "gunicorn", "--config", "python:uhp_site.gunicorn", "--bind", f"127.0.0.1:{port}"],
        cwd=Path(__file__).resolve().parents[1],
        env=os.environ | {"HEARTWOOD_EMBEDDER": "minilm", "WEB_CONCURRENCY": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port)
        return [
            {"name": name, "records": size, **_asked(port, token, place.memory.id, bench.questions)}
            for name, size, place in bench.places()[:-1]
        ]
    finally:
        server.terminate()
        server.wait()


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


def _wait(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            link.request("GET", "/v1/uhp")
            link.getresponse().read()
            return
        except OSError:
            time.sleep(0.2)
    raise Unusable("The web server did not answer.")


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    machine, built, fresh = summary["machine"], summary["built"], summary["fresh"]
    over_http = {row["name"]: row for row in summary["http"]}
    header = ["records readable", "memories", "whole", "scope", "meaning", "words", "open", "recall@10", "exact"]
    header += ["over HTTP"] if over_http else []
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {machine['date']}, "
        f"shared_buffers {summary['shared_buffers']}",
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
