"""What one caller must never learn of another's memories: checks with several principals.

Every test grows its own small tree as the owner, looks at it with somebody else's eyes, and searches whole answers for
what must not be in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .client import JSON, NO_BODY, Client, Reply, path
from .conftest import Cast
from .routes import MEMORY, RESTRICT, ROUTES, Route
from .schemas import PRIVILEGES
from .trees import (
    children,
    entry_points,
    found,
    hit,
    ids,
    invented,
    open_root,
    plant,
    question,
    recall,
    remember,
    share,
    show,
    signals,
    unchanged,
    unshare,
)

MADE_UP = "hmem_00000000000070008000000000000000"
# Headers that differ from one answer to the next, whatever is asked.
PER_REQUEST = {"date", "x-request-id", "x-correlation-id", "request-id"}


def seen(reply: Reply) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Everything a caller can tell one answer from another by."""
    headers = sorted((name, "" if name in PER_REQUEST else value) for name, value in reply.headers.multi_items())
    return reply.status, reply.content, headers


def ask(client: Client, route: Route, memory_id: str, body: object) -> Reply:
    """One request on a route, for a memory id."""
    return client.send(route.method, route.at(memory_id), body=route.body_at(memory_id, body))


def not_found(reply: Reply) -> None:
    """The one answer about a memory that a caller holds nothing on."""
    assert (reply.status, reply.code) == (404, "memory_not_found"), str(reply)


@pytest.fixture(scope="module")
def hidden(owner: Client, document: JSON) -> Iterator[JSON]:
    """A memory with a child and a record, on which nobody but the owner holds anything."""
    root, _ = open_root(owner)
    plant(owner, "below", root)
    remember(owner, root, "Nobody else reads this.")
    yield root
    owner.delete(path(root["id"]))


# 1. An unseen memory is an unknown memory.


@pytest.mark.parametrize("who", ["stranger", "foreign"])
def test_an_unseen_memory_answers_byte_for_byte_like_an_unknown_one(
    cast: Cast, owner: Client, hidden: JSON, who: str, subtests: pytest.Subtests
) -> None:
    caller = cast.find(who)
    with unchanged(owner, hidden):
        for route in ROUTES:
            bodies = [route.body, route.wrong]
            if "{id}" in route.path:
                bodies.append(NO_BODY)
            for body in bodies:
                with subtests.test(str(route), body=body):
                    unseen, unknown = ask(caller, route, hidden["id"], body), ask(caller, route, MADE_UP, body)
                    not_found(unseen)
                    assert seen(unseen) == seen(unknown)
                    assert hidden["id"] not in unseen.text


@pytest.mark.parametrize("raw", [b"{", b"[]", b"\xff", b'"x"'], ids=["cut off", "a list", "not UTF-8", "a string"])
def test_an_unreadable_body_does_not_tell_unseen_from_unknown(
    stranger: Client, hidden: JSON, raw: bytes, subtests: pytest.Subtests
) -> None:
    for route in ROUTES:
        if route.body is not NO_BODY:
            with subtests.test(str(route)):
                unseen, unknown = (
                    stranger.send(route.method, route.at(memory_id), raw=raw) for memory_id in (hidden["id"], MADE_UP)
                )
                assert seen(unseen) == seen(unknown)


def test_a_move_under_an_unseen_memory_is_a_move_under_an_unknown_one(stranger: Client, hidden: JSON) -> None:
    own, _ = open_root(stranger)
    unseen, unknown = (
        stranger.put(path(own["id"]), {"parent_id": target}, expect=None) for target in (hidden["id"], MADE_UP)
    )
    stranger.delete(path(own["id"]))
    not_found(unseen)
    assert seen(unseen) == seen(unknown)


def test_an_unseen_record_is_an_unknown_record_in_ones_own_memory(
    stranger: Client, owner: Client, hidden: JSON
) -> None:
    own, _ = open_root(stranger)
    record = owner.get(path(hidden["id"], "records")).data[0]
    for method, tail, body in (
        ("GET", "", NO_BODY),
        ("PATCH", "", {"content": "taken"}),
        ("DELETE", "", NO_BODY),
        ("GET", "/history", NO_BODY),
        ("GET", "/content/0", NO_BODY),
    ):
        unseen, unknown = (
            stranger.send(method, path(own["id"], "records", record_id) + tail, body=body)
            for record_id in (record["id"], "hrec_00000000000070008000000000000000")
        )
        assert unseen.status in {404, 422}, str(unseen)
        assert seen(unseen) == seen(unknown)
    stranger.delete(path(own["id"]))


