"""Measures what an agent's tools cost beside the same through the API, in one run and in turn.

    python -m benchmarks.bench_mcp --scale small

It runs the product's web server on an embedded Postgres of its own, which is thrown away. Every question is asked
both ways, one after the other, so that whatever else the machine does falls on both. Exit code 0: measured; 1: a tool
and the API did not answer alike; 2: the database or the web server cannot be run.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import metrics, report, stage
from benchmarks.stage import Wrong

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    options = stage.arguments("Measures the agents' tools beside the API.", SCALES, embedder=True).parse_args(arguments)

    def measure() -> dict[str, Any]:
        with stage.database("mcp", HEARTWOOD_EMBEDDER=options.embedder) as directory:
            return run(directory, options.scale, options.seed, options.embedder)

    return stage.perform(measure, describe, options.json)


def run(directory: Path, scale: str, seed: int, embedder: str) -> dict[str, Any]:
    """Write the records, serve them and ask; return all numbers. Raises Wrong and Unusable."""
    size, random = SCALES[scale], Random(seed)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(3, 9))) for _ in range(VOCABULARY)]
    memory_id, key = world(directory, size.records, words, random)
    with stage.served() as port:
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
    stage.migrate()
    from django.db import connection

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
            report.on(machine),
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
