"""The chapter's conformance checks with one credential, in the order in which a tester runs them.

They share one root, one child and one fact. Where a check depends on what the provider can do, its capability document
decides: what it declares must work, and what it does not declare must be refused as unsupported. Nothing is skipped.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch

import pytest

from .client import JSON, Client, Reply, path
from .trees import (
    children,
    eventually,
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
    signals,
    unchanged,
)

FACT = "Quillon Freight renews its contract every March."


@dataclass
class Shared:
    """What the checks have in common."""

    document: JSON
    root: JSON
    child: JSON
    fact: JSON


@pytest.fixture(scope="module")
def shared(owner: Client, discovery: JSON) -> Iterator[Shared]:
    """One root, one child, one fact; deleted by the last check, or here when that did not run."""
    root, document = open_root(owner)
    child = plant(owner, "accounts", root, description="what is known about each account")
    fact = remember(
        owner,
        child,
        FACT,
        type="fact",
        attributes={"account": "quillon"},
        written_by={"kind": "member", "id": "someone-else"},
    )
    yield Shared(document, root, child, fact)
    owner.send("DELETE", path(root["id"]))


def unsupported(reply: Reply) -> None:
    """The one refusal of what a provider does not declare."""
    assert (reply.status, reply.code) == (422, "memory_unsupported"), f"not declared, so unsupported: {reply}"


def words(record: JSON) -> str:
    """All text of a record's parts."""
    return "\n".join(part.get("text", "") for part in record["content"])


def entities(document: JSON) -> str:
    """Where the provider's entity records come from; `none` when it has no graph."""
    graph = document.get("graph") or {}
    return str(graph.get("entities") or "none")


def test_me_01_a_memory_is_a_node_in_a_tree(owner: Client, shared: Shared) -> None:
    root, child = shared.root, shared.child
    assert root["id"].strip()
    assert root["parent_id"] is None
    assert root["ancestors"] == []
    assert set(root["privileges"]) == {"read", "write", "create", "delete"}
    assert child["parent_id"] == root["id"]
    assert child["ancestors"] == [root["id"]]
    assert child["provider"] == root["provider"] == shared.document["id"]
    assert children(owner, root) == [child["id"]]
    made_up = owner.get(path(invented("uhp-conformance-no-such-memory-")), expect=404)
    assert made_up.code == "memory_not_found"


def test_me_02_a_stated_record_is_stamped_by_the_server(owner: Client, shared: Shared) -> None:
    fact = shared.fact
    assert fact["content"] == [{"type": "text", "text": FACT}]
    assert fact["trust"] == "untrusted"
    assert fact["memory_id"] == shared.child["id"]
    assert fact["attributes"]["account"] == "quillon"
    writer = fact["written_by"]
    assert writer["id"] not in {"", "someone-else"}
    assert writer["kind"] == "member" or writer["kind"].startswith("x.")
    assert writer.get("type", "human") in {"human", "agent"}
    read = owner.get(path(shared.child["id"], "records", fact["id"])).valid("MemoryRecord")
    assert read["id"] == fact["id"]
    assert read["content"] == fact["content"]


def test_me_03_recall_goes_down_and_never_up(owner: Client, shared: Shared) -> None:
    root, child, fact = shared.root, shared.child, shared.fact
    by_meaning = "query" in signals(shared.document)
    body = {"query": "when does Quillon Freight renew?"} if by_meaning else {"text": "Quillon"}

    below = found(owner, child, body, fact)
    assert below["parent"]["id"] == root["id"]

    above = found(owner, root, body, fact)
    result = hit(above, fact)
    assert result is not None
    assert result["memory"]["id"] == child["id"]
    described = {neighbour["id"]: neighbour["description"] for neighbour in above["children"]}
    assert described[child["id"]] == "what is known about each account"
    assert "parent" not in above, "a root has no parent to show"

    assert hit(recall(owner, root, {**body, "depth": 0}), fact) is None

    word = invented("Vellacourt")
    of_parent = remember(owner, root, f"{word} is the parent's own fact.")
    asked = {"query": f"what is {word}?"} if by_meaning else {"text": word}
    found(owner, root, {**asked, "depth": 0}, of_parent)
    assert hit(recall(owner, child, asked), of_parent) is None