@pytest.mark.parametrize("who", ["stranger", "foreign"])
def test_an_unseen_memory_is_in_no_list(cast: Cast, hidden: JSON, who: str) -> None:
    caller = cast.find(who)
    assert hidden["id"] not in entry_points(caller)
    assert hidden["id"] not in ids(list(caller.pages(path(), "MemoryList", granted="true")))


def test_granting_to_another_organisation_is_granting_to_nobody(owner: Client, foreign: Client, root: JSON) -> None:
    grants = path(root["id"], "grants")
    kind = foreign.principal.partition(":")[0]
    theirs, made_up = (
        owner.post(grants, {"principal": principal, "privileges": ["read"]}, expect=None)
        for principal in (foreign.principal, f"{kind}:mbr_00000000000070008000000000000000")
    )
    assert theirs.status == made_up.status, "the answer tells who exists in another organisation"
    assert theirs.status == 200 or theirs.code == made_up.code
    not_found(foreign.get(path(root["id"]), expect=None))


# 2. Sight begins where a grant is.


def test_a_grant_in_the_middle_is_an_entry_point_without_a_parent(
    owner: Client, reader: Client, root: JSON, document: JSON
) -> None:
    middle = plant(owner, invented("middle"), root)
    leaf = plant(owner, "leaf", middle)
    word = invented()
    record = remember(owner, leaf, f"{word} lies deep.")
    before = entry_points(reader)
    share(owner, middle, reader.principal, "read")

    assert set(entry_points(reader)) - set(before) == {middle["id"]}
    mine = reader.get(path(middle["id"])).valid("Memory")
    assert (mine["parent_id"], mine["ancestors"], mine["privileges"]) == (None, [], ["read"])
    deep = reader.get(path(leaf["id"])).valid("Memory")
    assert (deep["parent_id"], deep["ancestors"]) == (middle["id"], [middle["id"]])
    answer = found(reader, middle, question(document, word), record)
    assert "parent" not in answer
    assert ids(answer["children"]) == [leaf["id"]]
    page = reader.get(path(middle["id"], "records")).valid("RecordPage")
    assert "parent" not in page
    everything = show([mine, deep, answer, page, list(reader.pages(path(), "MemoryList", granted="true"))])
    assert root["id"] not in everything
    assert root["name"] not in everything
    not_found(reader.get(path(root["id"]), expect=None))


# 3. A restricted child ends what is inherited.


@pytest.fixture
def secret(owner: Client, root: JSON) -> JSON:
    """A restricted child of the root."""
    return plant(owner, invented("secret"), root, restricted=True)


def test_a_restricted_child_is_hidden_everywhere(
    owner: Client, reader: Client, root: JSON, secret: JSON, document: JSON
) -> None:
    word = invented()
    below = plant(owner, invented("below-secret"), secret)
    records = [remember(owner, memory, f"{word} in {memory['name']}.") for memory in (secret, below)]
    open_record = remember(owner, root, f"{word} in the open.")
    share(owner, root, reader.principal, "read", "delete")
    for record in records:
        found(owner, root, question(document, word), record)

    answer = found(reader, root, question(document, word), open_record)
    views: list[object] = [
        answer,
        children(reader, root),
        list(reader.pages(path(), "MemoryList", ancestor=root["id"])),
        list(reader.pages(path(), "MemoryList")),
        list(reader.pages(path(), "MemoryList", granted="true")),
        reader.get(path(root["id"])).body,
        reader.get(path(root["id"], "records")).body,
        list(reader.pages(path(root["id"], "grants"), "GrantList")),
        [recall(reader, root, {**question(document, word), "depth": depth}) for depth in (0, 1, 2, None)],
    ]
    everything = show(views)
    for memory in (secret, below):
        assert memory["id"] not in everything
        assert memory["name"] not in everything
        not_found(reader.get(path(memory["id"]), expect=None))
    for record in records:
        assert record["id"] not in everything
    assert reader.get(path(root["id"])).body["children"]["count"] == 0
    assert owner.get(path(root["id"])).body["children"]["count"] == 1


