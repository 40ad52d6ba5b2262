"""Growing small trees of memories, writing into them, and looking at them with somebody's eyes."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .client import JSON, Client, path

# Recall may lag behind a write where a provider derives in the background.
PATIENCE_SECONDS = 40.0
PAUSE_SECONDS = 2.0


def invented(prefix: str = "zq") -> str:
    """A word that nobody has written before."""
    return prefix + secrets.token_hex(5)


def open_root(client: Client) -> tuple[JSON, JSON]:
    """Create a root memory with the first provider that lets us; return it and that provider's capability document.

    Raises AssertionError when no provider does.
    """
    documents = client.get(path("providers")).valid("ProviderList")["data"]
    for document in documents:
        reply = client.post(
            path(),
            {"name": invented("uhp-conformance-"), "description": "made by a test", "provider": document["id"]},
            expect=None,
        )
        if reply.status == 200:
            return reply.valid("Memory"), document
    raise AssertionError(f"no provider of {[document['id'] for document in documents]} takes a new memory")


def plant(client: Client, name: str, parent: JSON, **fields: object) -> JSON:
    """Create a memory below another one."""
    return client.post(path(), {"name": name, "parent_id": parent["id"], **fields}).valid("Memory")


def remember(client: Client, memory: JSON, content: object, **fields: object) -> JSON:
    """Write a record into a memory."""
    return client.post(path(memory["id"], "records"), {"content": content, **fields}).valid("MemoryRecord")


def share(client: Client, memory: JSON, principal: str, *privileges: str) -> JSON:
    """Give a principal privileges on a memory."""
    body = {"principal": principal, "privileges": list(privileges)}
    return client.post(path(memory["id"], "grants"), body).valid("MemoryGrant")


def unshare(client: Client, memory: JSON, grant: JSON) -> None:
    """Take a grant back."""
    client.delete(path(memory["id"], "grants", grant["id"])).valid("GrantDeletion")


def signals(document: JSON) -> list[str]:
    """The recall signals that a provider declares."""
    return list(document.get("recall", {}).get("signals", []))


def question(document: JSON, words: str) -> JSON:
    """A recall body that asks for words with every signal in words that the provider declares."""
    asked: JSON = {signal: words for signal in ("query", "text") if signal in signals(document)}
    assert asked, "the provider declares neither query nor text, so nothing can be asked in words"
    return asked


def recall(client: Client, memory: JSON, body: JSON) -> JSON:
    """Ask one memory and what lies below it."""
    return client.post(path(memory["id"], "recall"), body).valid("MemoryRecall")


def hit(answer: JSON, record: JSON) -> JSON | None:
    """The result of a recall that is this record."""
    return next((result for result in answer["results"] if result["record"]["id"] == record["id"]), None)


def found(client: Client, memory: JSON, body: JSON, record: JSON) -> JSON:
    """Ask until a record is among the results and return that answer; raises AssertionError after 40 seconds."""
    return eventually(lambda: recall(client, memory, body), lambda answer: hit(answer, record) is not None)


def eventually(ask: Callable[[], JSON], right: Callable[[JSON], bool]) -> JSON:
    """Repeat a question until its answer is right; raises AssertionError with the last answer after 40 seconds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = ask()
        if right(answer):
            return answer
        assert time.monotonic() < deadline, f"not right within {PATIENCE_SECONDS:.0f} s: {json.dumps(answer)[:800]}"
        time.sleep(PAUSE_SECONDS)


def ids(items: list[JSON]) -> list[str]:
    """The ids of some objects, in their order."""
    return [item["id"] for item in items]


def children(client: Client, memory: JSON) -> list[str]:
    """The ids of the memories directly below one."""
    return ids(list(client.pages(path(), "MemoryList", parent=memory["id"])))


def entry_points(client: Client) -> list[str]:
    """The ids of the memories where a caller's sight begins."""
    return ids(list(client.pages(path(), "MemoryList")))


def portrait(client: Client, memory: JSON) -> dict[str, Any]:
    """All that can be seen of a memory without asking it: itself, its children, records and grants."""
    own = path(memory["id"])
    return {
        "entry points": sorted(entry_points(client)),
        "memory": client.get(own).body,
        "children": children(client, memory),
        "records": list(client.pages(f"{own}/records", "RecordPage", include="all")),
        "grants": list(client.pages(f"{own}/grants", "GrantList")),
    }


@contextmanager
def unchanged(client: Client, memory: JSON) -> Iterator[None]:
    """Assert that nothing about a memory is different afterwards."""
    before = portrait(client, memory)
    yield
    assert portrait(client, memory) == before, "a refused request changed something"


def show(part: object) -> str:
    """A part of an answer as text, to look for what must not be in it."""
    return json.dumps(part, ensure_ascii=False)