@pytest.mark.parametrize("signal", ["query", "text", "filters"])
def test_me_04_no_signal_is_ignored_in_silence(owner: Client, shared: Shared, signal: str) -> None:
    asked: JSON = {
        "query": "renewal",
        "text": "March",
        "filters": {"field": "attributes.account", "op": "eq", "value": "quillon"},
    }
    answer = recall(owner, shared.child, {signal: asked[signal]})
    assert (f"{signal}:not_supported" in answer["degraded"]) is (signal not in signals(shared.document))
    why = {reason for result in answer["results"] for reason in result["why"]}
    assert why <= {signal}


def test_me_04_a_recall_that_asks_nothing_is_refused(owner: Client, shared: Shared) -> None:
    refused = owner.post(path(shared.child["id"], "recall"), {}, expect=422)
    assert refused.code == "memory_invalid"


def test_me_05_a_revision_is_a_new_version_and_the_old_one_stays(owner: Client, shared: Shared) -> None:
    own = path(shared.child["id"], "records", shared.fact["id"])
    body = {"content": "Quillon Freight renews its contract every April."}
    if not shared.document.get("revise"):
        unsupported(owner.patch(own, body, expect=None))
        return
    revised = owner.patch(own, body).valid("MemoryRecord")
    assert revised["id"] == shared.fact["id"]
    assert "April" in words(revised)
    assert revised["version"] == shared.fact["version"] + 1
    assert revised["supersedes"] == shared.fact["version"]
    assert revised["attributes"]["account"] == "quillon", "what a revision leaves out carries over"
    if (shared.document.get("history") or {}).get("content") != "versions":
        return
    versions = owner.get(f"{own}/history").valid("RecordHistory")["data"]
    assert len(versions) >= 2
    assert "March" in words(versions[0])
    assert versions[0]["status"] == "superseded"
    assert versions[0]["time"]["invalidated_at"] == versions[1]["time"]["written_at"]
    assert "April" in words(versions[-1])
    assert versions[-1]["status"] == "active"


def test_me_06_a_record_is_reached_through_its_own_memory_only(owner: Client, shared: Shared) -> None:
    through_root = path(shared.root["id"], "records", shared.fact["id"])
    for reply in (
        owner.get(through_root, expect=404),
        owner.patch(through_root, {"content": "x"}, expect=404),
        owner.delete(through_root, expect=404),
        owner.get(f"{through_root}/history", expect=404),
    ):
        assert reply.code == "memory_record_not_found"
    still = owner.get(path(shared.child["id"], "records", shared.fact["id"])).valid("MemoryRecord")
    assert still["status"] == "active"


def test_me_07_forgetting_closes_and_erasing_removes(owner: Client, shared: Shared) -> None:
    record = remember(owner, shared.child, "Harlow Mills pays net sixty.")
    own = path(shared.child["id"], "records", record["id"])
    if not shared.document.get("forget"):
        unsupported(owner.delete(own, expect=None))
        return
    forgotten = owner.delete(own).valid("MemoryRecord")
    assert forgotten["status"] == "forgotten"
    assert forgotten["version"] == record["version"], "forgetting adds no version"
    assert owner.get(own).valid("MemoryRecord")["status"] == "forgotten"
    records = path(shared.child["id"], "records")
    assert record["id"] not in ids(list(owner.pages(records, "RecordPage")))
    assert record["id"] in ids(list(owner.pages(records, "RecordPage", include="all")))

    reply = owner.post(path(shared.child["id"], "erase"), {"record_ids": [record["id"]]}, expect=None)
    if not shared.document.get("erase"):
        unsupported(reply)
        assert owner.get(own).valid("MemoryRecord")["status"] == "forgotten"
        return
    assert reply.status == 200, str(reply)
    assert reply.valid("MemoryErasure")["erased"] == [record["id"]]
    assert owner.get(own, expect=404).code == "memory_record_not_found"
    assert owner.get(f"{own}/history", expect=404).code == "memory_record_not_found"


