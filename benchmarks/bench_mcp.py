"""Measures what an agent's tools cost beside the same through the API, in one run and in turn.

    python -m benchmarks.bench_mcp --scale small

It runs the product's web server on an embedded Postgres of its own, which is thrown away. Every question is asked
both ways, one after the other, so that whatever else the machine does falls on both. Exit code 0: measured; 1: a tool
and the API did not answer alike; 2: the database or the web server cannot be run.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from socket import AF_INET, SOCK_STREAM, socket
from typing import Any

from benchmarks import metrics, report

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 120
VOCABULARY = 3_000
REST, MCP = "API", "MCP"
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
NOTES = (
    "Complete requests over HTTP on this machine: key, access, JSON both ways, connections kept. One client asks in",
    "turn through the API and through MCP; then several at once, one kind at a time. Overhead is p50 over p50.",
)


@dataclass(frozen=True)
class Scale:
    """How many records there are, how often each kind is asked by one client, and by how many clients at once."""

    records: int
    calls: int
    clients: int


SCALES = {"tiny": Scale(50, 5, 2), "small": Scale(10_000, 400, 8), "full": Scale(100_000, 2_000, 8)}


class Unusable(Exception):
    """The run cannot go on; the message is one sentence for the person who started it."""


class Wrong(Exception):
    """A tool and the API did not answer alike; no time is worth anything then."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = argparse.ArgumentParser(description="Measures the agents' tools beside the API.")
    parser.add_argument("--scale", choices=tuple(SCALES), default="small", help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of what is written and asked (%(default)s)")
    parser.add_argument("--embedder", choices=("minilm", "hashing"), default="minilm", help="(%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    options = parser.parse_args(arguments)
    # A run that is stopped still stops what it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with database(options.embedder) as directory:
            summary = run(directory, options.scale, options.seed, options.embedder)
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
def database(embedder: str) -> Iterator[Path]:
    """A directory with a database that lives as long as this, named in the environment. Raises Unusable."""
    from uhp_site.runtime.postgres import Cluster, Failure

    directory = Path(tempfile.mkdtemp(prefix="heartwood-mcp-"))
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
            "HEARTWOOD_EMBEDDER": embedder,
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


def run(directory: Path, scale: str, seed: int, embedder: str) -> dict[str, Any]:
    """Write the records, serve them and ask; return all numbers. Raises Wrong and Unusable."""
    size, random = SCALES[scale], Random(seed)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(3, 9))) for _ in range(VOCABULARY)]
    memory_id, key = world(directory, size.records, words, random)
    with served() as port:
        bench = Bench(port, key, memory_id, words, random)
        rows = [row for kind in bench.kinds() for row in bench.measure(kind, size)]
    return {
        "machine": report.machine(),
        "scale": scale,
        "embedder": embedder,
        "records": size.records,
        "clients": size.clients,
        "rows": rows,
        "overhead": {
            tool: round(_row(rows, tool, MCP)["p50_ms"] / _row(rows, tool, REST)["p50_ms"], 2)
            for tool in ("memory_recall", "memory_remember")
        },
    }


def world(directory: Path, records: int, words: Sequence[str], random: Random) -> tuple[str, str]:
    """An agent with a key, and a memory that holds so many records; its id and the key."""
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    from members import services
    from members.callers import caller_for
    from memories.services import bulk, tree
    from memories.services.sight import look

    agent = services.join(services.found_organisation("Benchmark"), name="Agent", type="agent")
    caller = caller_for(agent)
    memory = tree.create(caller, parent_id=None, name="Asked")
    file = directory / "records.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(draft(words, random)) + "\n" for _ in range(records))
    bulk.remember_lines(look(caller, memory.id), file, lambda line, problem: None, lambda done: None)
    file.unlink()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    connection.close()
    return memory.id, services.issue_key(agent).token


def draft(words: Sequence[str], random: Random) -> dict[str, Any]:
    """A record of about 300 characters, as a client would send it."""
    chosen = random.choices(words, k=48)
    return {"title": " ".join(chosen[:6]).capitalize(), "content": " ".join(chosen[6:]).capitalize() + "."}


@contextmanager
def served() -> Iterator[int]:
    """The product's web server on a free port, as long as this lives. Raises Unusable."""
    with socket(AF_INET, SOCK_STREAM) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "gunicorn", "--config", "python:uhp_site.gunicorn", "--bind", f"127.0.0.1:{port}"],
        cwd=ROOT,
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + START_SECONDS
        while not _answers(port):
            if server.poll() is not None or time.monotonic() > until:
                raise Unusable("The web server did not start.")
            time.sleep(0.2)
        yield port
    finally:
        server.terminate()
        server.wait()


def _answers(port: int) -> bool:
    try:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        link.request("GET", "/v1/uhp")
        return link.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        link.close()


@dataclass(frozen=True)
class Kind:
    """One tool: what it is asked, where the API is asked the same, and what of an answer both have to agree on."""

    tool: str
    path: str
    body: Callable[[], dict[str, Any]]
    gist: Callable[[dict[str, Any]], object]


