"""Measures how quickly records are written, listed, looked back at and exported, and what memory an export takes.

    python -m benchmarks.bench_records --scale small

It runs on an embedded Postgres of its own, as durable as a server's, which is thrown away afterwards. Requests go
through the whole application in this process, one after the other, with no network between. Exit code 0: measured;
1: an answer was not what had been written; 2: the database cannot be run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from benchmarks import metrics, report

PAGE = 50
HISTORY_PAGE = 200
REPEATS = 20
VOCABULARY = 5_000
LISTS, HISTORY = "lists", "history"
NOTES = (
    "Requests are complete (API key, access, JSON both ways), one client, no network. Queries are the statements sent,",
    "savepoints included; BEGIN and COMMIT are not. Lists and history were read after VACUUM ANALYZE. An export runs",
    "in a new process; its peak before it begins is that of the loaded application.",
)


@dataclass(frozen=True)
class Scale:
    """How many records are imported and written one by one, how often one is revised, how often each read is asked."""

    records: int
    single: int
    versions: int
    samples: int


SCALES = {
    "tiny": Scale(100, 10, 12, 3),
    "small": Scale(20_000, 1_000, 1_000, 100),
    "full": Scale(100_000, 2_000, 1_000, 200),
}


class Unusable(Exception):
    """The run cannot go on; the message is one sentence for the person who started it."""


class Wrong(Exception):
    """An answer is not what was written before; no time is worth anything then."""


@dataclass
class Times:
    """Milliseconds of every call of one kind, and the statements it sent."""

    whole: list[float] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)

    def summary(self) -> dict[str, float | int]:
        """The figures that are published."""
        return {
            "calls": len(self.whole),
            "p50_ms": round(metrics.percentile(self.whole, 50), 2),
            "p95_ms": round(metrics.percentile(self.whole, 95), 2),
            "queries_p50": int(metrics.percentile(self.queries, 50)),
            "queries_max": max(self.queries),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = argparse.ArgumentParser(description="Measures writing, listing, history and export of records.")
    parser.add_argument("--scale", choices=tuple(SCALES), default="small", help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of what is written (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    options = parser.parse_args(arguments)
    # A run that is stopped still stops the database it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with database() as directory:
            summary = run(directory, options.scale, options.seed)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2
    except Wrong as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(describe(summary))
    if options.json:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 0


@contextmanager
def database() -> Iterator[Path]:
    """A directory with a database that lives as long as this, named in the environment. Raises Unusable."""
    from uhp_site.runtime.postgres import Cluster, Failure

    directory = Path(tempfile.mkdtemp(prefix="heartwood-records-"))
    # An unprivileged user, whom the server runs as when root starts it, must be able to pass through.
    directory.chmod(0o711)
    # Writes wait for the disk, as they do for whoever runs the product.
    cluster = Cluster(directory, durable=True)
    try:
        cluster.start()
        os.environ |= {
            "HEARTWOOD_DATA": str(directory),
            "DATABASE_URL": cluster.url,
            "DJANGO_SETTINGS_MODULE": "uhp_site.settings",
            "HEARTWOOD_EMBEDDER": "hashing",
            "HEARTWOOD_LOG_LEVEL": "WARNING",
        }
        yield directory
    except Failure as error:
        raise Unusable(str(error)) from error
    finally:
        cluster.stop()
        if not cluster.home.is_relative_to(directory):
            shutil.rmtree(cluster.home, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)


def run(directory: Path, scale: str, seed: int) -> dict[str, Any]:
    """Migrate, write and read; return all numbers. Raises Wrong."""
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    size = SCALES[scale]
    try:
        bench = Bench(size, Random(seed))
        imports = [bench.bulk(directory, count) for count in (size.records // 10, size.records)]
        memories = [one.pop("memory") for one in imports]
        single = bench.single()
        record_id = bench.revise()
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        reads = [*bench.lists(memories[1]), *bench.history(record_id)]
        exports = [exported(directory, *one) for one in zip(memories, (size.records // 10, size.records), strict=True)]
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
        "writes": [*imports, *single, bench.revised],
        "reads": reads,
        "exports": exports,
    }


class Bench:
    """One organisation, its only member, and the requests that are timed. Django has to be set up."""

    def __init__(self, size: Scale, random: Random) -> None:
        from django.test import Client

        from members import services
        from members.callers import caller_for

        organisation = services.found_organisation("Benchmark")
        member = services.join(organisation, name="Writer", type="agent")
        self.caller = caller_for(member)
        self.size = size
        self.random = random
        self.words = [_word(random) for _ in range(VOCABULARY)]
        self.client = Client(
            SERVER_NAME="localhost", headers={"Authorization": f"Bearer {services.issue_key(member).token}"}
        )
        self.revised: dict[str, Any] = {}

    def memory(self, name: str) -> str:
        """The id of a new root."""
        from memories.services import tree

        return tree.create(self.caller, parent_id=None, name=name).id

    def body(self) -> dict[str, Any]:
        """A record of about 300 characters, as a client would send it."""
        chosen = self.random.choices(self.words, k=48)
        return {
            "title": " ".join(chosen[:6]).capitalize(),
            "content": " ".join(chosen[6:]).capitalize() + ".",
            "attributes": {"topic": chosen[0], "weight": self.random.randint(1, 9)},
        }

    def bulk(self, directory: Path, count: int) -> dict[str, Any]:
        """Import a file of so many records into a new memory, as `import_records` does. Raises Wrong."""
        from memories.services import bulk
        from memories.services.sight import look

        file, memory = directory / f"{count}.jsonl", self.memory(f"{count} records")
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(self.body()) + "\n" for _ in range(count))
        with tqdm(total=count, desc=f"import {count:,}", unit=" records", mininterval=1.0) as bar:
            started = time.perf_counter()
            state = bulk.remember_lines(look(self.caller, memory), file, _refused, lambda done: _advance(bar, done))
            seconds = time.perf_counter() - started
        file.unlink()
        _expect("records that were imported", state.written, count)
        return {
            "what": f"import of {count:,} records",
            "memory": memory,
            "count": count,
            "seconds": round(seconds, 2),
            "per_second": round(count / seconds, 1),
        }

    def single(self) -> list[dict[str, Any]]:
        """Remember records one by one through the API, each in a transaction of its own."""
        address = f"/v1/memories/{self.memory('One by one')}/records"
        # The first request of a process also loads the application.
        self.send("POST", address, self.body())
        times, seconds = self.clock(
            "single writes", [lambda: self.send("POST", address, self.body()) for _ in range(self.size.single)]
        )
        return [_written("single writes, POST records", times, seconds)]

    def revise(self) -> str:
        """Give a new record its versions through the API; return its address."""
        address = f"/v1/memories/{self.memory('Looked back at')}/records"
        made = self.send("POST", address, self.body())
        record = f"{address}/{made['id']}"
        times, seconds = self.clock(
            "revisions", [lambda: self.send("PATCH", record, self.body()) for _ in range(self.size.versions - 1)]
        )
        self.revised = _written("revisions of one record, PATCH", times, seconds)
        return record

    def lists(self, memory: str) -> list[dict[str, Any]]:
        """Time the first page of the large memory, one in the middle and the last."""
        from memories.models import Version
        from uhp_site.http.pagination import make_time_cursor

        ordered = Version.objects.filter(memory_id=memory).order_by("written_at", "record_id")
        keys = ordered.values_list("written_at", "record_id")
        address = f"/v1/memories/{memory}/records"
        rows = []
        middle, last = self.size.records // 2, self.size.records - PAGE
        for name, offset in (("first page", 0), (f"page after {middle:,}", middle), (f"page after {last:,}", last)):
            query: dict[str, str] = {"limit": str(PAGE)}
            if offset:
                query["cursor"] = make_time_cursor(keys[offset - 1]) or ""
            wanted = [key[1] for key in keys[offset : offset + PAGE]]

            def ask(query: Mapping[str, str] = query, wanted: Sequence[str] = wanted) -> None:
                page = self.send("GET", address, query)
                _expect("records of a page", [one["id"] for one in page["data"]], wanted)

            rows.append(self.read(LISTS, f"list, {name} of {PAGE}", ask))
        return rows

    def history(self, record: str) -> list[dict[str, Any]]:
        """Time what is asked of a record with many versions."""
        from memories.models import Version

        versions = self.size.versions
        middle = versions // 2
        ordered = Version.objects.filter(record_id=record.rpartition("/")[2]).order_by("number")
        instant: datetime = ordered.values_list("written_at", flat=True)[middle - 1]
        page = min(HISTORY_PAGE, versions // 3)

        def one(query: Mapping[str, str], number: int) -> None:
            _expect("the version", self.send("GET", record, query)["version"], number)

        def some() -> None:
            data = self.send("GET", f"{record}/history", {"limit": str(page)})["data"]
            _expect("versions of a page", [one["version"] for one in data], list(range(1, page + 1)))

        def every() -> None:
            numbers: list[int] = []
            query = {"limit": str(page)}
            while True:
                answer = self.send("GET", f"{record}/history", query)
                numbers += [one["version"] for one in answer["data"]]
                if not answer["next"]:
                    break
                query = {"limit": str(page), "cursor": answer["next"]}
            _expect("versions", numbers, list(range(1, versions + 1)))

        pages = -(-versions // page)
        return [
            self.read(HISTORY, "get, newest version", lambda: one({}, versions)),
            self.read(HISTORY, f"get, as_of version {middle:,}", lambda: one({"as_of": instant.isoformat()}, middle)),
            self.read(HISTORY, f"history, first page of {page}", some),
            self.read(HISTORY, f"history, all {versions:,} in {pages} pages", every, REPEATS),
        ]

    def read(self, part: str, name: str, ask: Callable[[], None], most: int | None = None) -> dict[str, Any]:
        """Time one question, asked again and again after one that warms up."""
        ask()
        samples = min(self.size.samples, most or self.size.samples)
        times, _ = self.clock(name, [ask] * samples)
        return {"part": part, "what": name, **times.summary()}

    def clock(self, name: str, calls: Sequence[Callable[[], object]]) -> tuple[Times, float]:
        """Make calls one after the other; return the time of each, and the seconds of all."""
        from django.db import connection

        times = Times()
        sent = 0

        def count(execute: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal sent
            sent += 1
            return execute(*arguments)

        with connection.execute_wrapper(count):
            for call in tqdm(calls, desc=name, unit=" calls", mininterval=1.0):
                sent, started = 0, time.perf_counter()
                call()
                times.whole.append((time.perf_counter() - started) * 1000)
                times.queries.append(sent)
        return times, sum(times.whole) / 1000

    def send(self, method: str, path: str, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON that a request is answered with. Raises Wrong when it is no success."""
        if method == "GET":
            response = self.client.get(path, dict(data or {}))
        else:
            response = self.client.generic(method, path, json.dumps(data), content_type="application/json")
        if response.status_code != 200:
            raise Wrong(f"{method} {path} answered {response.status_code}: {response.content.decode()[:200]}")
        answer: dict[str, Any] = json.loads(response.content)
        return answer