def test_a_regranted_grandchild_is_found_and_what_is_between_is_not_named(
    owner: Client, reader: Client, root: JSON, secret: JSON, document: JSON
) -> None:
    inner = plant(owner, invented("inner"), secret)
    word = invented()
    record = remember(owner, inner, f"{word} is for the reader again.")
    between = remember(owner, secret, f"{word} is not.")
    share(owner, root, reader.principal, "read")
    before = entry_points(reader)
    share(owner, secret, owner.principal, "read")
    share(owner, inner, reader.principal, "read", "delete")

    assert set(entry_points(reader)) - set(before) == {inner["id"]}
    mine = reader.get(path(inner["id"])).valid("Memory")
    assert (mine["parent_id"], mine["ancestors"]) == (None, [])
    from_root = found(reader, root, question(document, word), record)
    assert hit(from_root, between) is None
    from_inner = found(reader, inner, question(document, word), record)
    assert "parent" not in from_inner
    assert hit(recall(reader, root, {**question(document, word), "depth": 2}), record) is not None
    assert hit(recall(reader, root, {**question(document, word), "depth": 1}), record) is None
    assert children(reader, root) == []
    below = list(reader.pages(path(), "MemoryList", ancestor=root["id"]))
    assert ids(below) == [inner["id"]]
    granted = list(reader.pages(path(), "MemoryList", granted="true"))
    assert {root["id"], inner["id"]} <= set(ids(granted))
    grants = list(reader.pages(path(inner["id"], "grants"), "GrantList"))
    page = reader.get(path(inner["id"], "records")).valid("RecordPage")
    everything = show([mine, from_root, from_inner, below, granted, grants, page])
    assert secret["id"] not in everything
    assert secret["name"] not in everything


def test_deleting_does_not_tell_what_went_along(owner: Client, reader: Client, root: JSON, secret: JSON) -> None:
    middle = plant(owner, "middle", root)
    plain = plant(owner, "plain", middle)
    hidden = plant(owner, invented("hidden"), middle, restricted=True)
    share(owner, middle, reader.principal, "read", "delete")
    gone = reader.delete(path(middle["id"])).valid("MemoryDeletion")
    assert set(gone["memories"]) == {middle["id"], plain["id"]}
    assert hidden["id"] not in show(gone)
    for memory in (middle, plain, hidden):
        not_found(owner.get(path(memory["id"]), expect=None))
    assert children(owner, root) == [secret["id"]]


def test_restricting_a_memory_closes_it_on_the_next_request(
    owner: Client, reader: Client, root: JSON, document: JSON
) -> None:
    child = plant(owner, invented("closing"), root)
    word = invented()
    record = remember(owner, child, f"{word} was open.")
    share(owner, root, reader.principal, "read")
    found(reader, root, question(document, word), record)
    owner.put(path(child["id"]), {"restricted": True})
    assert child["id"] not in show(recall(reader, root, question(document, word)))
    not_found(reader.get(path(child["id"]), expect=None))
    owner.put(path(child["id"]), {"restricted": False})
    assert hit(recall(reader, root, question(document, word)), record) is not None


def test_moving_a_memory_moves_it_out_of_sight(owner: Client, reader: Client, root: JSON, document: JSON) -> None:
    child = plant(owner, invented("moving"), root)
    word = invented()
    record = remember(owner, child, f"{word} moves.")
    share(owner, root, reader.principal, "read")
    found(reader, root, question(document, word), record)
    owner.put(path(child["id"]), {"parent_id": None})
    try:
        not_found(reader.get(path(child["id"]), expect=None))
        assert child["id"] not in show(recall(reader, root, question(document, word)))
    finally:
        owner.delete(path(child["id"]))


# 4. A reference into a hidden memory.


