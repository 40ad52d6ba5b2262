"""The load of the benchmark of records: an organisation, what is written there, and the requests that are timed."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tqdm import tqdm

from benchmarks import stage
from benchmarks.clock import Times, clock
from benchmarks.stage import Unusable, Wrong

PAGE = 50
HISTORY_PAGE = 200
REPEATS = 20
VOCABULARY = 5_000
# How many records one transaction of a restore writes, as `import_memory` does.
TOGETHER = 64
LOADED_TOGETHER = 1_000
LISTS, HISTORY = "lists", "history"
MODEL = "minilm"
TURN = 50
DRAINED_WITHIN = 120.0


@dataclass(frozen=True)
class Scale:
    """How many records are listed and exported, how many written singly, the versions of one; calls of each read."""

    records: int
    single: int
    versions: int
    samples: int

    @property
    def bulk(self) -> int:
        """How many are imported, and how many restored."""
        return min(self.records // 10, 2_000)


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
        self.begun = datetime.now(UTC) - timedelta(days=1)

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

    def imported(self, directory: Path, count: int) -> dict[str, Any]:
        """Import a file of so many records into a new memory, as `import_records` does. Raises Wrong."""
        from memories.services import bulk
        from memories.services.sight import look

        file, memory = directory / f"{count}.jsonl", self.memory(f"{count} records")
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(self.body()) + "\n" for _ in range(count))
        with tqdm(total=count, desc=f"import {count:,}", unit=" records", mininterval=1.0) as bar:
            started = time.perf_counter()
            state = bulk.remember_lines(look(self.caller, memory), file, _refused, lambda done: advance(bar, done))
            seconds = time.perf_counter() - started
        file.unlink()
        expect("records that were imported", state.written, count)
        return {**_bulk(f"import of {count:,} records", count, seconds), "memory": memory}

    def restored(self, count: int) -> dict[str, Any]:
        """Write so many records, each with one version, into a new memory, as `import_memory` writes them."""
        from django.db import transaction

        from memories.providers import registry

        memory, provider = self.memory("Restored"), registry.get("native")
        seconds = 0.0
        with tqdm(total=count, desc=f"restore {count:,}", unit=" records", mininterval=1.0) as bar:
            for start in range(0, count, TOGETHER):
                versions = [self.version(memory, number) for number in range(start, min(start + TOGETHER, count))]
                started = time.perf_counter()
                with transaction.atomic():
                    provider.restore(versions)
                seconds += time.perf_counter() - started
                bar.update(len(versions))
        return _bulk(f"restore of {count:,} records", count, seconds)

    def loaded(self, count: int) -> str:
        """A new memory with so many records, rows alone: nothing finds them, and they are listed and exported."""
        from django.db import transaction

        from memories.models import Record, Version

        memory, organisation = self.memory(f"{count} records"), self.caller.organisation_id
        shared = {"organisation_id": organisation, "memory_id": memory}
        with tqdm(total=count, desc=f"load {count:,}", unit=" records", mininterval=1.0) as bar:
            for start in range(0, count, LOADED_TOGETHER):
                versions = [self.version(memory, n) for n in range(start, min(start + LOADED_TOGETHER, count))]
                with transaction.atomic():
                    Record.objects.bulk_create([Record(**shared, id=one.id, type=one.draft.type) for one in versions])
                    Version.objects.bulk_create(
                        [
                            Version(
                                **shared,
                                record_id=one.id,
                                number=one.number,
                                type=one.draft.type,
                                title=one.draft.title,
                                content=list(one.draft.content),
                                attributes=dict(one.draft.attributes or {}),
                                written_at=one.written_at,
                                writer_kind=one.writer.kind,
                                writer_id=one.writer.id,
                                writer_type=one.writer.type,
                            )
                            for one in versions
                        ]
                    )
                bar.update(len(versions))
        return memory

    def version(self, memory: str, number: int) -> Any:
        """The first version of a new record, one of so many, as an export holds it."""
        from members.ids import mint
        from memories.content import read_draft
        from memories.providers.base import RecordVersion, Writer

        return RecordVersion(
            id=mint("hrec_"),
            memory_id=memory,
            number=1,
            status="active",
            draft=read_draft(self.body()),
            written_at=self.begun + timedelta(milliseconds=number),
            invalidated_at=None,
            writer=Writer("member", self.caller.member.id, self.caller.member.type),
        )

    def single(self) -> list[dict[str, Any]]:
        """Remember records one by one through the API, each in a transaction of its own."""
        address = f"/v1/memories/{self.memory('One by one')}/records"
        # The first request of a process also loads the application.
        self.send("POST", address, self.body())
        times = clock("single writes", [lambda: self.send("POST", address, self.body())] * self.size.single)
        return [_written("single writes, POST records", times)]

    def revise(self) -> str:
        """Give a new record its versions through the API; return its address."""
        address = f"/v1/memories/{self.memory('Looked back at')}/records"
        made = self.send("POST", address, self.body())
        record = f"{address}/{made['id']}"
        times = clock("revisions", [lambda: self.send("PATCH", record, self.body())] * (self.size.versions - 1))
        self.revised = _written("revisions of one record, PATCH", times)
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
                expect("records of a page", [one["id"] for one in page["data"]], wanted)

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
            expect("the version", self.send("GET", record, query)["version"], number)

        def some() -> None:
            data = self.send("GET", f"{record}/history", {"limit": str(page)})["data"]
            expect("versions of a page", [one["version"] for one in data], list(range(1, page + 1)))

        def every() -> None:
            numbers: list[int] = []
            query = {"limit": str(page)}
            while True:
                answer = self.send("GET", f"{record}/history", query)
                numbers += [one["version"] for one in answer["data"]]
                if not answer["next"]:
                    break
                query = {"limit": str(page), "cursor": answer["next"]}
            expect("versions", numbers, list(range(1, versions + 1)))

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
        return {"part": part, "what": name, **clock(name, [ask] * samples).summary()}

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


def embedding_beside_none(size: Scale, random: Random) -> list[dict[str, Any]]:
    """Single writes while a worker makes their vectors, and while it stands still, turn by turn. Raises Unusable."""
    bench = Bench(size, random)
    call = partial(_remember, bench, f"/v1/memories/{bench.memory('One by one')}/records")
    beside, alone = Times(), Times()
    with stage.worker(HEARTWOOD_EMBEDDER=MODEL) as worker:
        call()
        _drained()
        for start in range(0, size.single, TURN):
            turn = [call] * min(TURN, size.single - start)
            beside.add(clock("while vectors are made", turn, silent=True))
            _drained()
            worker.send_signal(signal.SIGSTOP)
            alone.add(clock("while none are made", turn, silent=True))
            worker.send_signal(signal.SIGCONT)
            _drained()
    return [
        _written("single writes, bundled model in a worker", beside),
        _written("single writes, no model", alone),
    ]


def _drained() -> None:
    from memories.models import Awaited

    until = time.monotonic() + DRAINED_WITHIN
    while Awaited.objects.exists():
        if time.monotonic() > until:
            raise Unusable("The worker makes no vectors.")
        time.sleep(0.05)


def _remember(bench: Bench, address: str) -> None:
    bench.send("POST", address, bench.body())


def expect(what: str, found: object, wanted: object) -> None:
    """Raise Wrong unless what was found is what was wanted."""
    if found != wanted:
        raise Wrong(f"{what.capitalize()}: {str(found)[:200]} instead of {str(wanted)[:200]}.")


def advance(bar: tqdm[Any], done: int) -> None:
    """Move a progress bar on."""
    bar.update(done)


def _bulk(what: str, count: int, seconds: float) -> dict[str, Any]:
    return {"what": what, "count": count, "seconds": round(seconds, 2), "per_second": round(count / seconds, 1)}


def _written(what: str, times: Times) -> dict[str, Any]:
    count, seconds = len(times.whole), times.seconds
    return {
        "what": what,
        "count": count,
        "seconds": round(seconds, 2),
        "per_second": round(count / seconds, 1),
        **times.summary(),
    }


def _refused(line: int, why: str) -> None:
    raise Wrong(f"Line {line} was refused: {why}")


def _word(random: Random) -> str:
    return "".join(random.choice("bdfgklmnprstv") + random.choice("aeiou") for _ in range(random.randint(1, 4)))
