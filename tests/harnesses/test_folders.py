"""Skills are folders: they come back byte for byte, and nothing of them lies outside."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesses import folders
from harnesses.errors import HarnessInvalid
from harnesses.folders import SkillFile, blob_of, read_skills
from harnesses.models import SkillFile as Stored
from members.models import Member
from tests.conftest import Api
from tests.harnesses.conftest import Engage

ENTRY = {"path": "SKILL.md", "content": "---\nname: greet\n---\r\nSay hello.\n"}
FOLDER = [
    ENTRY,
    {"path": "assets/blob.bin", "content_b64": "AAECAwQF"},
    {"path": "references/data.md", "content": "  Spaces stay.  "},
]
PRINTABLE = st.characters(
    codec="utf-8", exclude_categories=("C", "Z"), include_characters=" ", exclude_characters="/\\:"
)
SEGMENT = st.text(PRINTABLE, min_size=1, max_size=12).filter(lambda one: one not in {".", ".."})
PATHS = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)


def test_a_folder_comes_back_byte_for_byte(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, skills=[{"name": "greet", "enabled": True, "files": FOLDER}])
    assert api.get(f"/v1/harnesses/{made.id}/skills/greet/files", alice) == {"files": FOLDER}
    assert made.json["skills"][0] | {"blob": ""} == {"name": "greet", "enabled": True, "blob": "", "bytes": 54}


def test_content_alone_is_one_skill_file(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, skills=[{"name": "greet", "content": "Hello."}])
    files = api.get(f"/v1/harnesses/{made.id}/skills/greet/files", alice)["files"]
    assert files == [{"path": "SKILL.md", "content": "Hello."}]


def test_what_was_read_keeps_the_files_when_it_is_written_back(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, skills=[{"name": "greet", "files": FOLDER}])
    address = f"/v1/harnesses/{made.id}"
    read = api.get(address, alice)
    body = {"name": "Clerk", "base": "mcp", "skills": [{**read["skills"][0], "name": "welcome", "enabled": False}]}
    written = api.ok("PUT", address, body, alice)
    assert written["skills"] == [{**read["skills"][0], "name": "welcome", "enabled": False}]
    assert api.get(f"{address}/skills/welcome/files", alice)["files"] == FOLDER
    assert api.call("GET", f"{address}/skills/greet/files", as_=alice).error["code"] == "heartwood_skill_not_found"


def test_a_handle_of_another_harness_is_worth_nothing(api: Api, alice: Member, bob: Member, engage: Engage) -> None:
    secret = engage(alice, skills=[{"name": "greet", "files": FOLDER}])
    blob = secret.json["skills"][0]["blob"]
    for method, path in (("POST", "/v1/harnesses"), ("PUT", f"/v1/harnesses/{engage(bob).id}")):
        refused = api.call(method, path, {"base": "mcp", "skills": [{"name": "x", "blob": blob}]}, as_=bob)
        assert (refused.status, refused.error["param"]) == (422, "skills.0.blob")


def test_a_skill_that_is_switched_off_needs_no_files(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, skills=[{"name": "built-in", "enabled": False}])
    assert made.json["skills"] == [{"name": "built-in", "enabled": False}]
    assert api.get(f"/v1/harnesses/{made.id}/skills/built-in/files", alice)["files"] == []


ESCAPES = [
    "",
    "/etc/passwd",
    "../SKILL.md",
    "a/../../b",
    "a/./b",
    "a//b",
    "a/",
    "..\\b",
    "C:/b",
    "a\0b",
    "a\nb",
    "\u202e.md",
    "x" * 256,
]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_leads_out_is_refused_and_stores_nothing(api: Api, alice: Member, path: str) -> None:
    skill = {"name": "x", "files": [ENTRY, {"path": path, "content": ""}]}
    answer = api.call("POST", "/v1/harnesses", {"base": "mcp", "skills": [skill]}, as_=alice)
    assert (answer.status, answer.error["code"]) == (422, "invalid_input")
    assert answer.error["param"] == "skills.0.files.1.path"
    assert not Stored.objects.exists()


REFUSED: list[tuple[Any, str]] = [
    ("x", "skills"),
    ([1], "skills.0"),
    ([{"name": "a/b", "content": "x"}], "skills.0.name"),
    ([{"name": "..", "content": "x"}], "skills.0.name"),
    ([{"name": "x"}], "skills.0"),
    ([{"name": "x", "enabled": "yes", "content": "x"}], "skills.0.enabled"),
    ([{"name": "x", "content": 1}], "skills.0.content"),
    ([{"name": "x", "files": "x"}], "skills.0.files"),
    ([{"name": "x", "files": [{"path": "README.md", "content": "x"}]}], "skills.0.files"),
    ([{"name": "x", "files": [ENTRY, ENTRY]}], "skills.0.files"),
    ([{"name": "x", "files": [ENTRY, {"path": "a", "content": ""}, {"path": "a/b", "content": ""}]}], "skills.0.files"),
    ([{"name": "x", "files": [ENTRY, {"path": "a"}]}], "skills.0.files.1"),
    ([{"name": "x", "files": [ENTRY, {"path": "a", "content": "", "content_b64": ""}]}], "skills.0.files.1"),
    ([{"name": "x", "files": [ENTRY, {"path": "a", "content_b64": "AAE"}]}], "skills.0.files.1.content_b64"),
    ([{"name": "x", "files": [ENTRY, {"path": "a", "content_b64": "AB=="}]}], "skills.0.files.1.content_b64"),
    ([{"name": "x", "files": [ENTRY, {"path": "a", "content": "\ud800"}]}], "skills.0.files.1.content"),
    ([{"name": "x", "content": "1"}, {"name": "x", "content": "2"}], "skills"),
]


@pytest.mark.parametrize(("value", "param"), REFUSED)
def test_what_is_no_folder_is_refused_by_name(value: Any, param: str) -> None:
    with pytest.raises(HarnessInvalid) as refused:
        read_skills(value)
    assert refused.value.param == param


def test_a_harness_holds_so_many_bytes_and_says_how_many(
    api: Api, alice: Member, engage: Engage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_BYTES", 1_000)
    made = engage(alice, skills=[{"name": "a", "content": "x" * 600}])
    both = [{"name": "a", "blob": made.json["skills"][0]["blob"]}, {"name": "b", "content": "x" * 401}]
    refused = api.call("PUT", f"/v1/harnesses/{made.id}", {"skills": both}, as_=alice)
    assert (refused.status, refused.error["code"]) == (413, "file_too_large")
    assert refused.error["detail"] == {"max_bytes": 1_000}
    assert api.get(f"/v1/harnesses/{made.id}", alice)["skills"] == made.json["skills"]


@given(st.dictionaries(PATHS, st.one_of(st.text(st.characters(codec="utf-8")), st.binary()), max_size=5))
def test_any_folder_that_is_taken_is_given_back(tree: dict[str, str | bytes]) -> None:
    files = [dict(ENTRY)]
    for path, content in tree.items():
        if isinstance(content, str):
            files.append({"path": path, "content": content})
        else:
            files.append({"path": path, "content_b64": base64.b64encode(content).decode()})
    paths = [file["path"] for file in files]
    clash = any(one == other or one.startswith(f"{other}/") for one in paths for other in paths if one is not other)
    if clash:
        with pytest.raises(HarnessInvalid):
            read_skills([{"name": "x", "files": files}])
        return
    (draft,) = read_skills([{"name": "x", "files": files}])
    assert [file.shown() for file in draft.files] == files


@given(st.lists(st.tuples(PATHS, st.binary(max_size=8), st.booleans()), unique_by=lambda one: one[0], max_size=4))
def test_the_handle_knows_every_byte_and_no_order(rows: list[tuple[str, bytes, bool]]) -> None:
    files = tuple(SkillFile(*row) for row in rows)
    assert blob_of(files) == blob_of(files[::-1])
    for index, file in enumerate(files):
        others = (*files[:index], *files[index + 1 :])
        changed = SkillFile(file.path, file.content + b"!", file.text)
        assert blob_of((*others, changed)) != blob_of(files) != blob_of(others)