def test_a_reference_into_a_hidden_memory_shows_two_keys_and_survives_a_revision(
    owner: Client, reader: Client, root: JSON, secret: JSON, document: JSON
) -> None:
    word = invented()
    target = remember(owner, secret, "The target.")
    reference = {"rel": "about", "record_id": target["id"], "memory_id": secret["id"]}
    record = remember(owner, root, f"{word} refers.", references=[reference])
    assert record["references"] == [{**reference, "available": True}]
    share(owner, root, reader.principal, "read", "write")
    own = path(root["id"], "records", record["id"])
    blind = [{"record_id": target["id"], "available": False}]

    listed = {item["id"]: item for item in reader.pages(path(root["id"], "records"), "RecordPage")}
    result = hit(found(reader, root, question(document, word), record), record)
    assert result is not None
    shown = [reader.get(own).valid("MemoryRecord"), listed[record["id"]], result["record"]]
    if (document.get("history") or {}).get("content") == "versions":
        shown += reader.get(f"{own}/history").valid("RecordHistory")["data"]
    for view in shown:
        assert view["references"] == blind
        assert secret["id"] not in show(view)
        assert secret["name"] not in show(view)

    if document.get("revise"):
        restated: list[list[JSON]] = [[], blind, [{"rel": "invented", "record_id": target["id"]}]]
        for references in restated:
            revised = reader.patch(own, {"content": f"{word} was revised.", "references": references})
            assert revised.valid("MemoryRecord")["references"] == blind
            kept = owner.get(own).valid("MemoryRecord")["references"]
            assert kept == [{**reference, "available": True}], f"after a revision with {references}"

    entities = (document.get("graph") or {}).get("entities") or "none"
    if entities != "none":
        graph = reader.post(path(root["id"], "graph"), {"around": record["id"]}).valid("MemoryGraph")
        edge = next(edge for edge in graph["edges"] if edge["to"]["record_id"] == target["id"])
        assert edge["available"] is False
        assert secret["id"] not in show(graph)
        assert target["id"] not in {node["record"]["id"] for node in graph["nodes"]}


def test_what_points_from_a_hidden_memory_is_in_no_graph(
    owner: Client, reader: Client, root: JSON, secret: JSON, document: JSON
) -> None:
    if ((document.get("graph") or {}).get("entities") or "none") == "none":
        return
    target = remember(owner, root, "The target.")
    share(owner, root, reader.principal, "read")
    before = [reader.post(path(root["id"], "graph"), body).body for body in ({}, {"around": target["id"], "hops": 3})]
    pointer = {"rel": "about", "record_id": target["id"], "memory_id": root["id"]}
    holder = remember(owner, secret, "The holder.", references=[pointer])
    after = [reader.post(path(root["id"], "graph"), body).body for body in ({}, {"around": target["id"], "hops": 3})]
    assert after == before
    unknown = reader.post(path(root["id"], "graph"), {"around": holder["id"]}, expect=404)
    assert unknown.code == "memory_record_not_found"
    drawn = owner.post(path(root["id"], "graph"), {"around": target["id"]}).valid("MemoryGraph")
    assert holder["id"] in {node["record"]["id"] for node in drawn["nodes"]}


def test_a_reference_to_nothing_looks_like_one_to_something_hidden(
    owner: Client, reader: Client, root: JSON, secret: JSON
) -> None:
    target = remember(owner, secret, "The target.")
    share(owner, root, reader.principal, "read", "write")
    missing = "hrec_00000000000070008000000000000000"
    for memory in (secret["id"], root["id"], MADE_UP, None):
        references = [{"rel": "about", "record_id": to, "memory_id": memory} for to in (target["id"], missing)]
        written = remember(reader, root, "refers", references=[{k: v for k, v in r.items() if v} for r in references])
        assert written["references"] == [{"record_id": to, "available": False} for to in (target["id"], missing)]


# 5. Groups.


def test_a_member_of_a_group_holds_what_the_group_holds(
    cast: Cast, owner: Client, teammate: Client, team: str, agent: Client, stranger: Client, root: JSON
) -> None:
    grant = share(owner, root, team, "read")
    assert teammate.get(path(root["id"])).valid("Memory")["privileges"] == ["read"]
    not_found(agent.get(path(root["id"]), expect=None))
    if cast.regroup:
        cast.regroup(joined=True)
        assert agent.get(path(root["id"])).valid("Memory")["privileges"] == ["read"]
        cast.regroup(joined=False)
        not_found(agent.get(path(root["id"]), expect=None))
    not_found(stranger.get(path(root["id"]), expect=None))
    unshare(owner, root, grant)
    not_found(teammate.get(path(root["id"]), expect=None))


def test_what_a_member_and_its_groups_hold_adds_up(owner: Client, teammate: Client, team: str, root: JSON) -> None:
    share(owner, root, team, "read")
    own = share(owner, root, teammate.principal, "write")
    assert teammate.get(path(root["id"])).valid("Memory")["privileges"] == ["read", "write"]
    unshare(owner, root, own)
    assert teammate.get(path(root["id"])).valid("Memory")["privileges"] == ["read"]


