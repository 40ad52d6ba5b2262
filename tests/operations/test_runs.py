"""A consolidation, and taking it back, in a real worker that is killed in the middle: nobody has to do anything."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.operations.server import Server, manage
from tests.operations.test_up import connect

EPISODES = 200
# So many are taken back within the request; and so many turns leave more changes than that.
UNDONE_AT_ONCE, MANY = 300, 320
TOGETHER = 200
KILLS = 2


def said(number: int) -> str:
    """A sentence that every engine keeps, and that is like no other."""
    return f"Customer number {7919 * number} ordered {number + 3} pallets of part K-{31 * number + 7} on 3 May 2026."


def counted(directory: Path, query: str) -> Any:
    with connect(directory) as connection:
        [row] = connection.execute(query.encode()).fetchall()
    return row[0]


@contextmanager
def observed(server: Server, directory: Path, episodes: int) -> Iterator[tuple[httpx.Client, str]]:
    """A client of a new organisation, and a memory in which so many episodes were observed."""
    server.wait_until_ready()
    made = manage("create_organisation", "Acme", "--owner-email", "a@acme.example", "--data", str(directory), "--json")
    assert made.returncode == 0, made.stderr
    token = next(value for value in flattened(json.loads(made.stdout)) if value.startswith("hw_"))
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        provider = client.get("/v1/memories/providers").json()["data"][0]["id"]
        memory = client.post("/v1/memories", json={"name": "Orders", "provider": provider}).json()["id"]
        for start in range(0, episodes, TOGETHER):
            some = [{"content": said(number)} for number in range(start, min(episodes, start + TOGETHER))]
            assert client.post(f"/v1/memories/{memory}/observe", json={"episodes": some}).status_code == 200
        yield client, memory


def test_a_killed_worker_leaves_neither_a_copy_nor_a_gap(run: Callable[..., Server], place: Path) -> None:
    server = run("runs", "--no-demo", HEARTWOOD_CONSOLIDATE="off")
    with observed(server, place / "runs", EPISODES) as (client, memory):
        deadline = time.monotonic() + 60
        while counted(place / "runs", "SELECT count(*) FROM memories_awaited"):
            assert time.monotonic() < deadline, "no worker makes the vectors of what was observed"
            time.sleep(0.1)
        assert counted(place / "runs", "SELECT count(DISTINCT version_id) FROM memories_embedding") == EPISODES
        begun = client.post(f"/v1/memories/{memory}/consolidations").json()
        address = f"/v1/memories/{memory}/consolidations/{begun['id']}"
        kills = 0
        read = 0
        deadline = time.monotonic() + 240
        while (shown := client.get(address).json())["status"] in ("queued", "running"):
            assert time.monotonic() < deadline, shown
            assert shown["read"]["episodes"] >= read
            # Each time it has come forward, a few times.
            if kills < KILLS and shown["read"]["episodes"] > read:
                for worker in server.named("worker"):
                    os.kill(worker, signal.SIGKILL)
                kills += 1
            read = shown["read"]["episodes"]
            time.sleep(0.05)
        assert (shown["status"], shown["read"]["episodes"], shown["error"]) == ("completed", EPISODES, "")
        assert kills == KILLS
        changes: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = client.get(f"{address}/changes", params={"limit": 200, **({"cursor": cursor} if cursor else {})})
            changes += page.json()["data"]
            cursor = page.json()["next"]
    created = [one for one in changes if one["change"] == "created"]
    assert shown["changes"]["created"] == len(created)
    sources = [source for one in changes for source in one["x_change"]["sources"]]
    statements = [one["id"] for one in created if one["type"] not in ("entity", "person", "company")]
    assert len(set(statements)) == len(statements)
    assert len(set(sources)) == EPISODES, "an episode was left out"
    copies = (
        "SELECT count(*) - count(DISTINCT content::text) FROM memories_version "
        "WHERE writer_kind = 'provider' AND invalidated_at IS NULL AND content::text <> '[]'"
    )
    assert counted(place / "runs", copies) == 0, "an episode was read twice"
    assert counted(place / "runs", "SELECT count(*) FROM memories_run WHERE state = 'completed'") == 1
    assert server.stop() == 0


def test_a_killed_worker_takes_everything_back_and_nothing_twice(run: Callable[..., Server], place: Path) -> None:
    server = run("undo", "--no-demo", HEARTWOOD_CONSOLIDATE="off")
    with observed(server, place / "undo", MANY) as (client, memory):
        begun = client.post(f"/v1/memories/{memory}/consolidations").json()
        address = f"/v1/memories/{memory}/consolidations/{begun['id']}"
        deadline = time.monotonic() + 400
        while (shown := client.get(address).json())["status"] in ("queued", "running"):
            assert time.monotonic() < deadline, shown
            time.sleep(0.5)
        written = shown["changes"]["created"]
        assert written > UNDONE_AT_ONCE
        job = client.post(f"{address}/revert", headers={"Prefer": "respond-async"})
        assert job.status_code == 202
        took = f"/v1/memories/{memory}/jobs/{job.json()['id']}"
        begun_at = "SELECT count(*) FROM memories_job WHERE kind = 'revert' AND state = 'running' AND done > 0"
        while not counted(place / "undo", begun_at):
            assert client.get(took).json()["status"] == "pending"
            time.sleep(0.02)
        for worker in server.named("worker"):
            os.kill(worker, signal.SIGKILL)
        assert client.post(f"/v1/memories/{memory}/consolidations").status_code == 409
        while client.get(took).json()["status"] == "pending":
            assert time.monotonic() < deadline
            time.sleep(0.5)
        shown = client.get(address).json()
        assert client.get(took).json()["status"] == "completed"
        assert shown["reverted"] is True
        assert (len(shown["revert"]["forgotten"]), shown["revert"]["skipped"]) == (written, [])
    left = "SELECT count(*) FROM memories_version WHERE writer_kind = 'provider' AND invalidated_at IS NULL"
    assert counted(place / "undo", left) == 0
    noted = "SELECT count(*) FROM members_event WHERE action = 'consolidation.reverted'"
    assert counted(place / "undo", noted) == 1
    assert server.stop() == 0


def flattened(value: Any) -> list[str]:
    """All strings anywhere inside."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for inner in value for text in flattened(inner)]
    return [value] if isinstance(value, str) else []
