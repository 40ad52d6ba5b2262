"""The graph: how records point at each other, both ways, and nothing about what the caller may not read."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from members.models import Member
from memories.content import read_changes
from memories.models import Memory
from memories.providers.base import RecordVersion
from memories.services import graph as service
from memories.services import records, tree
from memories.services.sight import look
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db


def draw(api: Api, who: Member, memory: Memory, **asked: Any) -> Any:
    return api.ok("POST", f"/v1/memories/{memory.id}/graph", asked, who)


def node_ids(answer: Any) -> list[str]:
    return [node["record"]["id"] for node in answer["nodes"]]


def edges(answer: Any) -> set[tuple[str, str, str]]:
    return {(edge["from"]["record_id"], edge.get("rel", ""), edge["to"]["record_id"]) for edge in answer["edges"]}


def point(to: RecordVersion, rel: str = "about") -> dict[str, str]:
    return {"rel": rel, "record_id": to.id, "memory_id": to.memory_id}


class World:
    """Two entities joined by a fact, and a note about that fact."""

    def __init__(self, alice: Member, memory: Memory) -> None:
        self.quillon = factories.record(alice, memory, "Quillon Freight", type="entity")
        self.harlow = factories.record(alice, memory, "Harlow Mills", type="entity")
        self.fact = factories.record(
            alice,
            memory,
            "Quillon carries for Harlow.",
            references=[
                {"rel": "subject", "record_id": self.quillon.id},
                {"rel": "object", "record_id": self.harlow.id},
            ],
        )
        self.note = factories.record(alice, memory, "Check this.", type="note", references=[point(self.fact)])


@pytest.fixture
def world(alice: Member, shared: Memory) -> World:
    return World(alice, shared)


def test_hops_follow_references_both_ways(api: Api, carol: Member, shared: Memory, world: World) -> None:
    reached = [set(node_ids(draw(api, carol, shared, around=world.quillon.id, hops=hops))) for hops in (0, 1, 2, 3)]
    assert reached[0] == {world.quillon.id}
    assert reached[1] == {world.quillon.id, world.fact.id}
    assert reached[2] == reached[3] == {world.quillon.id, world.fact.id, world.harlow.id, world.note.id}


def test_the_answer_has_the_shape_of_the_protocol(api: Api, carol: Member, shared: Memory, world: World) -> None:
    answer = draw(api, carol, shared, around=world.fact.id)
    assert (answer["object"], answer["truncated"], answer["degraded"]) == ("memory.graph", False, [])
    assert node_ids(answer)[0] == world.fact.id
    assert answer["nodes"][0]["memory"] == {"id": shared.id, "name": "Shared"}
    assert answer["nodes"][0]["record"]["trust"] == "untrusted"
    assert {
        "from": {"memory_id": shared.id, "record_id": world.fact.id},
        "to": {"memory_id": shared.id, "record_id": world.quillon.id},
        "rel": "subject",
        "available": True,
    } in answer["edges"]
    assert edges(answer) == {
        (world.fact.id, "subject", world.quillon.id),
        (world.fact.id, "object", world.harlow.id),
        (world.note.id, "about", world.fact.id),
    }


def test_without_a_start_everything_here_and_below_is_drawn(
    api: Api, alice: Member, carol: Member, shared: Memory, world: World
) -> None:
    below = factories.memory(alice, shared, name="Below")
    lone = factories.record(alice, below, "Nothing points here.")
    answer = draw(api, carol, shared)
    assert node_ids(answer)[0] == lone.id, "the newest comes first"
    assert set(node_ids(answer)) == {lone.id, world.quillon.id, world.harlow.id, world.fact.id, world.note.id}
    assert len(answer["edges"]) == 3
    assert node_ids(draw(api, carol, below)) == [lone.id]


def test_a_start_is_looked_for_below_too_and_nowhere_else(
    api: Api, alice: Member, carol: Member, shared: Memory, world: World
) -> None:
    below = factories.memory(alice, shared)
    inside = factories.record(alice, below, "Deeper.", references=[point(world.quillon)])
    assert node_ids(draw(api, carol, shared, around=inside.id)) == [inside.id, world.quillon.id]
    beside = factories.record(alice, factories.memory(alice), "Beside.")
    for unknown in (beside.id, world.quillon.id, "hrec_" + "0" * 32, "anything"):
        answer = api.call("POST", f"/v1/memories/{below.id}/graph", {"around": unknown}, as_=alice)
        assert (answer.status, answer.error["code"]) == (404, "memory_record_not_found")


def test_targets_lie_above_and_beside_where_the_caller_may_read(
    api: Api, alice: Member, shared: Memory, world: World
) -> None:
    below, beside = factories.memory(alice, shared), factories.memory(alice)
    target = factories.record(alice, beside, "Beside.")
    holder = factories.record(alice, below, "Points out.", references=[point(world.quillon), point(target)])
    answer = draw(api, alice, below, around=holder.id)
    assert node_ids(answer) == [holder.id, world.quillon.id, target.id]
    assert {node["memory"]["id"] for node in answer["nodes"]} == {below.id, shared.id, beside.id}


def test_a_target_that_may_not_be_read_is_an_edge_with_an_id_and_nothing_else(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    hidden = factories.memory(alice, shared, name="Hidden", restricted=True)
    target = factories.record(alice, hidden, "Kept from carol.")
    erased = "hrec_" + "1" * 32
    holder = factories.record(
        alice,
        shared,
        "Points in.",
        references=[point(target), {"rel": "secretly", "record_id": erased, "memory_id": shared.id}],
    )
    answer = draw(api, carol, shared, around=holder.id, hops=3)
    assert node_ids(answer) == [holder.id]
    source = {"memory_id": shared.id, "record_id": holder.id}
    assert answer["edges"] == [
        {"from": source, "to": {"record_id": target.id}, "available": False},
        {"from": source, "to": {"record_id": erased}, "available": False},
    ]
    assert hidden.id not in str(answer)
    assert "secretly" not in str(answer)
    assert node_ids(draw(api, alice, shared, around=holder.id)) == [holder.id, target.id]


def test_what_points_from_where_the_caller_may_not_read_does_not_exist(
    api: Api, alice: Member, carol: Member, shared: Memory, world: World
) -> None:
    before = draw(api, carol, shared, around=world.quillon.id, hops=3)
    hidden = factories.memory(alice, shared, restricted=True)
    sibling = factories.memory(alice)
    dropbox = factories.memory(alice, shared, restricted=True)
    factories.grant(alice, dropbox, carol, "write")
    for place in (hidden, sibling, dropbox):
        factories.record(alice, place, "Points at it.", references=[point(world.quillon), point(world.note)])
    assert draw(api, carol, shared, around=world.quillon.id, hops=3) == before
    assert len(node_ids(draw(api, alice, shared, around=world.quillon.id, hops=1))) == 5


def test_hidden_records_use_up_no_place(
    api: Api, alice: Member, carol: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = factories.record(alice, shared, "Hub.")
    visible = [factories.record(alice, shared, references=[point(target)]).id for _ in range(3)]
    hidden = factories.memory(alice, shared, restricted=True)
    for _ in range(6):
        factories.record(alice, hidden, references=[point(target)])
    monkeypatch.setattr(service, "MOST_WALKED", 4)
    answer = draw(api, carol, shared, around=target.id)
    assert node_ids(answer) == [target.id, *reversed(visible)]
    assert (answer["truncated"], answer["degraded"]) == (False, [])


def test_closing_a_branch_takes_it_out_of_the_next_graph(
    api: Api, alice: Member, carol: Member, shared: Memory, world: World
) -> None:
    below = factories.memory(alice, shared)
    holder = factories.record(alice, below, references=[point(world.quillon)])
    assert holder.id in node_ids(draw(api, carol, shared, around=world.quillon.id))
    tree.change(look(factories.caller(alice), below.id), restricted=True)
    assert holder.id not in str(draw(api, carol, shared, around=world.quillon.id))


def test_only_what_is_current_points_and_is_pointed_at(
    api: Api, alice: Member, carol: Member, shared: Memory, world: World
) -> None:
    place = look(factories.caller(alice), shared.id)
    records.revise(place, world.note.id, read_changes({"references": []}))
    assert world.note.id not in node_ids(draw(api, carol, shared, around=world.fact.id))
    records.forget(place, world.harlow.id)
    answer = draw(api, carol, shared, around=world.fact.id)
    assert node_ids(answer) == [world.fact.id, world.quillon.id]
    assert edges(answer) == {(world.fact.id, "subject", world.quillon.id)}
    assert api.call("POST", f"/v1/memories/{shared.id}/graph", {"around": world.harlow.id}, as_=carol).status == 404


def test_a_pointer_into_the_wrong_memory_leads_nowhere(
    api: Api, alice: Member, carol: Member, shared: Memory, world: World
) -> None:
    below = factories.memory(alice, shared)
    lost = factories.record(alice, below, "Means its own memory.", references=[{"record_id": world.quillon.id}])
    named = {"record_id": world.quillon.id, "memory_id": below.id}
    wrong = factories.record(alice, shared, "Names another.", references=[named])
    found = node_ids(draw(api, carol, shared, around=world.quillon.id))
    assert found == [world.quillon.id, world.fact.id]
    for holder in (lost, wrong):
        answer = draw(api, carol, shared, around=holder.id)
        assert node_ids(answer) == [holder.id]
        assert [edge["available"] for edge in answer["edges"]] == [False]


def test_types_choose_nodes_after_they_were_followed(api: Api, carol: Member, shared: Memory, world: World) -> None:
    answer = draw(api, carol, shared, around=world.quillon.id, hops=2, types=["entity"])
    assert node_ids(answer) == [world.quillon.id, world.harlow.id]
    assert answer["edges"] == []
    both = draw(api, carol, shared, around=world.quillon.id, hops=2, types=["entity", "fact"])
    assert len(both["edges"]) == 2


def test_more_than_the_limit_is_cut_with_the_start_first(api: Api, carol: Member, shared: Memory, world: World) -> None:
    answer = draw(api, carol, shared, around=world.quillon.id, hops=3, limit=2)
    assert (node_ids(answer), answer["truncated"]) == ([world.quillon.id, world.fact.id], True)
    assert edges(answer) == {(world.fact.id, "subject", world.quillon.id)}
    whole = draw(api, carol, shared, around=world.quillon.id, hops=3, limit=4)
    assert (len(whole["nodes"]), whole["truncated"]) == (4, False)


def test_edges_and_walks_are_bounded_and_say_so(
    api: Api, carol: Member, shared: Memory, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_EDGES", 1)
    answer = draw(api, carol, shared)
    assert (len(answer["edges"]), answer["truncated"], answer["degraded"]) == (1, True, ["edges:capped_at_1"])
    monkeypatch.setattr(service, "MOST_WALKED", 3)
    answer = draw(api, carol, shared, types=["note"])
    assert (answer["truncated"], "records:capped_at_3" in answer["degraded"]) == (True, True)


def test_one_reference_given_twice_is_one_edge(api: Api, alice: Member, shared: Memory, world: World) -> None:
    holder = factories.record(alice, shared, references=[point(world.quillon), point(world.quillon), point(world.note)])
    assert len(draw(api, alice, shared, around=holder.id)["edges"]) == 2


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"hops": 4}, "hops"),
        ({"hops": -1}, "hops"),
        ({"hops": True}, "hops"),
        ({"hops": "1"}, "hops"),
        ({"limit": 0}, "limit"),
        ({"limit": 501}, "limit"),
        ({"types": "fact"}, "types"),
        ({"types": [1]}, "types.0"),
        ({"around": 1}, "around"),
        ({"around": " "}, "around"),
        ({"around": "a\0"}, "around"),
    ],
    ids=str,
)
def test_a_malformed_request_is_refused_by_its_field(
    api: Api, alice: Member, shared: Memory, asked: dict[str, object], param: str
) -> None:
    answer = api.call("POST", f"/v1/memories/{shared.id}/graph", asked, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)


def test_a_hop_costs_the_same_queries_however_much_there_is(api: Api, alice: Member, shared: Memory) -> None:
    hub = factories.record(alice, shared, "Hub.")

    def cost(hops: int) -> int:
        draw(api, alice, shared, around=hub.id)
        with CaptureQueriesContext(connection) as queries:
            draw(api, alice, shared, around=hub.id, hops=hops)
        return len(queries)

    def grow(many: int) -> None:
        for _ in range(many):
            below = factories.memory(alice, shared)
            holder = factories.record(alice, below, references=[point(hub)])
            factories.record(alice, shared, references=[point(holder)])

    grow(1)
    few = [cost(hops) for hops in (0, 1, 2)]
    grow(12)
    assert [cost(hops) for hops in (0, 1, 2)] == few
    assert few[2] - few[1] <= 5


@settings(
    max_examples=20,
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_the_graph_is_what_a_walk_over_everything_readable_finds(
    api: Api, alice: Member, carol: Member, shared: Memory, data: st.DataObject
) -> None:
    homes = [
        shared,
        factories.memory(alice, shared),
        factories.memory(alice, shared, restricted=True),
        factories.memory(alice),
    ]
    readable = {homes[0].id, homes[1].id}
    made: list[RecordVersion] = []
    for _ in range(data.draw(st.integers(2, 9))):
        home = data.draw(st.sampled_from(homes))
        targets = data.draw(st.lists(st.sampled_from(made), max_size=3)) if made else []
        made.append(factories.record(alice, home, references=[point(one) for one in targets]))
    pairs = {(one.id, to.record_id) for one in made for to in one.draft.references}
    homed = {one.id: one.memory_id for one in made}
    seen = {one.id for one in made if one.memory_id in readable}
    starts = [one.id for one in made if one.memory_id in readable]
    if not starts:
        return
    start, hops = data.draw(st.sampled_from(starts)), data.draw(st.integers(0, 3))
    reached = {start}
    for _ in range(hops):
        reached |= {b for a, b in pairs if a in reached and b in seen} | {a for a, b in pairs if b in reached & seen}
        reached &= seen
    answer = draw(api, carol, shared, around=start, hops=hops)
    assert set(node_ids(answer)) == reached
    drawn = {(edge["from"]["record_id"], edge["to"]["record_id"]): edge["available"] for edge in answer["edges"]}
    assert drawn == {
        (a, b): homed[b] in readable for a, b in pairs if a in reached and (b in reached or homed[b] not in readable)
    }