# 6. Privileges do not imply one another.


@pytest.mark.parametrize("held", PRIVILEGES)
def test_a_privilege_opens_its_own_routes_and_no_other(owner: Client, reader: Client, root: JSON, held: str) -> None:
    share(owner, root, reader.principal, held)
    with unchanged(owner, root):
        for route in ROUTES:
            if route.privilege in {held, ""}:
                continue
            # A change that takes `delete` is recognised by its value, and a wrong value is none.
            bodies = [route.body] if route.body is RESTRICT else [route.body, route.wrong]
            for body in bodies:
                reply = ask(reader, route, root["id"], body)
                assert (reply.status, reply.code) == (403, "memory_forbidden"), f"{held} alone: {reply}"
    for route in ROUTES:
        deletes = route.method == "DELETE" and route.path == MEMORY
        if route.privilege == held and not deletes and route.body is not RESTRICT:
            reply = ask(reader, route, root["id"], route.body)
            assert reply.status != 403, f"{held} is enough: {reply}"
            assert reply.code != "memory_not_found" or "/no-such" in route.path, str(reply)


def test_moving_takes_delete_here_and_create_there(owner: Client, reader: Client, root: JSON) -> None:
    here, there = plant(owner, "here", root), plant(owner, "there", root)
    move = {"parent_id": there["id"]}
    here_grant = share(owner, here, reader.principal, "read", "write", "create")
    share(owner, there, reader.principal, "create")
    assert reader.put(path(here["id"]), move, expect=403).code == "memory_forbidden"
    again = share(owner, here, reader.principal, "read", "delete")
    assert again["id"] == here_grant["id"]
    share(owner, there, reader.principal, "read", "write")
    assert reader.put(path(here["id"]), move, expect=403).code == "memory_forbidden"
    share(owner, there, reader.principal, "create")
    moved = reader.put(path(here["id"]), move).valid("Memory")
    assert (moved["parent_id"], moved["ancestors"]) == (there["id"], [there["id"]])
    assert set(moved["privileges"]) == {"read", "create", "delete"}, "its own grants, and those of where it is now"


def test_delete_without_read_shares_and_deletes_but_does_not_read(
    owner: Client, reader: Client, stranger: Client, root: JSON, document: JSON
) -> None:
    child = plant(owner, "child", root)
    share(owner, child, reader.principal, "delete")
    asked = reader.post(path(child["id"], "recall"), question(document, "anything"), expect=403)
    assert asked.code == "memory_forbidden"
    assert reader.get(path(child["id"], "grants")).valid("GrantList")["data"]
    given = share(reader, child, stranger.principal, "read")
    assert stranger.get(path(child["id"])).valid("Memory")["privileges"] == ["read"]
    unshare(reader, child, given)
    granted = ids(list(reader.pages(path(), "MemoryList", granted="true")))
    assert child["id"] not in granted, "granted=true lists what is read"
    reader.delete(path(child["id"])).valid("MemoryDeletion")
    not_found(owner.get(path(child["id"]), expect=None))


def test_a_reader_cannot_share(owner: Client, reader: Client, stranger: Client, root: JSON) -> None:
    share(owner, root, reader.principal, "read", "write", "create")
    body = {"principal": stranger.principal, "privileges": ["read"]}
    assert reader.post(path(root["id"], "grants"), body, expect=403).code == "memory_forbidden"
    not_found(stranger.get(path(root["id"]), expect=None))


def test_recall_skips_what_below_is_seen_but_not_read(
    owner: Client, reader: Client, root: JSON, secret: JSON, document: JSON
) -> None:
    word = invented()
    record = remember(owner, secret, f"{word} is written, not read.")
    found(owner, root, question(document, word), record)
    share(owner, root, reader.principal, "read")
    share(owner, secret, reader.principal, "write")
    assert record["id"] not in show(recall(reader, root, question(document, word)))
    assert children(reader, root) == [secret["id"]], "it is seen all the same"