def test_me_09_text_parts_come_back_in_order(owner: Client, shared: Shared) -> None:
    note = remember(
        owner,
        shared.child,
        [{"type": "text", "text": "The first line."}, {"type": "text", "text": "The second line.", "role": "user"}],
        type="note",
    )
    read = owner.get(path(shared.child["id"], "records", note["id"])).valid("MemoryRecord")
    assert {part["type"] for part in read["content"]} == {"text"}
    assert words(read).index("The first line.") < words(read).index("The second line.")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "text": "a picture"},
        {"type": "text"},
        {"type": "file", "file": {}},
        {"type": "text", "text": "said", "role": "narrator"},
    ],
    ids=["an unknown type", "text without text", "a file without id", "an unknown role"],
)
def test_me_09_a_malformed_part_is_refused(owner: Client, shared: Shared, part: JSON) -> None:
    records = path(shared.child["id"], "records")
    assert owner.post(records, {"content": [part]}, expect=422).code == "memory_invalid"


def test_me_09_a_file_keeps_its_own_name_type_and_bytes(owner: Client, shared: Shared) -> None:
    records = path(shared.child["id"], "records")
    media = (shared.document.get("content") or {}).get("media", ["text/*"])
    kept = any(fnmatch("image/png", pattern) for pattern in media)
    dot = png()
    upload = owner.send("POST", "/v1/files", files={"file": ("dot.png", dot, "image/png")})
    if upload.status != 200:
        assert upload.status == 404, f"a server takes files or has no such route: {upload}"
        assert not kept, "the provider declares that it keeps images, and there is no way to upload one"
        part = {"type": "file", "file": {"id": "no-such-file"}}
        assert owner.post(records, {"content": [part]}, expect=422).code in {"memory_invalid", "memory_unsupported"}
        return
    assert upload.body["bytes"] == len(dot)
    forged = {"id": upload.body["id"], "name": "forged.txt", "media_type": "text/plain", "bytes": 1}
    content = [
        {"type": "text", "text": "A picture of a dot."},
        {"type": "file", "file": forged, "text": "one dark dot"},
    ]
    reply = owner.post(records, {"type": "note", "content": content}, expect=None)
    if not kept:
        unsupported(reply)
        return
    assert reply.status == 200, str(reply)
    note = reply.valid("MemoryRecord")
    index, part = next((at, part) for at, part in enumerate(note["content"]) if part["type"] == "file")
    assert part["file"]["media_type"] == "image/png"
    assert part["file"]["name"] == "dot.png"
    assert part["file"]["bytes"] == len(dot)
    assert part["text"] == "one dark dot"
    served = owner.get(path(shared.child["id"], "records", note["id"], "content", str(index)))
    assert served.content == dot
    assert served.headers["Content-Type"].startswith("image/png")
    assert served.headers["X-Content-Type-Options"] == "nosniff"


def test_me_10_a_fact_joins_two_entities_in_the_graph(owner: Client, shared: Shared) -> None:
    graph = path(shared.child["id"], "graph")
    subject = remember(owner, shared.child, "Quillon Freight", type="entity")
    target = remember(owner, shared.child, "Harlow Mills", type="entity")
    assert subject["type"] == target["type"] == "entity"
    fact = remember(
        owner,
        shared.child,
        "Quillon Freight carries for Harlow Mills.",
        type="fact",
        attributes={"predicate": "carries_for"},
        references=[{"rel": "subject", "record_id": subject["id"]}, {"rel": "object", "record_id": target["id"]}],
    )
    assert [reference["available"] for reference in fact["references"]] == [True, True]
    assert {reference["memory_id"] for reference in fact["references"]} == {shared.child["id"]}
    around = {"around": subject["id"], "hops": 2}
    if entities(shared.document) == "none":
        unsupported(owner.post(graph, around, expect=None))
        return
    wanted = {subject["id"], target["id"], fact["id"]}
    answer = eventually(
        lambda: owner.post(graph, around).valid("MemoryGraph"),
        lambda seen: wanted <= {node["record"]["id"] for node in seen["nodes"]},
    )
    homes = {node["record"]["id"]: node["memory"]["id"] for node in answer["nodes"]}
    assert homes[target["id"]] == shared.child["id"]
    edges = {
        (edge["from"]["record_id"], edge.get("rel"), edge["to"]["record_id"], edge["available"])
        for edge in answer["edges"]
    }
    assert (fact["id"], "subject", subject["id"], True) in edges
    assert (fact["id"], "object", target["id"], True) in edges
    near = owner.post(graph, {**around, "hops": 1}).valid("MemoryGraph")
    assert target["id"] not in {node["record"]["id"] for node in near["nodes"]}