def exported(directory: Path, memory: str, count: int) -> dict[str, Any]:
    """Export a memory in a new process, as `export_memory` does, and return what that took. Raises Wrong."""
    target = directory / f"export-{count}"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        figures: dict[str, Any] = pool.apply(export_alone, (memory, str(target), count))
        # It ends by itself: one that is stopped leaves the lock of its progress bar behind.
        pool.close()
        pool.join()
    _expect("records that were exported", figures["records"], count)
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
        counts = export(root, Path(target), lambda what, done: _advance(bar, done if what == "records" else 0))
        seconds = time.perf_counter() - started
    return {
        "records": counts["records"],
        "seconds": round(seconds, 2),
        "per_second": round(counts["records"] / seconds, 1),
        "peak_before_mib": round(before, 1),
        "peak_mib": round(peak_mib(), 1),
    }


def peak_mib() -> float:
    """The most memory this process ever held, in MiB."""
    # What getrusage says of a new process may be the peak of the one that started it.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1024 / (1024 if sys.platform == "darwin" else 1)


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
            f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {machine['date']}",
            f"{summary['scale']}: a memory of {summary['records']:,} records, one record with {summary['versions']:,} "
            f"versions; hashing embedder, embedded Postgres that waits for the disk, {summary['database_mib']:.0f} MiB",
            "```",
            "",
            report.table(["writes, one client", "per second", "p50 / p95, ms", "queries"], writes),
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


def _written(what: str, times: Times, seconds: float) -> dict[str, Any]:
    count = len(times.whole)
    return {
        "what": what,
        "count": count,
        "seconds": round(seconds, 2),
        "per_second": round(count / seconds, 1),
        **times.summary(),
    }


def _span(figures: dict[str, Any]) -> str:
    return f"{figures['p50_ms']:.1f} / {figures['p95_ms']:.1f}"


def _queries(figures: dict[str, Any]) -> str:
    if "queries_p50" not in figures:
        return ""
    usual, most = figures["queries_p50"], figures["queries_max"]
    return f"{usual}" if usual == most else f"{usual}, at most {most}"


def _refused(line: int, why: str) -> None:
    raise Wrong(f"Line {line} was refused: {why}")


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Wrong(f"{what.capitalize()}: {str(found)[:200]} instead of {str(wanted)[:200]}.")


def _advance(bar: tqdm[Any], done: int) -> None:
    bar.update(done)


def _word(random: Random) -> str:
    return "".join(random.choice("bdfgklmnprstv") + random.choice("aeiou") for _ in range(random.randint(1, 4)))


if __name__ == "__main__":
    sys.exit(main())