@pytest.mark.parametrize("signal", ["query", "text", "filters"])
def test_no_signal_finds_what_the_caller_may_not_read(
    owner: Client, reader: Client, root: JSON, secret: JSON, document: JSON, signal: str
) -> None:
    word = invented()
    record = remember(owner, secret, f"{word} stays in.", attributes={"word": word})
    share(owner, root, reader.principal, "read")
    body: JSON = {signal: word}
    if signal == "filters":
        body = {"filters": {"field": "attributes.word", "op": "eq", "value": word}}
    if signal in signals(document):
        found(owner, root, body, record)
    for extra in ({}, {"include": "all"}, {"types": ["fact"]}, {"as_of": record["time"]["written_at"]}):
        assert record["id"] not in show(recall(reader, root, {**body, **extra}))


# 7. Whoever creates a memory owns it.


def test_the_creator_of_a_child_holds_everything_on_it(owner: Client, agent: Client, root: JSON) -> None:
    share(owner, root, agent.principal, "create")
    child = plant(agent, "made by the agent", root)
    assert set(child["privileges"]) == set(PRIVILEGES)
    record = remember(agent, child, "Written by its creator.")
    assert owner.get(path(child["id"], "records", record["id"])).valid("MemoryRecord")["id"] == record["id"]
    assert set(owner.get(path(child["id"])).valid("Memory")["privileges"]) == set(PRIVILEGES)
    rows = list(agent.pages(path(child["id"], "grants"), "GrantList"))
    assert all(grant["inherited"] for grant in rows), "what a creator holds is no row"
    for denied in (agent.get(path(root["id"]), expect=403), agent.get(path(root["id"], "records"), expect=403)):
        assert denied.code == "memory_forbidden"


def test_what_another_creates_restricted_is_hidden_from_the_owner_above(
    owner: Client, agent: Client, root: JSON, document: JSON
) -> None:
    share(owner, root, agent.principal, "create")
    private = plant(agent, invented("private"), root, restricted=True)
    word = invented()
    record = remember(agent, private, f"{word} is the agent's own.")
    found(agent, private, question(document, word), record)
    views = [
        recall(owner, root, question(document, word)),
        list(owner.pages(path(), "MemoryList", ancestor=root["id"])),
        owner.get(path(root["id"])).body,
        owner.get(path(root["id"], "records")).body,
    ]
    assert children(owner, root) == []
    assert owner.get(path(root["id"])).body["children"]["count"] == 0
    not_found(owner.get(path(private["id"]), expect=None))
    middle = plant(owner, "middle", root)
    agent.put(path(private["id"]), {"description": "still mine"})
    views.append(owner.delete(path(root["id"])).valid("MemoryDeletion"))
    assert private["id"] not in show(views)
    assert private["name"] not in show(views)
    for memory in (root, middle):
        not_found(owner.get(path(memory["id"]), expect=None))
    not_found(agent.get(path(private["id"]), expect=None))


# Taking back.


@pytest.mark.parametrize("look", ["memory", "records", "recall", "entry points"])
def test_a_revoked_grant_is_gone_on_the_next_request(
    owner: Client, reader: Client, root: JSON, document: JSON, look: str
) -> None:
    own = path(root["id"])
    looks: dict[str, Callable[[], bool]] = {
        "memory": lambda: reader.get(own, expect=None).status == 200,
        "records": lambda: reader.get(f"{own}/records", expect=None).status == 200,
        "recall": lambda: reader.post(f"{own}/recall", question(document, "x"), expect=None).status == 200,
        "entry points": lambda: root["id"] in entry_points(reader),
    }
    for _ in range(3):
        grant = share(owner, root, reader.principal, "read")
        assert looks[look]()
        unshare(owner, root, grant)
        assert not looks[look]()


def test_granting_again_replaces_and_can_narrow(owner: Client, reader: Client, root: JSON) -> None:
    first = share(owner, root, reader.principal, "read", "write")
    second = share(owner, root, reader.principal, "read")
    assert second["id"] == first["id"]
    reader.get(path(root["id"]))
    assert reader.post(path(root["id"], "records"), {"content": "c"}, expect=403).code == "memory_forbidden"


def test_a_grant_is_taken_back_where_it_sits_only(owner: Client, reader: Client, root: JSON) -> None:
    child = plant(owner, "child", root)
    grant = share(owner, root, reader.principal, "read")
    not_found(owner.delete(path(child["id"], "grants", grant["id"]), expect=None))
    reader.get(path(child["id"]))