@pytest.mark.parametrize("hops", [-1, 4, "1"])
def test_me_10_hops_are_0_to_3(owner: Client, shared: Shared, hops: object) -> None:
    graph = path(shared.child["id"], "graph")
    if entities(shared.document) == "none":
        unsupported(owner.post(graph, {"hops": hops}, expect=None))
        return
    refused = owner.post(graph, {"hops": hops}, expect=422)
    assert (refused.code, refused.param) == ("memory_invalid", "hops")


def test_me_10_a_graph_around_nothing_is_not_found_and_one_of_everything_is_cut(owner: Client, shared: Shared) -> None:
    graph = path(shared.child["id"], "graph")
    if entities(shared.document) == "none":
        unsupported(owner.post(graph, {}, expect=None))
        return
    unknown = owner.post(graph, {"around": invented("hrec_")}, expect=404)
    assert unknown.code == "memory_record_not_found"
    whole = owner.post(graph, {}).valid("MemoryGraph")
    assert len(whole["nodes"]) > 1
    assert whole["truncated"] is False
    cut = owner.post(graph, {"limit": 1}).valid("MemoryGraph")
    assert (len(cut["nodes"]), cut["truncated"]) == (1, True)


def test_a_named_query_takes_parameters_as_values_and_stays_in_its_memory(owner: Client, shared: Shared) -> None:
    queries = path(shared.child["id"], "queries")
    query = {
        "description": "what is known of an account",
        "params": {"type": "object", "required": ["account"], "properties": {"account": {"type": "string"}}},
        "language": "filter",
        "body": {"filters": {"field": "attributes.account", "value": "{account}"}},
    }
    free = (shared.document.get("queries") or {}).get("free") or {}
    if not (shared.document.get("queries") or {}).get("named") or "filter" not in free.get("languages", []):
        return
    defined = owner.put(f"{queries}/by_account", query).valid("MemoryQuery")
    assert {key: defined[key] for key in query} == query
    assert "by_account" in {one["name"] for one in owner.get(queries).valid("QueryList")["data"]}
    answer = owner.post(f"{queries}/by_account", {"params": {"account": "quillon"}}).valid("MemoryRecall")
    assert hit(answer, shared.fact) is not None
    for params in ({}, {"account": 7}):
        refused = owner.post(f"{queries}/by_account", {"params": params}, expect=422)
        assert refused.code == "memory_invalid"
    assert owner.post(f"{queries}/no_such_query", {}, expect=404).code == "memory_not_found"
    asked = {"language": "filter", "statement": query["body"], "params": {"account": "quillon"}}
    above = owner.post(path(shared.root["id"], "query"), asked).valid("MemoryRecall")
    assert above["results"] == [], "a query looks in its own memory and not below"


def test_me_11_a_title_is_enough_and_is_searched_like_content(owner: Client, shared: Shared) -> None:
    word = invented("Brackwater")
    titled = owner.post(path(shared.child["id"], "records"), {"title": f"Minutes of {word}"}).valid("MemoryRecord")
    assert titled["title"] == f"Minutes of {word}"
    assert titled["content"] == []
    found(owner, shared.child, question(shared.document, word), titled)
    own = path(shared.child["id"], "records", titled["id"])
    if not shared.document.get("revise"):
        unsupported(owner.patch(own, {"title": "Other minutes"}, expect=None))
        return
    revised = owner.patch(own, {"title": "Other minutes"}).valid("MemoryRecord")
    assert revised["title"] == "Other minutes"
    assert revised["version"] == titled["version"] + 1
    assert revised["content"] == []


@pytest.mark.parametrize("title", ["x" * 301, "two\nlines"], ids=["too long", "two lines"])
def test_me_11_a_title_is_one_line_of_300_characters(owner: Client, shared: Shared, title: str) -> None:
    refused = owner.post(path(shared.child["id"], "records"), {"title": title, "content": "c"}, expect=422)
    assert (refused.code, refused.param) == ("memory_invalid", "title")


