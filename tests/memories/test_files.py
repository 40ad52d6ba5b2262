"""Files: what is sent is what is read, nothing a client says about it is believed, and nobody reads by guessing."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from members.ids import mint
from members.models import Member
from memories.content import read_changes, read_draft
from memories.media import HEAD, Sniffer
from memories.models import Blob, File, Memory, Version
from memories.models.files import files_named_in, new_name, release, store
from memories.services import files, records
from memories.services.sight import look
from tests import factories
from tests.conftest import Answer, Api

pytestmark = pytest.mark.django_db

DOT = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89" + bytes(range(256))
BOUNDARY = "b0undary"
Settings = Any


def form(*parts: tuple[str, str | None, bytes]) -> bytes:
    """A multipart form of (field, file name, content); a field without a file name is a plain one."""
    lines = []
    for field, name, content in parts:
        told = f'form-data; name="{field}"' + (f'; filename="{name}"' if name is not None else "")
        lines.append(f"--{BOUNDARY}\r\nContent-Disposition: {told}\r\n".encode())
        lines.append(b"Content-Type: image/png\r\n\r\n" if name is not None else b"\r\n")
        lines += [content, b"\r\n"]
    return b"".join([*lines, f"--{BOUNDARY}--\r\n".encode()])


def post(api: Api, body: bytes, as_: Member | None, content_type: str = "", **headers: str) -> Answer:
    sent = {"Authorization": f"Bearer {api.key(as_)}"} if as_ else {}
    response = Client(raise_request_exception=False).generic(
        "POST",
        "/v1/files",
        body,
        content_type=content_type or f"multipart/form-data; boundary={BOUNDARY}",
        headers={**sent, **headers},
    )
    return Answer(response.status_code, response.content, dict(response.headers))


def send(api: Api, by: Member, content: bytes = DOT, name: str = "dot.png") -> Any:
    answer = post(api, form(("file", name, content)), by)
    assert answer.status == 200, answer.raw
    return answer.json


def part(file_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "file", "file": {"id": file_id}, **more}


def note(api: Api, by: Member, memory: Memory, *content: Any) -> Any:
    return api.ok("POST", f"/v1/memories/{memory.id}/records", {"type": "note", "content": list(content)}, by)


def read(api: Api, by: Member, memory: Memory, record_id: str, index: object = 0, **headers: str) -> Any:
    """The answer of the content route, its bytes collected."""
    response = Client(raise_request_exception=False).get(
        f"/v1/memories/{memory.id}/records/{record_id}/content/{index}",
        headers={"Authorization": f"Bearer {api.key(by)}", "Accept": "application/json", **headers},
    )
    raw = b"".join(response) if response.streaming else response.content
    return Answer(response.status_code, raw, dict(response.headers))


def stored_names() -> list[str]:
    """Every name in the store."""
    root = Path(store().path(""))
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def place_of_its_own(settings: Settings, tmp_path: Path) -> None:
    kept = django_settings.STORAGES["files"]
    own = {**kept, "OPTIONS": {**kept["OPTIONS"], "location": str(tmp_path / "files")}}
    settings.STORAGES = {**django_settings.STORAGES, "files": own}
    settings.FILES_INCOMING = tmp_path / "incoming"


# Sending


def test_what_is_sent_is_a_file(api: Api, bob: Member) -> None:
    sent = post(api, form(("purpose", None, b"assistants"), ("file", "dot.png", DOT)), bob).json
    assert sent == {
        "id": sent["id"],
        "object": "file",
        "filename": "dot.png",
        "bytes": len(DOT),
        "created_at": sent["created_at"],
        "purpose": "assistants",
    }
    assert sent["id"].startswith("file_")
    assert abs(sent["created_at"] - timezone.now().timestamp()) < 60


def test_the_purpose_is_user_data_unless_said(api: Api, bob: Member) -> None:
    assert send(api, bob)["purpose"] == "user_data"


def test_an_empty_file_is_a_file(api: Api, bob: Member, shared: Memory) -> None:
    sent = send(api, bob, b"", "nothing.txt")
    record = note(api, bob, shared, part(sent["id"]))
    answer = read(api, bob, shared, record["id"])
    assert (answer.status, answer.raw, answer.headers["Content-Length"]) == (200, b"", "0")


def test_the_same_bytes_are_kept_once_in_an_organisation(api: Api, bob: Member, carol: Member, mallory: Member) -> None:
    ids = {send(api, who)["id"] for who in (bob, bob, carol, mallory)}
    assert len(ids) == 4
    assert Blob.objects.count() == 2
    assert len(stored_names()) == 2
    assert set(Blob.objects.values_list("sha256", flat=True)) == {hashlib.sha256(DOT).hexdigest()}


def test_files_and_folders_are_their_owners_alone(api: Api, bob: Member) -> None:
    send(api, bob)
    root = Path(store().path(""))
    for path in (root, *root.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o600 if path.is_file() else 0o700), path


def test_bytes_that_the_store_lost_are_kept_again(api: Api, bob: Member, shared: Memory) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    store().delete(stored_names()[0])
    assert read(api, bob, shared, record["id"]).error["code"] == "memory_record_not_found"
    send(api, bob)
    assert read(api, bob, shared, record["id"]).raw == DOT


@pytest.mark.parametrize("surplus", [1, 300_000, 10_000_000])
def test_a_file_over_the_limit_is_refused_whole(api: Api, bob: Member, settings: Settings, surplus: int) -> None:
    settings.MAX_FILE_BYTES = 100_000
    assert send(api, bob, b"a" * 100_000)["bytes"] == 100_000
    kept = stored_names()
    answer = post(api, form(("file", "big", b"b" * (100_000 + surplus))), bob)
    assert (answer.status, answer.error["code"]) == (413, "file_too_large")
    assert answer.error["detail"] == {"max_bytes": 100_000}
    assert stored_names() == kept
    assert not list(Path(settings.FILES_INCOMING).iterdir())


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"file": "x"}', "application/json"),
        (b"", ""),
        (b"not a form", ""),
        (form(("purpose", None, b"user_data")), ""),
        (form(("file", None, b"a field, not a file")), ""),
        (form(("other", "dot.png", DOT)), ""),
        (form(("file", "", DOT)), ""),
        (form(("file", "dot.png", DOT))[:-60], ""),
        (form(("file", "dot.png", DOT)), "multipart/form-data"),
    ],
)
def test_what_is_no_file_is_refused(api: Api, bob: Member, body: bytes, content_type: str) -> None:
    answer = post(api, body, bob, content_type)
    if answer.status == 200:
        pytest.fail(f"{body[:40]!r} was taken")
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")
    assert not File.objects.exists()
    assert stored_names() == []


def test_an_upload_that_ends_early_is_not_kept(api: Api, bob: Member) -> None:
    body = form(("file", "dot.png", DOT))
    response = Client(raise_request_exception=False).generic(
        "POST",
        "/v1/files",
        body,
        content_type=f"multipart/form-data; boundary={BOUNDARY}",
        headers={"Authorization": f"Bearer {api.key(bob)}"},
        **cast(Any, {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": len(body) + 5_000}),
    )
    assert response.status_code == 400
    assert not File.objects.exists()


def test_nobody_sends_without_a_credential(api: Api) -> None:
    assert post(api, form(("file", "dot.png", DOT)), None).status == 401


def test_a_key_makes_one_file_of_two_requests(api: Api, bob: Member) -> None:
    body = form(("file", "dot.png", DOT))
    first, again = (post(api, body, bob, **{"Idempotency-Key": "once"}) for _ in range(2))
    assert first.status == 200
    assert first.json == again.json
    assert File.objects.count() == 1


@pytest.mark.parametrize(
    ("given_name", "kept_name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\\\temp\\\\evil.exe", "evil.exe"),
        ("<img src=x onerror=alert(1)>.png", "<img src=x onerror=alert(1)>.png"),
        ("a\u202egnp.exe", "agnp.exe"),
        ("naïve ☂ {{7*7}}.txt", "naïve ☂ {{7*7}}.txt"),
        ("..", None),
    ],
)
def test_a_hostile_name_is_a_plain_one(api: Api, bob: Member, given_name: str, kept_name: str | None) -> None:
    answer = post(api, form(("file", given_name, DOT)), bob)
    if kept_name is None:
        assert answer.status == 400
    else:
        assert answer.json["filename"] == kept_name


# What kind of file it is


def office(folder: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(f"{folder}/document.xml", "<w/>")
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (DOT, "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0\1" + bytes(30), "image/jpeg"),
        (b"GIF89a\1\0\1\0\0\0\0\xff", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 \xff", "image/webp"),
        (b"%PDF-1.4\nall of it is text", "application/pdf"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3", "application/pdf"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom\xff", "video/mp4"),
        (b"RIFF\x24\0\0\0WAVEfmt \xff", "audio/wav"),
        (b"\x1f\x8b\x08\0" + bytes(10) + b"\xff", "application/gzip"),
        (office("word"), "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (office("other"), "application/zip"),
        (b"PK\3\4" + bytes(30), "application/zip"),
        (b"", "text/plain"),
        (b"BM is how this text begins", "text/plain"),
        ("Grüße, 世界".encode(), "text/plain"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "text/plain"),
        (b"<!doctype html><script>alert(1)</script>", "text/plain"),
        ("<svg xmlns='http://www.w3.org/2000/svg'>é</svg>".encode("latin-1"), "application/octet-stream"),
        ("<html><body>é<script>1</script>".encode("latin-1"), "application/octet-stream"),
        (b"text with a NUL \0 in it", "application/octet-stream"),
        (bytes(range(128, 256)), "application/octet-stream"),
        (b"half of a character \xe4\xb8", "application/octet-stream"),
        (b"a" * (2 * HEAD) + b"\xff", "application/octet-stream"),
    ],
)
def test_the_bytes_say_what_a_file_is(content: bytes, media_type: str) -> None:
    sniffer = Sniffer()
    sniffer.feed(content)
    assert sniffer.media_type() == media_type


@given(st.binary(max_size=200), st.integers(1, 20))
def test_any_bytes_are_something_however_they_arrive(content: bytes, size: int) -> None:
    whole, pieces = Sniffer(), Sniffer()
    whole.feed(content)
    for start in range(0, len(content), size):
        pieces.feed(content[start : start + size])
    assert pieces.media_type() == whole.media_type()


# File parts


def test_the_server_completes_a_file_part(api: Api, bob: Member, carol: Member, shared: Memory) -> None:
    sent = send(api, bob)
    forged = {"id": sent["id"], "name": "forged.txt", "media_type": "text/html", "bytes": 1, "path": "/etc/passwd"}
    made = note(
        api,
        bob,
        shared,
        {"type": "text", "text": "A picture of a dot."},
        {"type": "file", "file": forged, "text": "one dark dot", "text_source": "derived", "role": "user", "own": 1},
    )
    assert made["content"][1] == {
        "type": "file",
        "file": {"id": sent["id"], "name": "dot.png", "media_type": "image/png", "bytes": len(DOT)},
        "text": "one dark dot",
        "text_source": "stated",
        "role": "user",
    }
    assert api.get(f"/v1/memories/{shared.id}/records/{made['id']}", carol)["content"] == made["content"]


def test_a_part_of_another_kind_is_carried_unchanged_whatever_file_it_speaks_of(
    api: Api, bob: Member, shared: Memory
) -> None:
    strange = {"type": "x.card", "file": {"id": "not an upload", "bytes": -1}, "media_type": "y"}
    assert note(api, bob, shared, strange)["content"] == [strange]


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"text": 7}, "content.1.text"),
        ({"text": "a\0b"}, "content.1.text"),
        ({"text_source": "guessed"}, "content.1.text_source"),
        ({"role": "narrator"}, "content.1.role"),
    ],
)
def test_a_malformed_file_part_is_refused_by_its_field(
    api: Api, bob: Member, shared: Memory, more: dict[str, Any], param: str
) -> None:
    content = [{"type": "text", "text": "w"}, part(send(api, bob)["id"], **more)]
    answer = api.call("POST", f"/v1/memories/{shared.id}/records", {"content": content}, as_=bob)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)


def test_an_unknown_file_and_anothers_look_the_same(
    api: Api, bob: Member, agent: Member, alice: Member, mallory: Member, shared: Memory
) -> None:
    private = factories.memory(alice)
    hidden = send(api, alice)["id"]
    note(api, alice, private, part(hidden))
    refused = set()
    for file_id in (mint("file_"), "file_1", "no-such-file", send(api, agent)["id"], send(api, mallory)["id"], hidden):
        content = [{"type": "text", "text": "w"}, part(file_id)]
        answer = api.call("POST", f"/v1/memories/{shared.id}/records", {"content": content}, as_=bob)
        assert (answer.status, answer.error["param"]) == (422, "content.1.file.id")
        refused.add(answer.raw)
    assert len(refused) == 1
    assert not Version.objects.filter(memory=shared).exists()


def test_who_reads_a_record_may_name_its_file_elsewhere(
    api: Api, bob: Member, carol: Member, stranger: Member, shared: Memory
) -> None:
    sent = send(api, bob)
    note(api, bob, shared, part(sent["id"]))
    mine = factories.memory(carol)
    copied = note(api, carol, mine, part(sent["id"]))
    assert read(api, carol, mine, copied["id"]).raw == DOT
    theirs = factories.memory(stranger)
    answer = api.call("POST", f"/v1/memories/{theirs.id}/records", {"content": [part(sent["id"])]}, as_=stranger)
    assert answer.status == 422


def test_what_a_member_may_name_costs_the_same_however_many_files(
    alice: Member, bob: Member, api: Api, shared: Memory
) -> None:
    sent = [send(api, bob, bytes([0, number]))["id"] for number in range(8)]
    note(api, bob, shared, *(part(one) for one in sent))

    def queries(ids: list[str]) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            records.remember(look(factories.caller(alice), shared.id), read_draft({"content": list(map(part, ids))}))
        return len(captured)

    assert queries(sent[:1]) == queries(sent)


def test_a_media_type_that_is_not_kept_is_refused_and_nothing_is_stored(
    api: Api, bob: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memories.providers.native import NativeProvider

    declared = NativeProvider.capabilities

    def text_only(self: NativeProvider) -> Any:
        return {**declared(self), "content": {"media": ["text/*"]}}

    monkeypatch.setattr(NativeProvider, "capabilities", text_only)
    content = [{"type": "text", "text": "words"}, part(send(api, bob)["id"])]
    answer = api.call("POST", f"/v1/memories/{shared.id}/records", {"content": content}, as_=bob)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_unsupported", "content.1.file")
    assert not Version.objects.filter(memory=shared).exists()
    note(api, bob, shared, part(send(api, bob, b"plain text")["id"]))


def test_the_words_of_a_file_are_searched(api: Api, bob: Member, shared: Memory) -> None:
    described = note(api, bob, shared, part(send(api, bob)["id"], text="A heron over the marsh."))
    bare = note(api, bob, shared, part(send(api, bob, name="invoice kestrel.png")["id"]))
    for words, record in (("heron", described), ("kestrel", bare)):
        found = api.ok("POST", f"/v1/memories/{shared.id}/recall", {"text": words}, bob)
        assert [hit["record"]["id"] for hit in found["results"]] == [record["id"]]


def test_a_revision_keeps_the_files_it_does_not_speak_of(api: Api, bob: Member, agent: Member, shared: Memory) -> None:
    made = note(api, bob, shared, part(send(api, bob)["id"], text="a dot"))
    changed = api.ok("PATCH", f"/v1/memories/{shared.id}/records/{made['id']}", {"title": "Dot"}, agent)
    assert changed["content"] == made["content"]
    restated = api.ok("PATCH", f"/v1/memories/{shared.id}/records/{made['id']}", {"content": changed["content"]}, agent)
    assert restated["content"] == made["content"]


# Reading bytes


def test_bytes_are_sent_as_an_attachment_that_nothing_guesses_at(
    api: Api, carol: Member, bob: Member, shared: Memory
) -> None:
    record = note(api, bob, shared, {"type": "text", "text": "w"}, part(send(api, bob)["id"]))
    answer = read(api, carol, shared, record["id"], 1)
    assert (answer.status, answer.raw) == (200, DOT)
    expected = {
        "Content-Type": "image/png",
        "Content-Length": str(len(DOT)),
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": 'attachment; filename="dot.png"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Accept-Ranges": "bytes",
        "UHP-Version": "2026-10-19",
        "Cache-Control": "no-store",
    }
    assert {name: answer.headers[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ('say "hi"; filename=evil.exe', 'attachment; filename="say \\"hi\\"; filename=evil.exe"'),
        ("naïve.png", "attachment; filename*=utf-8''na%C3%AFve.png"),
        ("a\r\nSet-Cookie: x", 'attachment; filename="aSet-Cookie: x"'),
    ],
)
def test_a_name_stays_inside_its_header(api: Api, bob: Member, shared: Memory, name: str, disposition: str) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    File.objects.update(name=name)
    answer = read(api, bob, shared, record["id"])
    assert answer.headers["Content-Disposition"] == disposition


@pytest.mark.parametrize(
    ("asked", "status", "sent", "told"),
    [
        ("bytes=0-9", 206, DOT[:10], f"bytes 0-9/{len(DOT)}"),
        ("bytes=10-", 206, DOT[10:], f"bytes 10-{len(DOT) - 1}/{len(DOT)}"),
        ("bytes=-5", 206, DOT[-5:], f"bytes {len(DOT) - 5}-{len(DOT) - 1}/{len(DOT)}"),
        ("bytes=5-999999", 206, DOT[5:], f"bytes 5-{len(DOT) - 1}/{len(DOT)}"),
        ("bytes=-999999", 206, DOT, f"bytes 0-{len(DOT) - 1}/{len(DOT)}"),
        (f"bytes={len(DOT)}-", 416, None, f"bytes */{len(DOT)}"),
        ("bytes=-0", 416, None, f"bytes */{len(DOT)}"),
        ("bytes=9-3", 200, DOT, None),
        ("bytes=0-1,4-5", 200, DOT, None),
        ("bytes=-", 200, DOT, None),
        ("lines=1-2", 200, DOT, None),
    ],
)
def test_one_range_of_bytes_can_be_asked_for(
    api: Api, bob: Member, shared: Memory, asked: str, status: int, sent: bytes | None, told: str | None
) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    answer = read(api, bob, shared, record["id"], Range=asked)
    assert (answer.status, answer.headers.get("Content-Range")) == (status, told)
    if sent is None:
        assert answer.error["code"] == "heartwood_range_not_satisfiable"
    else:
        assert (answer.raw, answer.headers["Content-Length"]) == (sent, str(len(sent)))


def test_a_range_of_other_bytes_is_not_mixed_with_these(api: Api, bob: Member, shared: Memory) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    tag = read(api, bob, shared, record["id"]).headers["ETag"]
    assert read(api, bob, shared, record["id"], Range="bytes=0-1", **{"If-Range": tag}).status == 206
    assert read(api, bob, shared, record["id"], Range="bytes=0-1", **{"If-Range": '"older"'}).status == 200


def test_head_says_what_get_would(api: Api, bob: Member, shared: Memory) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    response = Client().head(
        f"/v1/memories/{shared.id}/records/{record['id']}/content/0",
        headers={"Authorization": f"Bearer {api.key(bob)}"},
    )
    assert (response.status_code, response.headers["Content-Length"]) == (200, str(len(DOT)))
    assert b"".join(response) == b""


@pytest.mark.parametrize("index", ["1", "0", "3", "-1", "x", "00000000000002", "²", "2.0", "%20"])
def test_what_is_no_file_part_is_not_found(api: Api, bob: Member, shared: Memory, index: str) -> None:
    text, strange = {"type": "text", "text": "w"}, {"type": "x.card", "file": {"id": "x"}}
    record = note(api, bob, shared, text, strange, part(send(api, bob)["id"]))
    answer = read(api, bob, shared, record["id"], index)
    assert (answer.status, answer.error["code"]) == (404, "memory_record_not_found")
    assert read(api, bob, shared, record["id"], 2).status == 200


def test_bytes_are_those_of_the_version_that_held(api: Api, bob: Member, shared: Memory) -> None:
    first = note(api, bob, shared, part(send(api, bob, b"the first")["id"]))
    second = send(api, bob, b"the second")["id"]
    changed = api.ok("PATCH", f"/v1/memories/{shared.id}/records/{first['id']}", {"content": [part(second)]}, bob)
    assert read(api, bob, shared, first["id"]).raw == b"the second"
    then = f"0?as_of={first['time']['written_at']}"
    assert read(api, bob, shared, first["id"], then).raw == b"the first"
    assert read(api, bob, shared, first["id"], "0?as_of=1999-01-01T00:00:00Z").status == 404
    assert read(api, bob, shared, first["id"], "0?as_of=yesterday").error["param"] == "as_of"
    assert read(api, bob, shared, first["id"], f"0?as_of={changed['time']['written_at']}").raw == b"the second"


def test_only_the_memory_of_the_record_lets_its_bytes_out(
    api: Api, alice: Member, bob: Member, stranger: Member, mallory: Member, shared: Memory
) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    other = factories.memory(alice)
    assert read(api, alice, other, record["id"]).error["code"] == "memory_record_not_found"
    for who in (stranger, mallory):
        assert read(api, who, shared, record["id"]).error["code"] == "memory_not_found"


def test_the_uploader_matters_no_more(api: Api, bob: Member, carol: Member, shared: Memory, team: Any) -> None:
    from members import services as members

    record = note(api, bob, shared, part(send(api, bob)["id"]))
    members.remove_from_group(team, bob)
    assert read(api, bob, shared, record["id"]).status == 404
    assert read(api, carol, shared, record["id"]).raw == DOT


# Letting go


@pytest.fixture
def named_twice(api: Api, bob: Member, shared: Memory) -> tuple[str, Any, Any]:
    file_id = send(api, bob)["id"]
    return file_id, note(api, bob, shared, part(file_id)), note(api, bob, shared, part(file_id))


def remove(record_id: str) -> None:
    """What an erasure does to a record and its files."""
    with transaction.atomic():
        versions = Version.objects.filter(record_id=record_id)
        ids = files_named_in(versions)
        versions.delete()
        release(ids)


def test_bytes_go_with_the_last_version_that_names_them(
    named_twice: tuple[str, Any, Any], django_capture_on_commit_callbacks: Any
) -> None:
    file_id, first, second = named_twice
    with django_capture_on_commit_callbacks(execute=True):
        remove(first["id"])
    assert File.objects.filter(pk=file_id).exists()
    assert len(stored_names()) == 1
    with django_capture_on_commit_callbacks(execute=True):
        remove(second["id"])
    assert not File.objects.exists()
    assert not Blob.objects.exists()
    assert stored_names() == []


def test_bytes_stay_while_an_earlier_version_names_them(
    api: Api, bob: Member, shared: Memory, named_twice: tuple[str, Any, Any], django_capture_on_commit_callbacks: Any
) -> None:
    file_id, first, second = named_twice
    records.revise(look(factories.caller(bob), shared.id), first["id"], read_changes({"content": "words now"}))
    with django_capture_on_commit_callbacks(execute=True):
        remove(second["id"])
    assert File.objects.filter(pk=file_id).exists()
    assert len(stored_names()) == 1


def test_bytes_that_another_file_consists_of_stay(
    api: Api, bob: Member, shared: Memory, django_capture_on_commit_callbacks: Any
) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    kept = note(api, bob, shared, part(send(api, bob, name="same.png")["id"]))
    with django_capture_on_commit_callbacks(execute=True):
        remove(record["id"])
    assert read(api, bob, shared, kept["id"]).raw == DOT


def test_a_transaction_that_is_taken_back_removes_no_bytes(
    api: Api, bob: Member, shared: Memory, django_capture_on_commit_callbacks: Any
) -> None:
    record = note(api, bob, shared, part(send(api, bob)["id"]))
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        remove(record["id"])
        transaction.set_rollback(True)
    assert read(api, bob, shared, record["id"]).raw == DOT


def test_the_sweep_removes_what_nobody_named_for_a_day(
    api: Api, bob: Member, shared: Memory, django_capture_on_commit_callbacks: Any
) -> None:
    young, old, named = (send(api, bob, bytes([0, number]))["id"] for number in range(3))
    note(api, bob, shared, part(named))
    File.objects.filter(pk__in=[old, named]).update(created_at=timezone.now() - timedelta(hours=25))
    with django_capture_on_commit_callbacks(execute=True):
        assert files.sweep()[0] == 1
    assert set(File.objects.values_list("id", flat=True)) == {young, named}
    assert len(stored_names()) == 2


def test_the_sweep_removes_bytes_that_a_dying_process_left(
    api: Api, bob: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(api, bob)
    young = new_name(bob.organisation_id)
    long_ago = f"{0x018000000000:012x}" + "7" + "0" * 19
    old = f"{bob.organisation_id}/{long_ago[:6]}/{long_ago}"
    for name in (young, old):
        store().save(name, io.BytesIO(b"left behind"))
    assert files.sweep()[1] == 1
    assert old not in stored_names()
    assert young in stored_names()
    files.sweep()
    assert not Path(store().path(old)).parent.exists()
    assert len(stored_names()) == 2


def test_a_file_that_is_being_named_is_not_swept(transactional_db: None) -> None:
    organisation = factories.organisation()
    who = factories.member(organisation)
    memory = factories.memory(who)
    upload = files.Upload(io.BytesIO(DOT), "dot.png", hashlib.sha256(DOT).hexdigest(), len(DOT), "image/png")
    file = files.keep(factories.caller(who), upload)
    File.objects.update(created_at=timezone.now() - timedelta(days=2))
    swept: list[int] = []

    def sweep() -> None:
        swept.append(files.sweep()[0])
        connection.close()

    with transaction.atomic():
        records.remember(look(factories.caller(who), memory.id), read_draft({"content": [part(file.id)]}))
        sweeper = threading.Thread(target=sweep)
        sweeper.start()
        sweeper.join(1.0)
        assert sweeper.is_alive(), "the sweep did not wait for the writer"
    sweeper.join(10)
    assert swept == [0]
    assert File.objects.filter(pk=file.id).exists()
    assert len(stored_names()) == 1


def test_the_same_bytes_sent_at_once_are_kept_once(transactional_db: None) -> None:
    organisation = factories.organisation()
    who = factories.caller(factories.member(organisation))
    start = threading.Barrier(4)
    kept: list[File] = []

    def send_at_once() -> None:
        upload = files.Upload(io.BytesIO(DOT), "dot.png", hashlib.sha256(DOT).hexdigest(), len(DOT), "image/png")
        start.wait()
        kept.append(files.keep(who, upload))
        connection.close()

    senders = [threading.Thread(target=send_at_once) for _ in range(4)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(20)
    assert len({file.id for file in kept}) == 4
    assert {file.blob_id for file in kept} == {Blob.objects.get().pk}
    assert stored_names() == [Blob.objects.get().name]


def test_bytes_sent_while_they_are_removed_are_there_afterwards(transactional_db: None) -> None:
    organisation = factories.organisation()
    who = factories.caller(factories.member(organisation))

    def upload() -> files.Upload:
        return files.Upload(io.BytesIO(DOT), "dot.png", hashlib.sha256(DOT).hexdigest(), len(DOT), "image/png")

    kept: list[File] = []

    def send_meanwhile() -> None:
        kept.append(files.keep(who, upload()))
        connection.close()

    first = files.keep(who, upload())
    sender = threading.Thread(target=send_meanwhile)
    with transaction.atomic():
        release([first.id])
        sender.start()
        sender.join(1.0)
        assert sender.is_alive(), "the upload did not wait for the removal"
    sender.join(20)
    with kept[0].blob.open() as content:
        assert content.read() == DOT


def test_the_bucket_is_used_when_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from uhp_site import data

    monkeypatch.setenv("HEARTWOOD_S3_BUCKET", "memories")
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        data.file_store()
    monkeypatch.setattr(data, "find_spec", lambda name: object())
    monkeypatch.setenv("HEARTWOOD_S3_ENDPOINT", "http://127.0.0.1:9000")
    described = data.file_store()
    assert described["BACKEND"] == "storages.backends.s3.S3Storage"
    assert described["OPTIONS"]["bucket_name"] == "memories"
    assert described["OPTIONS"]["endpoint_url"] == "http://127.0.0.1:9000"
    assert "AWS" not in json.dumps(described)