class Link:
    """One client with its own connection, which is kept."""

    def __init__(self, port: int, key: str) -> None:
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def post(self, path: str, body: object, **headers: str) -> tuple[dict[str, Any], float]:
        """The JSON of an answer, and how many milliseconds it took. Raises Wrong for a refusal."""
        raw = json.dumps(body)
        started = time.perf_counter()
        self.link.request("POST", path, raw, {**self.headers, **headers})
        response = self.link.getresponse()
        answer = response.read()
        took = (time.perf_counter() - started) * 1000
        if response.status != http.HTTPStatus.OK:
            raise Wrong(f"{path} answered {response.status}.")
        read = json.loads(answer)
        assert isinstance(read, dict)
        return read, took


class Bench:
    """One agent, one memory, and what is asked of it."""

    def __init__(self, port: int, key: str, memory_id: str, words: Sequence[str], random: Random) -> None:
        self.port, self.key, self.memory_id = port, key, memory_id
        self.words, self.random = words, random

    def kinds(self) -> list[Kind]:
        """The two tools that are measured."""
        path = f"/v1/memories/{self.memory_id}"

        def found(answer: dict[str, Any]) -> object:
            return [(hit["record"]["id"], hit["score"]) for hit in answer["results"]]

        def question() -> dict[str, Any]:
            return {"query": " ".join(self.random.choices(self.words, k=6))}

        def said(answer: dict[str, Any]) -> object:
            return answer["title"], answer["content"]

        return [
            Kind("memory_recall", f"{path}/recall", question, found),
            Kind("memory_remember", f"{path}/records", lambda: draft(self.words, self.random), said),
        ]

    def ask(self, link: Link, surface: str, kind: Kind, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Ask through one surface."""
        if surface == REST:
            return link.post(kind.path, body)
        params = {"name": kind.tool, "arguments": {"memory_id": self.memory_id, **body}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer, took = link.post("/mcp", message, **MCP_HEADERS)
        if "result" not in answer or answer["result"]["isError"]:
            raise Wrong(f"{kind.tool} was refused.")
        told = answer["result"]["structuredContent"]
        assert isinstance(told, dict)
        return told, took

    def measure(self, kind: Kind, size: Scale) -> list[dict[str, Any]]:
        """One client in turn, then several at once; a row for each surface. Raises Wrong."""
        link = Link(self.port, self.key)
        times: dict[str, list[float]] = {REST: [], MCP: []}
        for number in range(size.calls + 2):
            body, gists = kind.body(), []
            # Which one comes first alternates, so that neither always finds what the other has warmed.
            for surface in (REST, MCP) if number % 2 else (MCP, REST):
                answer, took = self.ask(link, surface, kind, body)
                gists.append(kind.gist(answer))
                # The first ones warm up the workers.
                if number > 1:
                    times[surface].append(took)
            if gists[0] != gists[1]:
                raise Wrong(f"{kind.tool} and the API answered differently.")
        return [
            {
                "tool": kind.tool,
                "surface": surface,
                "calls": len(taken),
                "p50_ms": round(metrics.percentile(taken, 50), 2),
                "p95_ms": round(metrics.percentile(taken, 95), 2),
                "per_second": round(self.throughput(kind, surface, size), 1),
            }
            for surface, taken in times.items()
        ]

    def throughput(self, kind: Kind, surface: str, size: Scale) -> float:
        """How many calls a second several clients at once get answered."""
        bodies = [[kind.body() for _ in range(max(1, size.calls // size.clients))] for _ in range(size.clients)]

        def work(asked: Sequence[dict[str, Any]]) -> int:
            link = Link(self.port, self.key)
            for body in asked:
                self.ask(link, surface, kind, body)
            return len(asked)

        started = time.perf_counter()
        with ThreadPoolExecutor(size.clients) as clients:
            done = sum(clients.map(work, bodies))
        return done / (time.perf_counter() - started)


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    machine = summary["machine"]
    header = ["tool", "through", "p50 ms", "p95 ms", f"calls/s, {summary['clients']} clients"]
    table = report.table(
        header,
        [
            [row["tool"], row["surface"], f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}", f"{row['per_second']:.1f}"]
            for row in summary["rows"]
        ],
    )
    overhead = ", ".join(f"{tool} {factor:.2f}" for tool, factor in summary["overhead"].items())
    return "\n".join(
        [
            "```text",
            f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {machine['date']}",
            f"scale {summary['scale']}: a memory of {summary['records']:,} records, embedder {summary['embedder']}",
            *NOTES,
            "```",
            "",
            table,
            "",
            f"Overhead of MCP at p50: {overhead}",
        ]
    )


def _row(rows: Sequence[dict[str, Any]], tool: str, surface: str) -> dict[str, Any]:
    return next(row for row in rows if (row["tool"], row["surface"]) == (tool, surface))


if __name__ == "__main__":
    sys.exit(main())