@pytest.mark.parametrize("rel", ["subject", "object"])
def test_me_11_a_record_has_one_subject_and_one_object(owner: Client, shared: Shared, rel: str) -> None:
    twice = [{"rel": rel, "record_id": shared.fact["id"]}] * 2
    body = {"content": "c", "references": twice}
    assert owner.post(path(shared.child["id"], "records"), body, expect=422).code == "memory_invalid"


def test_me_12_granted_lists_only_where_privileges_change(owner: Client, shared: Shared) -> None:
    granted = list(owner.pages(path(), "MemoryList", granted="true"))
    assert shared.root["id"] in ids(granted)
    assert shared.child["id"] not in ids(granted), "the child's privileges are its parent's"
    assert all(memory["privileges"] for memory in granted)
    levels = [len(memory["ancestors"]) for memory in granted]
    assert levels == sorted(levels), "the top of the tree comes first"


def test_me_13_standing_records_prime_an_agent(owner: Client, shared: Shared) -> None:
    prime = path(shared.child["id"], "prime")
    if not shared.document.get("prime"):
        unsupported(owner.get(prime, expect=None))
        return
    standing = remember(owner, shared.child, "Answer in German.", type="procedure", attributes={"standing": True})
    remember(owner, shared.child, "The office is blue.", attributes={"standing": "true"})
    answer = owner.get(prime).body
    assert ids(answer["data"]) == [standing["id"]]
    owner.delete(path(shared.child["id"], "records", standing["id"]))
    assert owner.get(prime).body["data"] == []
    assert owner.get(prime, budget="0", expect=422).param == "budget"


def test_reading_as_of_an_instant_shows_what_was_true_then(owner: Client, shared: Shared) -> None:
    word = invented("Osterley")
    record = remember(owner, shared.child, f"{word} opens at nine.")
    asked = {**question(shared.document, word), "as_of": record["time"]["written_at"]}
    own = path(shared.child["id"], "records", record["id"])
    if (shared.document.get("history") or {}).get("content") != "versions" or not shared.document.get("revise"):
        assert "as_of:not_supported" in recall(owner, shared.child, asked)["degraded"]
        return
    revised = owner.patch(own, {"content": f"{word} opens at ten."}).valid("MemoryRecord")
    then, now = record["time"]["written_at"], revised["time"]["written_at"]
    assert "nine" in words(owner.get(own, as_of=then).valid("MemoryRecord"))
    assert "ten" in words(owner.get(own, as_of=now).valid("MemoryRecord"))
    assert owner.get(own, as_of="2001-01-01T00:00:00Z", expect=404).code == "memory_record_not_found"
    listed = {item["id"]: item for item in owner.pages(path(shared.child["id"], "records"), "RecordPage", as_of=then)}
    assert "nine" in words(listed[record["id"]])
    result = hit(found(owner, shared.child, asked, record), record)
    assert result is not None
    assert "nine" in words(result["record"])

    if not shared.document.get("forget"):
        return
    owner.delete(own)
    assert "ten" in words(owner.get(own, as_of=now).valid("MemoryRecord")), "forgetting does not change the past"
    assert hit(recall(owner, shared.child, question(shared.document, word)), record) is None


def test_a_repeated_idempotency_key_writes_once_exactly_where_declared(
    owner: Client, shared: Shared, discovery: JSON
) -> None:
    records = path(shared.child["id"], "records")
    key = {"Idempotency-Key": invented("key-")}
    first, second = (
        owner.send("POST", records, body={"content": "Written once."}, headers=key, expect=200).valid("MemoryRecord")
        for _ in range(2)
    )
    declared = discovery["capabilities"].get("idempotency", False)
    assert (first["id"] == second["id"]) is declared
    listed = ids(list(owner.pages(records, "RecordPage")))
    assert {first["id"], second["id"]} <= set(listed)


