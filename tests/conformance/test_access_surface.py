"""Listing where access begins and changes, moving, and deleting, as several callers see them."""

from __future__ import annotations

import pytest

from .client import JSON, Client, path
from .schemas import PRIVILEGES
from .trees import entry_points, ids, invented, plant, remember, share, show, unshare

MADE_UP = "hmem_00000000000070008000000000000000"


def granted(client: Client, among: list[JSON]) -> list[JSON]:
    """What a caller is listed with `granted=true`, of these memories, in the order of the listing."""
    wanted = {memory["id"] for memory in among}
    return [one for one in client.pages(path(), "MemoryList", granted="true") if one["id"] in wanted]


def test_granted_lists_where_access_begins_and_not_what_merely_follows(owner: Client, root: JSON) -> None:
    child = plant(owner, "child", root)
    listed = granted(owner, [root, child])
    assert ids(listed) == [root["id"]]
    assert listed[0]["privileges"] == list(PRIVILEGES)


def test_granted_lists_what_differs_from_the_parent_the_highest_first(
    owner: Client, reader: Client, root: JSON
) -> None:
    # Names that sort against the tree: only depth can put the higher one first.
    upper = plant(owner, "zz upper", root)
    same = plant(owner, "mm same", upper)
    lower = plant(owner, "aa lower", same)
    closed = plant(owner, "closed", upper, restricted=True)
    inside = plant(owner, "inside", closed)
    share(owner, upper, reader.principal, "read")
    share(owner, lower, reader.principal, "write")
    share(owner, inside, reader.principal, "read")
    listed = granted(reader, [root, upper, same, lower, closed, inside])
    assert ids(listed)[0] == upper["id"]
    assert set(ids(listed)) == {upper["id"], lower["id"], inside["id"]}
    assert {one["id"]: one["privileges"] for one in listed}[lower["id"]] == ["read", "write"]
    assert closed["id"] not in show(listed)
    assert all(one["privileges"] for one in reader.pages(path(), "MemoryList", granted="true"))


def test_a_branch_is_listed_parents_before_children(owner: Client, root: JSON) -> None:
    above = root
    for name in ("c", "b", "a"):
        above = plant(owner, name, above)
    listed = list(owner.pages(path(), "MemoryList", ancestor=root["id"]))
    assert [one["name"] for one in listed] == ["c", "b", "a"]
    assert [len(one["ancestors"]) for one in listed] == [1, 2, 3]


@pytest.mark.parametrize("which", ["parent", "ancestor"])
def test_pages_of_one_are_the_whole_listing(owner: Client, reader: Client, root: JSON, which: str) -> None:
    for name in ("one", "two", "three"):
        plant(owner, name, root)
    plant(owner, "hidden", root, restricted=True)
    share(owner, root, reader.principal, "read")
    asked = {which: root["id"]}
    whole = list(reader.pages(path(), "MemoryList", **asked))
    single = list(reader.pages(path(), "MemoryList", limit="1", **asked))
    assert sorted(one["name"] for one in single) == ["one", "three", "two"]
    assert ids(single) == ids(whole)


def test_sending_back_what_was_read_moves_nothing(owner: Client, reader: Client, root: JSON) -> None:
    middle = plant(owner, "middle", root)
    leaf = plant(owner, "leaf", middle)
    share(owner, middle, reader.principal, "read", "write")
    for memory in (middle, leaf):
        shown = reader.get(path(memory["id"])).valid("Memory")
        reader.put(path(memory["id"]), {**shown, "name": invented("renamed")}).valid("Memory")
    assert owner.get(path(middle["id"])).valid("Memory")["parent_id"] == root["id"]
    assert owner.get(path(leaf["id"])).valid("Memory")["parent_id"] == middle["id"]


def test_a_deleted_branch_is_unknown_to_everyone_at_once(owner: Client, reader: Client, root: JSON) -> None:
    branch = plant(owner, "branch", root)
    leaf = plant(owner, "leaf", plant(owner, "between", branch))
    record = remember(owner, leaf, "soon gone")
    pointer = {"record_id": record["id"], "memory_id": leaf["id"], "rel": "about"}
    pointing = remember(owner, root, "points there", references=[pointer])
    share(owner, leaf, reader.principal, *PRIVILEGES)
    share(owner, root, reader.principal, "read")
    assert leaf["id"] in set(owner.delete(path(branch["id"])).valid("MemoryDeletion")["memories"])
    for client in (owner, reader):
        for memory_id in (branch["id"], leaf["id"]):
            gone, made_up = (client.get(path(one), expect=404) for one in (memory_id, MADE_UP))
            assert gone.content == made_up.content
        assert client.get(path(leaf["id"], "records", record["id"]), expect=404).code == "memory_not_found"
        assert leaf["id"] not in set(entry_points(client))
        shown = client.get(path(root["id"], "records", pointing["id"])).valid("MemoryRecord")
        assert shown["references"] == [{"record_id": record["id"], "available": False}]
        assert branch["id"] not in show(list(client.pages(path(), "MemoryList", ancestor=root["id"])))
    assert owner.get(path(root["id"])).valid("Memory")["children"]["count"] == 0


def test_what_was_granted_moves_along_and_what_came_from_above_does_not(
    owner: Client, reader: Client, teammate: Client, team: str, root: JSON
) -> None:
    here, there = plant(owner, "here", root), plant(owner, "there", root)
    moving = plant(owner, "moving", here)
    share(owner, here, reader.principal, "read")
    share(owner, there, team, "read")
    own = share(owner, moving, reader.principal, "write")
    assert reader.get(path(moving["id"])).valid("Memory")["privileges"] == ["read", "write"]
    teammate.get(path(moving["id"]), expect=404)
    owner.put(path(moving["id"]), {"parent_id": there["id"]}).valid("Memory")
    assert teammate.get(path(moving["id"])).valid("Memory")["privileges"] == ["read"]
    assert reader.get(path(moving["id"]), expect=None).status == 403, "write alone does not read"
    unshare(owner, moving, own)
    reader.get(path(moving["id"]), expect=404)
