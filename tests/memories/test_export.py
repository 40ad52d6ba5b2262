"""Export and import: what was there is there again, times and history included, and nothing that is not whole."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from members.models import Event, Group, Member, Organisation
from memories.content import read_changes
from memories.media import Sniffer
from memories.models import Embedding, File, Grant, Hold, Memory, Query, Reach, Record, RecordImport, Snapshot, Version
from memories.models.files import store
from memories.services import bulk, files, queries, records, snapshots, tree, types
from memories.services.archive import Broken
from memories.services.exports import export
from memories.services.imports import Imported, Wish, bring_in
from memories.statements import read_definition
from tests import factories
from tests.conftest import Api
from tests.factories import at
from tests.memories.test_files import DOT, part, place_of_its_own
from tests.memories.test_types import TICKET

__all__ = ["place_of_its_own"]

pytestmark = pytest.mark.django_db

ID = re.compile(r"(?:hmem|hrec|hgrt|file|mbr|grp|org)_[0-9a-f]{32}")


def upload(by: Member, content: bytes, name: str) -> str:
    sniffer = Sniffer()
    sniffer.feed(content)
    return files.keep(
        factories.caller(by),
        files.Upload(
            io.BytesIO(content), name, hashlib.sha256(content).hexdigest(), len(content), sniffer.media_type()
        ),
    ).id


@pytest.fixture
def world(alice: Member, bob: Member, agent: Member, carol: Member, shared: Memory, team: Group) -> Memory:
    """A tree with one of everything."""
    types.register(alice.organisation_id, TICKET)
    below = factories.memory(alice, shared, "Below", restricted=True, description="Not for all. ☂")
    factories.grant(alice, below, bob, "read", "write")
    everyone = Group.objects.get(organisation=alice.organisation, is_everyone=True)
    factories.grant(alice, below, everyone, "read")
    first = factories.record(
        bob, shared, "As it was first.", title="On tea", attributes={"n": 1.5, "deep": {"b": [None]}}
    )
    records.revise(at(agent, shared), first.id, read_changes({"content": "It is a heron now.", "attributes": {"n": 2}}))
    gone = factories.record(bob, shared, "Forgotten.", time={"valid_from": "2026-01-02T03:04:05.000006Z"})
    records.forget(at(bob, shared), gone.id)
    dot = upload(bob, DOT, "naïve dot.png")
    factories.record(
        bob,
        below,
        [{"type": "text", "text": "Look:", "role": "user"}, part(dot, text="a dot"), {"type": "x.card", "id": 7}],
        references=[
            {"rel": "derived_from", "record_id": first.id, "memory_id": shared.id},
            {"rel": "about", "record_id": "hrec_elsewhere", "memory_id": "hmem_elsewhere"},
        ],
    )
    factories.record(bob, below, [part(dot)], type="note")
    factories.record(bob, below, "A ticket.", type="x.ticket", attributes={"severity": "low", "contact": {"name": "Q"}})
    snapshots.take(at(alice, shared), "Before", "the change")
    asked = {"body": {"text": "{what}"}, "params": {"properties": {"what": {"type": "string"}}}, "requires": "write"}
    queries.define(at(bob, below), "about", read_definition(asked))
    Hold.objects.create(
        organisation_id=alice.organisation_id,
        memory=below,
        reason="A case is pending.",
        placed_by=alice.principal,
        placed_at=shared.created_at,
    )
    Hold.objects.create(
        organisation_id=alice.organisation_id,
        memory=shared,
        record_id=first.id,
        reason="Evidence.",
        placed_by=bob.principal,
        placed_at=shared.created_at,
    )
    Memory.objects.filter(pk=below.pk).update(created_at=shared.created_at - timedelta(days=400))
    return shared


def lines(directory: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / f"{kind}.jsonl").read_text().splitlines()]


def comparable(directory: Path) -> dict[str, bytes]:
    """Everything of an export, each id as the number of its first appearance."""
    seen: dict[str, str] = {}
    result = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.parent != directory:
            result[path.name] = path.read_bytes()
        elif path.is_file():
            named = ID.sub(lambda found: seen.setdefault(found[0], f"#{len(seen)}"), path.read_text())
            result[path.name] = named.encode()
    return result


def rewrite(directory: Path, kind: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    changed = change(lines(directory, kind))
    (directory / f"{kind}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))


@pytest.fixture
def exported(world: Memory, tmp_path: Path) -> Path:
    export(world, tmp_path / "export")
    return tmp_path / "export"


@pytest.fixture
def elsewhere(db: None) -> Organisation:
    """An organisation with nobody in it."""
    return factories.organisation("New home")


def moved(source: Path, to: Organisation, **options: Any) -> Imported:
    return bring_in(source, Wish(organisation=to, create_missing=True, **options))


def test_an_export_of_an_import_is_the_export(exported: Path, elsewhere: Organisation, tmp_path: Path) -> None:
    done = moved(exported, elsewhere)
    export(Memory.objects.get(pk=done.root), tmp_path / "again")
    first, again = comparable(exported), comparable(tmp_path / "again")
    assert first.keys() == again.keys()
    for name, content in first.items():
        assert again[name] == content, name
    assert json.loads(first["manifest.json"])["counts"] == {
        "principals": 6,
        "types": 1,
        "memories": 2,
        "grants": 4,
        "files": 1,
        "records": 5,
        "versions": 6,
        "snapshots": 1,
        "holds": 2,
        "queries": 1,
    }


def test_what_was_imported_can_be_used_like_anything(
    exported: Path, elsewhere: Organisation, api: Api, world: Memory
) -> None:
    owner = factories.member(elsewhere, "Bob")
    factories.group(elsewhere, owner, name="Team")
    done = moved(exported, elsewhere)
    read = api.get(f"/v1/memories/{done.root}/records?include=all", owner)["data"]
    assert {record["status"] for record in read} == {"active", "superseded", "forgotten"}
    history = api.get(f"/v1/memories/{done.root}/records/{read[0]['id']}/history", owner)["data"]
    assert [one["written_by"]["type"] for one in history] == ["human", "agent"]
    assert history[0]["written_by"]["id"] == owner.id
    then = history[0]["time"]["written_at"]
    assert (
        then == api.get(f"/v1/memories/{done.root}/records/{read[0]['id']}?as_of={then}", owner)["time"]["written_at"]
    )
    below = api.get(f"/v1/memories?parent={done.root}", owner)["data"][0]
    assert (below["name"], below["restricted"]) == ("Below", True)
    note = api.get(f"/v1/memories/{below['id']}/records", owner)["data"][0]
    assert [one["available"] for one in note["references"]] == [True, False]
    assert note["references"][0]["record_id"] == read[0]["id"]
    answer = api._client.get(
        f"/v1/memories/{below['id']}/records/{note['id']}/content/1",
        headers={"Authorization": f"Bearer {api.key(owner)}"},
    )
    assert b"".join(answer) == DOT
    for words, count in (("first", 0), ("heron", 1), ("dot", 2), ("ticket", 0), ("Q", 1)):
        found = api.ok("POST", f"/v1/memories/{done.root}/recall", {"text": words}, owner)["results"]
        assert len(found) == count, words


def test_the_tree_is_reached_as_before(exported: Path, elsewhere: Organisation) -> None:
    done = moved(exported, elsewhere)
    root = Memory.objects.get(pk=done.root)
    (below,) = Memory.objects.children_of(root)
    assert set(Reach.objects.filter(descendant=below).values_list("ancestor_id", "distance", "open")) == {
        (below.id, 0, True),
        (root.id, 1, False),
    }
    assert Event.objects.get(action="memory.imported").memory_id == root.id


def test_an_import_goes_under_a_memory(
    exported: Path, elsewhere: Organisation, django_assert_max_num_queries: Any
) -> None:
    above = factories.memory(factories.member(elsewhere))
    done = moved(exported, elsewhere, parent=above)
    root = Memory.objects.get(pk=done.root)
    assert root.parent_id == above.id
    assert Reach.objects.filter(ancestor=above).count() == 3


def test_an_import_beside_what_was_exported_makes_everything_anew(
    exported: Path, world: Memory, alice: Member, bob: Member
) -> None:
    before = Record.objects.count()
    done = bring_in(exported, Wish(organisation=alice.organisation))
    assert (done.created, done.missing) == ([], [])
    assert Record.objects.count() == 2 * before
    assert Memory.objects.get(pk=done.root).creator == alice.principal
    assert File.objects.count() == 2
    assert len(list(Path(store().path("")).rglob("*/*/*"))) == 1
    assert done.notes == ["The type x.ticket is registered here already, and stays as it is."]


def test_who_is_not_here_gets_nothing_and_is_reported(exported: Path, elsewhere: Organisation) -> None:
    carol = factories.member(elsewhere, "Carol")
    done = bring_in(exported, Wish(organisation=elsewhere, creator=carol.principal))
    assert sorted(done.missing) == ["group Team", "member Agent", "member Alice", "member Bob"]
    assert set(Grant.objects.filter(organisation=elsewhere).values_list("principal", flat=True)) == {
        carol.principal,
        Group.objects.get(organisation=elsewhere, is_everyone=True).principal,
    }
    assert Memory.objects.get(pk=done.root).creator == carol.principal


def test_who_is_made_is_deactivated(exported: Path, elsewhere: Organisation) -> None:
    done = moved(exported, elsewhere)
    assert sorted(done.created) == ["group Team", "member Agent", "member Alice", "member Bob", "member Carol"]
    assert not Member.objects.of(elsewhere.id).active().exists()


def test_of_two_with_the_same_name_nobody_is_chosen(exported: Path, elsewhere: Organisation) -> None:
    for _ in range(2):
        factories.member(elsewhere, "Carol")
    done = bring_in(exported, Wish(organisation=elsewhere))
    assert "member Carol" in done.missing


def test_the_imports_bytes_are_looked_at_again(exported: Path, elsewhere: Organisation) -> None:
    rewrite(exported, "files", lambda all_: [{**one, "name": "../../evil\u202e.png"} for one in all_])
    moved(exported, elsewhere)
    file = File.objects.get(organisation=elsewhere)
    assert (file.name, file.media_type) == ("evil.png", "image/png")


BREAKAGES: dict[str, Callable[[Path], object]] = {
    "no manifest": lambda directory: (directory / "manifest.json").unlink(),
    "a manifest of something else": lambda directory: (directory / "manifest.json").write_text("{}"),
    "another version": lambda directory: (directory / "manifest.json").write_text(
        (directory / "manifest.json").read_text().replace('"version": 1', '"version": 99')
    ),
    "a line that is missing": lambda directory: rewrite(directory, "versions", lambda all_: all_[:-1]),
    "a file that is missing": lambda directory: (directory / "grants.jsonl").unlink(),
    "a line that is not JSON": lambda directory: (directory / "grants.jsonl").write_text("{\n" * 4),
    "bytes that were changed": lambda directory: next((directory / "files").iterdir()).write_bytes(b"other"),
    "bytes that are missing": lambda directory: next((directory / "files").iterdir()).unlink(),
    "a hash that leads elsewhere": lambda directory: rewrite(
        directory, "files", lambda all_: [{**one, "sha256": "../manifest.json"} for one in all_]
    ),
    "a tree that is none": lambda directory: rewrite(
        directory, "memories", lambda all_: [{**one, "parent": all_[1]["id"]} for one in all_]
    ),
    "a text with a NUL": lambda directory: rewrite(
        directory, "versions", lambda all_: [{**one, "title": "a\0b"} for one in all_]
    ),
    "a name with a NUL": lambda directory: rewrite(
        directory, "memories", lambda all_: [{**one, "name": "a\0b"} for one in all_]
    ),
    "two versions with one number": lambda directory: rewrite(
        directory, "versions", lambda all_: [{**one, "number": 1} for one in all_]
    ),
    "a status that is none": lambda directory: rewrite(
        directory, "versions", lambda all_: [{**one, "status": "secret"} for one in all_]
    ),
    "a version of no record": lambda directory: rewrite(
        directory, "versions", lambda all_: [{**one, "record": "hrec_1"} for one in all_]
    ),
    "a time that is none": lambda directory: rewrite(
        directory, "versions", lambda all_: [{**one, "written_at": "now"} for one in all_]
    ),
    "a privilege that is none": lambda directory: rewrite(
        directory, "grants", lambda all_: [{**one, "privileges": ["emit"]} for one in all_]
    ),
    "a field that is missing": lambda directory: rewrite(
        directory, "records", lambda all_: [{"id": one["id"]} for one in all_]
    ),
    "content that is a number": lambda directory: rewrite(
        directory, "versions", lambda all_: [{**one, "content": 7} for one in all_]
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_of_a_broken_export_nothing_is_imported(exported: Path, elsewhere: Organisation, breakage: str) -> None:
    BREAKAGES[breakage](exported)
    with pytest.raises(Broken):
        moved(exported, elsewhere)
    for model in (Memory, Record, Version, Embedding, Grant, File, Snapshot, Hold, Member):
        assert not model.objects.filter(organisation=elsewhere).exists(), model


def test_an_export_needs_a_place_of_its_own(world: Memory, tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(Broken, match="not empty"):
        export(world, tmp_path)
    with pytest.raises(Broken, match="cannot be written"):
        export(world, tmp_path / "something" / "below")


def test_an_export_without_all_the_bytes_has_no_manifest(world: Memory, tmp_path: Path) -> None:
    shutil.rmtree(store().path(""))
    with pytest.raises(Broken, match="lost the bytes"):
        export(world, tmp_path / "export")
    assert not (tmp_path / "export" / "manifest.json").exists()


def test_an_export_is_for_its_owner_alone(exported: Path) -> None:
    for path in (exported, *exported.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_commands_say_what_they_did(world: Memory, elsewhere: Organisation, tmp_path: Path, capsys: Any) -> None:
    call_command("export_memory", world.id, str(tmp_path / "export"))
    assert "Exported Shared to" in capsys.readouterr().out
    call_command("import_memory", str(tmp_path / "export"), "--org", elsewhere.slug)
    said = capsys.readouterr()
    assert "Imported" in said.out
    assert "Not here, so their grants were left out: group Team" in said.err
    for bad in (
        ["export_memory", "hmem_1", str(tmp_path / "other")],
        ["export_memory", world.id, str(tmp_path / "export")],
        ["import_memory", str(tmp_path), "--org", elsewhere.slug],
        ["import_memory", str(tmp_path / "export"), "--org", "nobody"],
        ["import_memory", str(tmp_path / "export"), "--org", elsewhere.slug, "--parent", world.id],
    ):
        with pytest.raises(CommandError):
            call_command(*bad)


# Plain records, line by line


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl"
    bodies: list[Any] = [{"content": f"Line {number}.", "attributes": {"number": number}} for number in range(1, 131)]
    bodies[6] = {"content": [{"type": "image"}]}
    path.write_text(
        "".join(json.dumps(body) + "\n" for body in bodies) + "not JSON\n\n[]\n" + json.dumps({"title": "last"})
    )
    return path


def test_every_line_is_remembered_or_reported(bob: Member, shared: Memory, file: Path, capsys: Any) -> None:
    with pytest.raises(CommandError, match="3 lines were refused"):
        call_command("import_records", shared.id, str(file), "--as", bob.id)
    said = capsys.readouterr()
    assert "Wrote 130 records of 134 lines into Shared." in said.out
    assert [line.partition(":")[0] for line in said.err.splitlines()] == ["Line 7", "Line 131", "Line 133"]
    assert "content.0.type" in said.err
    assert Version.objects.filter(memory=shared, writer_id=bob.id).count() == 130


def test_an_import_that_was_stopped_goes_on_where_it_was(
    bob: Member, shared: Memory, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = records.remember, 0

    def dies(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 75:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(records, "remember", dies)
    with pytest.raises(KeyboardInterrupt):
        bulk.remember_lines(at(bob, shared), file, lambda number, why: None, lambda count: None)
    assert RecordImport.objects.get().lines == 50
    refused: list[int] = []
    state = bulk.remember_lines(at(bob, shared), file, lambda number, why: refused.append(number), lambda count: None)
    assert (state.lines, state.written, refused) == (134, 130, [131, 133])
    assert sorted(Version.objects.filter(memory=shared, title="").values_list("attributes__number", flat=True)) == [
        number for number in range(1, 131) if number != 7
    ]
    state = bulk.remember_lines(at(bob, shared), file, lambda number, why: refused.append(number), lambda count: None)
    assert Version.objects.filter(memory=shared).count() == state.written == 130


def test_a_file_can_be_imported_again(bob: Member, shared: Memory, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"content": "Once."}\n')
    for options in ([], [], ["--again"]):
        call_command("import_records", shared.id, str(path), "--as", bob.id, *options)
    assert Version.objects.filter(memory=shared).count() == 2


def test_a_line_longer_than_a_request_is_refused_and_the_next_is_not(
    bob: Member, shared: Memory, tmp_path: Path, settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 1_000
    path = tmp_path / "long.jsonl"
    long, fits = json.dumps({"content": "x" * 5_000}), json.dumps({"content": "y" * (1_000 - len('{"content": ""}'))})
    path.write_text("\n".join([long, fits, long, '{"content": "z"}', long]))
    refused: list[int] = []
    state = bulk.remember_lines(at(bob, shared), path, lambda number, why: refused.append(number), lambda count: None)
    assert (state.lines, state.written, refused) == (5, 2, [1, 3, 5])


def test_who_may_not_write_imports_nothing(
    carol: Member, stranger: Member, mallory: Member, shared: Memory, file: Path
) -> None:
    for who in (carol, stranger, mallory):
        with pytest.raises(CommandError):
            call_command("import_records", shared.id, str(file), "--as", who.id)
    with pytest.raises(CommandError):
        call_command("import_records", shared.id, str(file) + "x", "--as", carol.id)
    assert not Version.objects.filter(memory=shared).exists()


def test_a_deleted_memory_takes_no_import(alice: Member, exported: Path) -> None:
    above = factories.memory(alice)
    tree.delete(at(alice, above))
    with pytest.raises(Broken):
        bring_in(exported, Wish(organisation=alice.organisation, parent=above))


def test_an_export_from_before_there_were_queries_is_read(exported: Path, elsewhere: Organisation) -> None:
    manifest = json.loads((exported / "manifest.json").read_text())
    del manifest["counts"]["queries"]
    (exported / "manifest.json").write_text(json.dumps(manifest))
    (exported / "queries.jsonl").unlink()
    moved(exported, elsewhere)
    assert Query.objects.filter(organisation=elsewhere).count() == 0


def test_a_query_that_could_not_be_defined_is_not_imported(exported: Path, elsewhere: Organisation) -> None:
    rewrite(exported, "queries", lambda found: [{**found[0], "body": "SELECT 1"}])
    with pytest.raises(Broken):
        moved(exported, elsewhere)
    assert not Memory.objects.filter(organisation=elsewhere).exists()