def test_listing_records_shows_the_neighbours_and_pages_to_the_end(owner: Client, shared: Shared) -> None:
    records = path(shared.child["id"], "records")
    page = owner.get(records, limit="1").valid("RecordPage")
    assert len(page["data"]) == 1
    assert page["next"]
    assert page["parent"]["id"] == shared.root["id"]
    assert page["children"] == []
    singly = ids(list(owner.pages(records, "RecordPage", limit="1")))
    assert singly == ids(list(owner.pages(records, "RecordPage")))
    assert len(set(singly)) == len(singly)
    facts = list(owner.pages(records, "RecordPage", type="fact"))
    assert {record["type"] for record in facts} == {"fact"}


def test_the_types_listed_include_the_six_core_ones(owner: Client, discovery: JSON) -> None:
    types = {item["type"]: item for item in owner.get(path("types")).valid("TypeList")["data"]}
    assert {"episode", "fact", "note", "procedure", "link", "entity"} <= types.keys()
    assert all(types[name]["core"] for name in ("episode", "fact", "note", "procedure", "link", "entity"))


def test_an_unknown_type_is_kept_unchanged(owner: Client, shared: Shared) -> None:
    body = {"part": "kept", "nested": {"deep": [1, None, "two"]}}
    record = remember(owner, shared.child, [{"type": "x.example.widget", **body}], type="example.widget")
    read = owner.get(path(shared.child["id"], "records", record["id"])).valid("MemoryRecord")
    assert read["type"] == "example.widget"
    assert read["content"] == [{"type": "x.example.widget", **body}]


def test_a_grant_is_seen_below_as_inherited_and_given_again_replaces(owner: Client, shared: Shared) -> None:
    principal = f"{shared.fact['written_by']['kind']}:{shared.fact['written_by']['id']}"
    given = share(owner, shared.root, principal, "read")
    again = share(owner, shared.root, principal, "write")
    assert again["id"] == given["id"]
    assert (given["privileges"], again["privileges"]) == (["read"], ["write"])
    here, below = (
        {grant["id"]: grant for grant in owner.pages(path(memory["id"], "grants"), "GrantList")}
        for memory in (shared.root, shared.child)
    )
    assert (here[given["id"]]["inherited"], below[given["id"]]["inherited"]) == (False, True)
    assert below[given["id"]]["memory_id"] == shared.root["id"]
    from_below = owner.delete(path(shared.child["id"], "grants", given["id"]), expect=404)
    assert from_below.code == "memory_not_found"
    gone = owner.delete(path(shared.root["id"], "grants", given["id"])).valid("GrantDeletion")
    assert gone["id"] == given["id"]


def declared_routes(document: JSON) -> dict[str, tuple[str, str, object, bool | None]]:
    """Optional parts of the chapter: a request that asks for each, and whether the document declares it.

    None is for what no key of the document speaks of: either answer is right, as long as it is one of the two.
    """
    queries = document.get("queries") or {}
    named = bool(queries.get("named"))
    free = queries.get("free") or {}
    statement = {"language": (free.get("languages") or ["none"])[0], "statement": '{"field": "type", "value": "fact"}'}
    runs = document.get("consolidate")
    query = {"body": {"field": "type", "op": "eq", "value": "fact"}, "description": "the facts"}
    return {
        "observe": ("POST", "observe", {"episodes": [{"content": "A word was said."}]}, bool(document.get("observe"))),
        "graph": ("POST", "graph", {}, entities(document) != "none"),
        "define a query": ("PUT", "queries/facts", query, named),
        "run a query": ("POST", "queries/facts", {"params": {}}, named),
        "free query": ("POST", "query", statement, bool(free)),
        "prime": ("GET", "prime", None, bool(document.get("prime"))),
        "consolidate": ("POST", "consolidations", {}, bool(runs)),
        "take a snapshot": ("POST", "snapshots", {"name": "before the audit"}, None),
        "list snapshots": ("GET", "snapshots", None, None),
    }


def runs_are_shown(document: JSON) -> bool:
    """Whether a run can be followed once it was started."""
    return document.get("consolidate") == "runs"


@pytest.mark.parametrize("name", declared_routes({}))
def test_what_the_provider_declares_works_and_the_rest_is_refused(owner: Client, shared: Shared, name: str) -> None:
    method, route, body, declared = declared_routes(shared.document)[name]
    target = f"{path(shared.child['id'])}/{route}"
    reply = owner.send(method, target, body=body) if body is not None else owner.send(method, target)
    if declared or (declared is None and reply.status == 200):
        assert reply.status in ({200, 202} if name == "observe" else {200}), str(reply)
        if name == "observe":
            later = shared.document["observe"]["answers"] == "job"
            assert reply.status == (202 if later else 200), str(reply)
            assert ("job" in reply.body) is later
        if name == "consolidate" and runs_are_shown(shared.document):
            # Moving and deleting, which come later, have to wait for its end.
            eventually(lambda: owner.get(f"{target}/{reply.body['id']}").body, lambda seen: bool(seen["finished_at"]))
    else:
        unsupported(reply)


@pytest.mark.parametrize("route", ["queries", "consolidations"])
def test_a_list_of_what_is_not_offered_is_empty_or_refused(owner: Client, shared: Shared, route: str) -> None:
    declared = {
        "queries": (shared.document.get("queries") or {}).get("named"),
        "consolidations": shared.document.get("consolidate") == "runs",
    }[route]
    reply = owner.get(path(shared.child["id"], route), expect=None)
    if reply.status == 200:
        assert reply.valid("AnyList")["data"] == [] or declared
    else:
        assert not declared, str(reply)
        unsupported(reply)


def test_observing_keeps_every_turn_as_it_was_said(owner: Client, shared: Shared) -> None:
    observe = path(shared.child["id"], "observe")
    turn = [
        {"type": "text", "text": "We ship on Fridays.", "role": "user"},
        {"type": "text", "text": "Noted.", "role": "assistant"},
    ]
    body = {"episodes": [{"content": turn, "attributes": {"session_id": "one"}}, {"content": "And on Mondays."}]}
    if not shared.document.get("observe"):
        unsupported(owner.post(observe, body, expect=None))
        return
    wrongs: list[JSON] = [{}, {"episodes": []}, {"episodes": [{}]}, {"episodes": 7}]
    for wrong in wrongs:
        assert owner.post(observe, wrong, expect=422).code == "memory_invalid"
    reply = owner.send("POST", observe, body=body)
    answers = shared.document["observe"]["answers"]
    assert reply.status == (202 if answers == "job" else 200), str(reply)
    if answers == "job":
        job = path(shared.child["id"], "jobs", reply.body["job"]["id"])
        kept = eventually(lambda: owner.get(job).body, lambda seen: seen["status"] != "pending")["data"]
    else:
        kept = reply.body["data"]
    if not shared.document["observe"]["keeps_episodes"]:
        return
    assert [record["type"] for record in kept] == ["episode", "episode"]
    read = owner.get(path(shared.child["id"], "records", kept[0]["id"])).valid("MemoryRecord")
    assert read["content"] == turn
    assert read["attributes"]["session_id"] == "one"
    assert read["written_by"]["kind"] != "provider"


def test_a_run_can_be_followed_and_taken_back(owner: Client, shared: Shared) -> None:
    memory = plant(owner, "runs", shared.root)
    own = path(memory["id"], "consolidations")
    if shared.document.get("consolidate") != "runs":
        return
    before = [record["id"] for record in owner.pages(path(memory["id"], "records"), "RecordPage")]
    remember(owner, memory, "I decided that Quillon Freight gets a discount of 12 % from 1 May 2026.", type="episode")
    remember(owner, memory, "Harlow Mills moved to 14 Dock Street on 3 June 2026.", type="episode")
    assert owner.post(own, {"budget": {"limit": 0}}, expect=422).code == "memory_invalid"
    started = owner.send("POST", own).valid("MemoryConsolidation")
    assert started["memory_id"] == memory["id"]
    one = path(memory["id"], "consolidations", started["id"])
    ended = eventually(
        lambda: owner.get(one).valid("MemoryConsolidation"), lambda seen: seen["status"] not in {"queued", "running"}
    )
    assert (ended["status"], ended["error"]) == ("completed", "")
    assert ended["read"]["episodes"] == 2
    assert started["id"] in [run["id"] for run in owner.get(own).valid("AnyList")["data"]]
    changes = owner.get(f"{one}/changes").valid("AnyList")["data"]
    counts = {kind: sum(item["change"] == kind for item in changes) for kind in ended["changes"]}
    assert counts == ended["changes"]
    for item in changes:
        assert item["memory_id"] == memory["id"]
        assert item["written_by"]["consolidation_id"] == started["id"]
    reverted = owner.send("POST", f"{one}/revert").valid("MemoryConsolidation")
    assert reverted["status"] == "completed"
    left = list(owner.pages(path(memory["id"], "records"), "RecordPage"))
    assert [record["type"] for record in left if record["id"] not in before] == ["episode", "episode"]
    assert owner.send("POST", f"{one}/revert").valid("MemoryConsolidation")["id"] == started["id"]
    assert owner.get(path(memory["id"], "consolidations", "no-such-run"), expect=404).code == "memory_not_found"
    owner.delete(path(memory["id"]))


def test_a_budget_stops_a_run_and_the_next_one_goes_on(owner: Client, shared: Shared) -> None:
    if shared.document.get("consolidate") != "runs":
        return
    memory = plant(owner, "budgets", shared.root)
    own = path(memory["id"], "consolidations")
    for number in range(3):
        remember(owner, memory, f"Order {number} left for Oslo on {number + 1} March 2026.", type="episode")

    def ended(body: JSON) -> JSON:
        started = owner.post(own, body).valid("MemoryConsolidation")
        return eventually(
            lambda: owner.get(f"{own}/{started['id']}").valid("MemoryConsolidation"),
            lambda seen: seen["status"] not in {"queued", "running"},
        )

    first = ended({"budget": {"limit": 2, "unit": "episodes"}})
    assert (first["status"], first["budget"]["exhausted"], first["read"]["episodes"]) == ("stopped", True, 2)
    rest = ended({})
    assert (rest["status"], rest["budget"]["exhausted"], rest["read"]["episodes"]) == ("completed", False, 1)
    owner.delete(path(memory["id"]))


def test_priming_stays_within_its_budget_and_order(owner: Client, shared: Shared) -> None:
    if not shared.document.get("prime"):
        return
    memory = plant(owner, "standing", shared.root)
    prime = path(memory["id"], "prime")
    standing = [
        remember(owner, memory, f"Rule {number}: answer in German.", attributes={"standing": True})["id"]
        for number in range(5)
    ]
    whole = owner.get(prime).body
    assert ids(whole["data"]) == standing
    assert owner.get(prime).body["data"] == whole["data"]
    assert all(f"Rule {number}" in whole["text"] for number in range(5))
    cut = owner.get(prime, budget=str(whole["tokens"] - 1)).body
    assert ids(cut["data"]) == standing[: len(cut["data"])]
    assert len(cut["data"]) < 5
    assert cut["truncated"] is True
    assert cut["tokens"] < whole["tokens"]
    owner.delete(path(memory["id"]))


def test_me_08_no_memory_moves_under_its_own_child(owner: Client, shared: Shared) -> None:
    for below in (shared.child, shared.root):
        with unchanged(owner, shared.root):
            refused = owner.put(path(shared.root["id"]), {"parent_id": below["id"]}, expect=422)
        assert refused.code == "memory_invalid"


def test_me_08_a_move_carries_everything_below(owner: Client, shared: Shared) -> None:
    deep = plant(owner, "deep", shared.child)
    moved = owner.put(path(shared.child["id"]), {"parent_id": None}).valid("Memory")
    assert (moved["parent_id"], moved["ancestors"]) == (None, [])
    assert owner.get(path(deep["id"])).valid("Memory")["ancestors"] == [shared.child["id"]]
    back = owner.put(path(shared.child["id"]), {"parent_id": shared.root["id"]}).valid("Memory")
    assert back["ancestors"] == [shared.root["id"]]
    assert owner.get(path(deep["id"])).valid("Memory")["ancestors"] == [shared.root["id"], shared.child["id"]]
    owner.delete(path(deep["id"]))


def test_me_08_deleting_takes_everything_below(owner: Client, shared: Shared) -> None:
    gone = owner.delete(path(shared.root["id"])).valid("MemoryDeletion")
    assert gone["id"] == shared.root["id"]
    assert set(gone["memories"]) == {shared.root["id"], shared.child["id"]}
    for memory in (shared.child, shared.root):
        assert owner.get(path(memory["id"]), expect=404).code == "memory_not_found"


def png() -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, payload: bytes) -> bytes:
        return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
