"""Filters: what they mean, that the database means the same, what is refused, and that recall keeps to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from members.models import Member
from memories.content import read_changes
from memories.filters import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_IN,
    MAX_STRING,
    OPERATIONS,
    TIMES,
    All,
    Condition,
    Facts,
    Filter,
    Some,
    equal,
    matches,
    read_filter,
)
from memories.models import Memory, Record, Version
from memories.providers import filtering, newest, registry, rows
from memories.providers.base import Question, View
from memories.recall import listing
from memories.services import records
from memories.services.sight import look
from tests import factories
from tests.conftest import Api
from uhp_site.http.errors import MemoryInvalid

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ("a", "b", "A", "0", "1", "a'b", 'q"', "\\", "$", "%s", "%(filter_0)s", "{}", "ä", "\U0001f600", "#", "type")
NUMBERS = (0, 1, -1, 1.0, 1.5, -0.0, 1e-300, 1e22, 10**22, 1e308, 2**63, 10**100, 1e100, 0.1, 0.30000000000000004)
WORDS = (
    "",
    "a",
    "A",
    "abc",
    "ABC",
    "1",
    "1.0",
    "null",
    "true",
    "ß",
    "SS",
    "İ",
    "i",
    "Σ",
    "ς",
    "\u03c3",
    "é",
    "e\u0301",
    "'",
    "%",
)
MORE_WORDS = (*WORDS, "\\", '"', "日本", "\U0001f600", "\uffff", "\n", "' OR 1=1 --", "2026-03-01T12:00:00Z")
INSTANTS = ("2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", "2026-03-01T12:00:00.000001Z", "2026-03-02T00:00:00Z")


def texts() -> st.SearchStrategy[str]:
    # Letters that a later Unicode gave another case are not yet in this Python's.
    letters = st.characters(blacklist_categories=["Cs", "Cn"], blacklist_characters="\0")
    return st.sampled_from(MORE_WORDS) | st.text(letters, max_size=4)


SCALARS: st.SearchStrategy[Any] = st.none() | st.booleans() | st.sampled_from(NUMBERS) | texts()
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
MOMENTS = st.none() | st.sampled_from([NOON, NOON + timedelta(microseconds=1), NOON + timedelta(hours=12)])
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(lambda steps: "attributes." + ".".join(steps))
FIELDS = PATHS | PATHS | st.just("type") | st.sampled_from([f"time.{name}" for name in TIMES])


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    written = draw(MOMENTS) or NOON
    return Facts(
        draw(st.sampled_from(["fact", "note", "x.a"])), draw(ATTRIBUTES), draw(MOMENTS), draw(MOMENTS), written
    )


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    field, op = draw(FIELDS), draw(st.sampled_from(OPERATIONS))
    usual = st.sampled_from(["fact", "FA", "x."]) if field == "type" else VALUES
    value = st.sampled_from(INSTANTS) | usual if field.startswith("time.") else usual | VALUES
    return {"field": field, "op": op, "value": draw(st.lists(value, max_size=3) if op == "in" else value)}


FILTERS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    conditions(),
    lambda inner: st.builds(
        lambda name, of: {name: of}, st.sampled_from(["and", "or"]), st.lists(inner, min_size=0, max_size=3)
    ),
    max_leaves=5,
)


def values_within(value: Any) -> Iterator[Any]:
    """A value and everything inside it, so that random filters hit what random records hold."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from values_within(inner)


def paths_within(value: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, inner in value.items():
        yield (*before, key), inner
        if isinstance(inner, dict):
            yield from paths_within(inner, (*before, key))


@pytest.fixture
def memory(alice: Member) -> Memory:
    return factories.memory(alice)


def write(memory: Memory, all_facts: list[Facts]) -> list[int]:
    """Versions of these facts, as they are kept; their keys."""
    records = [Record(organisation_id=memory.organisation_id, memory=memory, type=one.type) for one in all_facts]
    Record.objects.bulk_create(records)
    rows = [
        Version(
            organisation_id=memory.organisation_id,
            memory=memory,
            record=record,
            number=1,
            type=one.type,
            attributes=dict(one.attributes),
            valid_from=one.valid_from,
            valid_to=one.valid_to,
            written_at=one.written_at or NOON,
        )
        for record, one in zip(records, all_facts, strict=True)
    ]
    return [row.pk for row in Version.objects.bulk_create(rows)]


def by_database(one: Filter, keys: list[int]) -> set[int]:
    """The versions that the compiled filter keeps; both of its forms have to agree."""
    statement, parameters = filtering.compiled(one)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT v.id FROM memories_version v WHERE v.id = ANY(%(keys)s) AND {statement}",  # noqa: S608
            {**parameters, "keys": keys},
        )
        found = {key for (key,) in cursor.fetchall()}
    assert found == set(Version.objects.filter(filtering.expression(one), pk__in=keys).values_list("pk", flat=True))
    return found


@settings(suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture])
@given(
    worlds=st.lists(facts(), min_size=1, max_size=6), asked=st.lists(FILTERS, min_size=1, max_size=4), data=st.data()
)
def test_the_database_finds_what_the_filter_means(
    memory: Memory, worlds: list[Facts], asked: list[dict[str, Any]], data: st.DataObject
) -> None:
    for one in worlds:
        for path, found in list(paths_within(dict(one.attributes)))[:4]:
            value = data.draw(st.sampled_from(list(values_within(found))))
            op = data.draw(st.sampled_from(OPERATIONS))
            asked = [
                *asked,
                {"field": ".".join(("attributes", *path)), "op": op, "value": [value] if op == "in" else value},
            ]
    with transaction.atomic():
        keys = write(memory, worlds)
        # What was kept is what is asked about: JSON has one zero, and one way to write a number.
        kept = {one.pk: one for one in Version.objects.filter(pk__in=keys)}
        for body in asked:
            read = read_filter(body)
            meant = {key for key in keys if matches(read, rows.shown(kept[key]).facts)}
            assert by_database(read, keys) == meant, body
            assert meant == {key for key, original in zip(keys, worlds, strict=True) if matches(read, original)}, body
        transaction.set_rollback(True)


CASES: list[tuple[Any, str, Any, bool]] = [
    (None, "eq", None, True),
    (1, "eq", 1.0, True),
    (1, "eq", True, False),
    (1, "eq", "1", False),
    ("a", "eq", "A", False),
    ([1], "eq", 1, False),
    ([1, 2], "eq", [1, 2], True),
    ([2, 1], "eq", [1, 2], False),
    ({"a": 1, "b": 2}, "eq", {"a": 1}, False),
    (0.1, "eq", 0.1, True),
    (2, "gt", 1.5, True),
    (10, "gt", 9, True),
    ("10", "gt", "9", False),
    ("10", "gt", 9, False),
    (10, "gt", "9", False),
    (None, "lte", 5, False),
    (True, "gte", 0, False),
    ("b", "gte", "a", True),
    ("a", "lt", "Z", False),
    ([5], "gt", 1, False),
    (5, "gt", None, False),
    (5, "gt", [1], False),
    (5, "in", [4, 5.0], True),
    (None, "in", [None], True),
    (None, "in", [], False),
    ("Quillon Freight", "contains", "freight", True),
    ("Quillon", "contains", "", True),
    (["urgent", "Late"], "contains", "late", True),
    (["later"], "contains", "late", False),
    ([1, 2], "contains", 2.0, True),
    ([[1]], "contains", 1, False),
    ([[1]], "contains", [1], True),
    ([None], "contains", None, True),
    (15, "contains", 5, False),
    (15, "contains", "5", False),
    ({"a": 1}, "contains", "a", False),
    (None, "contains", None, False),
]


@pytest.mark.parametrize(("found", "op", "value", "meant"), CASES, ids=str)
def test_a_condition_means(memory: Memory, found: Any, op: str, value: Any, meant: bool) -> None:
    one = read_filter({"field": "attributes.deep.er", "op": op, "value": value})
    there, missing = Facts("fact", {"deep": {"er": found}}, written_at=NOON), Facts("fact", {}, written_at=NOON)
    assert matches(one, there) is meant
    assert matches(one, missing) is (op in ("eq", "in") and equal_or_among(None, op, value))
    keys = write(memory, [there, missing])
    assert by_database(one, keys) == {
        key for key, said in zip(keys, (there, missing), strict=True) if matches(one, said)
    }


def equal_or_among(found: Any, op: str, value: Any) -> bool:
    return any(equal(found, one) for one in (value if op == "in" else [value]))


@pytest.mark.parametrize(
    ("field", "op", "value", "meant"),
    [
        ("time.valid_from", "eq", "2026-03-01T13:00:00+01:00", True),
        ("time.valid_from", "lt", "2026-03-01T12:00:00.000001Z", True),
        ("time.valid_from", "gt", "2026-03-01T12:30:00+01:00", True),
        ("time.valid_from", "gt", "yesterday", False),
        ("time.valid_from", "gt", 5, False),
        ("time.valid_from", "eq", None, False),
        ("time.valid_from", "in", [None, "2026-03-01T12:00:00Z"], True),
        ("time.valid_from", "contains", "2026", False),
        ("time.valid_to", "eq", None, True),
        ("time.valid_to", "in", [None], True),
        ("time.valid_to", "lte", "9999-01-01T00:00:00Z", False),
        ("time.invalidated_at", "eq", None, True),
        ("type", "eq", "fact", True),
        ("type", "in", ["note", "fact", 1], True),
        ("type", "contains", "AC", True),
        ("type", "gte", "fact", True),
        ("type", "eq", None, False),
        ("type", "lt", 5, False),
    ],
)
def test_times_are_instants_and_the_type_is_a_string(
    memory: Memory, field: str, op: str, value: Any, meant: bool
) -> None:
    one, said = read_filter({"field": field, "op": op, "value": value}), Facts("fact", {}, NOON, None, NOON)
    assert matches(one, said) is meant
    [key] = write(memory, [said])
    assert by_database(one, [key]) == ({key} if meant else set())


def test_nothing_to_meet_is_met_and_nothing_to_choose_from_is_not() -> None:
    assert matches(read_filter({"and": []}), Facts("fact", {}))
    assert not matches(read_filter({"or": []}), Facts("fact", {}))


def test_a_path_goes_through_objects_only() -> None:
    said = Facts("fact", {"list": [{"a": 1}], "text": "a"})
    assert not matches(read_filter({"field": "attributes.list.0.a", "value": 1}), said)
    assert not matches(read_filter({"field": "attributes.list.a", "value": 1}), said)
    assert matches(read_filter({"field": "attributes.text.length", "value": None}), said)


def test_a_filter_is_read_into_a_tree() -> None:
    asked = {"and": [{"field": "type", "value": "fact"}, {"or": [{"field": "attributes.a.b", "op": "gt", "value": 1}]}]}
    assert read_filter(asked) == All(
        (Condition("type", (), "eq", "fact"), Some((Condition("attributes", ("a", "b"), "gt", 1),)))
    )


def nested(depth: int) -> dict[str, Any]:
    one: dict[str, Any] = {"field": "type", "value": "fact"}
    for _ in range(depth - 1):
        one = {"and": [one]}
    return one


FACT = {"field": "type", "value": "fact"}


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ("type", "filters:"),
        ({}, "filters.field:"),
        ({"field": "type"}, "filters.value:"),
        ({"value": 1}, "filters.field:"),
        ({"field": 1, "value": 1}, "filters.field:"),
        ({"field": "title", "value": 1}, "filters.field:"),
        ({"field": "type.x", "value": 1}, "filters.field:"),
        ({"field": "attributes", "value": 1}, "filters.field:"),
        ({"field": "attributes.", "value": 1}, "filters.field:"),
        ({"field": "attributes.a..b", "value": 1}, "filters.field:"),
        ({"field": "attributes." + ".".join("a" * 17), "value": 1}, "filters.field:"),
        ({"field": "attributes." + "a" * 201, "value": 1}, "filters.field:"),
        ({"field": "attributes.a\0", "value": 1}, "filters.field:"),
        ({"field": "time", "value": 1}, "filters.field:"),
        ({"field": "time.now", "value": 1}, "filters.field:"),
        ({"field": "time.written_at.x", "value": 1}, "filters.field:"),
        ({**FACT, "op": "like"}, "filters.op:"),
        ({**FACT, "op": None}, "filters.op:"),
        ({**FACT, "op": ["eq"]}, "filters.op:"),
        ({**FACT, "not": True}, "filters:"),
        ({"not": [FACT]}, "filters:"),
        ({"and": FACT}, "filters.and:"),
        ({"and": [], "or": []}, "filters:"),
        ({"and": [], "field": "type"}, "filters:"),
        ({"and": [FACT, {"or": [{**FACT, "op": "in"}]}]}, "filters.and.1.or.0.value:"),
        ({"field": "type", "op": "in", "value": "fact"}, "filters.value:"),
        ({"field": "type", "op": "in", "value": ["fact"] * (MAX_IN + 1)}, "filters.value:"),
        ({"field": "attributes.a", "value": "a" * (MAX_STRING + 1)}, "filters.value:"),
        ({"field": "attributes.a", "value": ["a" * 1_000] * 20}, "filters.value:"),
        ({"field": "attributes.a", "value": "\ud800"}, "filters.value:"),
        ({"field": "attributes.a", "value": {"b": ["\0"]}}, "filters.value.b.0:"),
        ({"field": "attributes.a", "value": 10**401}, "filters.value:"),
        ({"field": "attributes.a", "value": float("inf")}, "filters.value:"),
        (nested(MAX_DEPTH + 1), "filters" + ".and.0" * MAX_DEPTH),
        ({"or": [FACT] * (MAX_CONDITIONS + 1)}, "filters:"),
        ({"or": [{"and": [FACT] * 9}] * 9}, "filters.or."),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_malformed_filter_is_refused_with_where_it_is_wrong(asked: Any, where: str) -> None:
    with pytest.raises(MemoryInvalid) as refused:
        read_filter(asked)
    assert refused.value.param == "filters"
    assert refused.value.message.startswith(where)


def test_a_filter_as_large_as_allowed_is_taken(memory: Memory) -> None:
    keys = write(memory, [Facts("fact", {"a": 1}, written_at=NOON)])
    assert by_database(read_filter(nested(MAX_DEPTH)), keys) == set(keys)
    assert by_database(read_filter({"or": [FACT] * MAX_CONDITIONS}), keys) == set(keys)
    many = {"field": "attributes.a", "op": "in", "value": list(range(MAX_IN))}
    assert by_database(read_filter(many), keys) == set(keys)
    assert by_database(read_filter({"field": "attributes.a", "op": "lt", "value": 10**400}), keys) == set(keys)


def test_equality_is_answered_from_the_index_on_attributes(memory: Memory) -> None:
    write(memory, [Facts("fact", {"number": number}, written_at=NOON) for number in range(500)])
    statement, parameters = filtering.compiled(read_filter({"field": "attributes.number", "value": 7}))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_version")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN SELECT v.id FROM memories_version v WHERE {statement}", parameters)  # noqa: S608
        assert "version_attributes" in str(cursor.fetchall())


@pytest.fixture
def shelf(alice: Member, shared: Memory) -> Mapping[str, str]:
    """Records of two memories by what they are about."""
    below = factories.memory(alice, shared)
    return {
        name: factories.record(alice, where, "Quillon renews.", attributes={"account": name, "size": size}).id
        for name, where, size in (("quillon", shared, 1), ("harlow", below, 2), ("brack", below, 3))
    }


def test_a_filter_narrows_candidates_and_pages_alike(shared: Memory, shelf: Mapping[str, str]) -> None:
    provider = registry.connected()[0]
    memories = list(Memory.objects.at_or_below(shared).values_list("id", flat=True))
    view = View(filters=read_filter({"field": "attributes.size", "op": "gte", "value": 2}))
    wanted = {shelf["harlow"], shelf["brack"]}
    for question in (Question(query="Quillon", view=view), Question(text="Quillon", view=view)):
        keys = [one.key for one in provider.candidates(memories, question).candidates]
        assert {one.id for one in provider.open(keys, view).values()} == wanted
    paged = {one.id for memory in memories for one in provider.page(memory, view, 10, None).versions}
    assert paged == wanted
    latest = provider.newest(memories, view, 10)
    assert [provider.open(latest, view)[key].id for key in latest] == [shelf["brack"], shelf["harlow"]]


def recall(api: Api, who: Member, memory: Memory, **ask: Any) -> Any:
    return api.ok("POST", f"/v1/memories/{memory.id}/recall", ask, who)


def accounts(answer: Any) -> list[str]:
    return [one["record"]["attributes"]["account"] for one in answer["results"]]


LARGE = {"field": "attributes.size", "op": "gte", "value": 2}


def test_filters_alone_list_what_they_let_through_newest_first(
    api: Api, carol: Member, shared: Memory, shelf: Mapping[str, str]
) -> None:
    answer = recall(api, carol, shared, filters=LARGE)
    assert accounts(answer) == ["brack", "harlow"]
    assert [(one["score"], one["why"]) for one in answer["results"]] == [(None, ["filters"])] * 2
    assert (answer["degraded"], answer["abstain"]) == ([], False)
    assert accounts(recall(api, carol, shared, filters=LARGE, limit=1)) == ["brack"]
    assert accounts(recall(api, carol, shared, filters=LARGE, depth=0)) == []
    assert accounts(recall(api, carol, shared, filters=LARGE, types=["note"])) == []


@pytest.mark.parametrize(
    "ask", [{"query": "Quillon"}, {"text": "renews"}, {"query": "Quillon", "text": "renews"}], ids=str
)
def test_filters_are_a_hard_condition_of_a_ranked_recall_and_named_in_why(
    api: Api, carol: Member, shared: Memory, shelf: Mapping[str, str], ask: dict[str, str]
) -> None:
    answer = recall(api, carol, shared, filters=LARGE, **ask)
    assert set(accounts(answer)) == {"brack", "harlow"}
    assert {tuple(one["why"]) for one in answer["results"]} == {(*ask, "filters")}
    assert set(accounts(recall(api, carol, shared, **ask))) == {"brack", "harlow", "quillon"}
    nothing = {"field": "attributes.size", "op": "gt", "value": 3}
    assert accounts(recall(api, carol, shared, filters=nothing, **ask)) == []


def test_filters_look_only_where_the_caller_may_read(
    api: Api, alice: Member, carol: Member, shared: Memory, shelf: Mapping[str, str]
) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    sibling = factories.memory(alice)
    for where in (hidden, sibling):
        factories.record(alice, where, attributes={"account": "kept from carol", "size": 9})
    for body in (LARGE, {"or": [LARGE, {"and": []}]}, {"field": "time.written_at", "op": "gt", "value": INSTANTS[0]}):
        assert "kept from carol" not in accounts(recall(api, carol, shared, filters=body, limit=100))
    assert "kept from carol" in accounts(recall(api, alice, shared, filters=LARGE))


def test_hidden_records_use_up_no_place(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    seen = factories.record(alice, shared, attributes={"account": "seen", "size": 5})
    hidden = factories.memory(alice, shared, restricted=True)
    for _ in range(4):
        factories.record(alice, hidden, attributes={"account": "hidden", "size": 5})
    answer = recall(api, carol, shared, filters=LARGE, limit=1)
    assert [one["record"]["id"] for one in answer["results"]] == [seen.id]


def test_old_versions_are_filtered_as_they_were(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, attributes={"account": "quillon", "size": 2})
    records.revise(look(factories.caller(alice), shared.id), record.id, read_changes({"attributes": {"size": 1}}))
    assert accounts(recall(api, alice, shared, filters=LARGE)) == []
    assert accounts(recall(api, alice, shared, filters=LARGE, include="all")) == ["quillon"]
    then = record.written_at.isoformat()
    [result] = recall(api, alice, shared, filters=LARGE, as_of=then)["results"]
    assert result["record"]["status"] == "active"
    open_then = {"and": [LARGE, {"field": "time.invalidated_at", "value": None}]}
    assert accounts(recall(api, alice, shared, filters=open_then, as_of=then)) == ["quillon"]
    assert accounts(recall(api, alice, shared, filters=open_then, include="all")) == []


def test_where_a_filter_lets_very_much_through_the_newest_still_come_first(
    api: Api, alice: Member, carol: Member, shared: Memory, shelf: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    factories.record(alice, hidden, attributes={"account": "hidden", "size": 5})
    sorted_ones = [accounts(recall(api, carol, shared, filters=LARGE, limit=limit)) for limit in (1, 5)]
    monkeypatch.setattr(newest, "SORTED", 1)
    walked = [accounts(recall(api, carol, shared, filters=LARGE, limit=limit)) for limit in (1, 5)]
    assert walked == sorted_ones == [["brack"], ["brack", "harlow"]]


def test_a_filter_that_takes_too_long_is_ended_and_says_so(
    api: Api, alice: Member, shared: Memory, shelf: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asleep(memories: Sequence[str], view: View, limit: int) -> Sequence[int]:
        connection.cursor().execute("SELECT pg_sleep(5)")
        return []

    monkeypatch.setattr(registry.connected()[0], "newest", asleep)
    monkeypatch.setattr(listing, "MILLISECONDS", 30)
    answer = recall(api, alice, shared, filters=LARGE)
    assert (answer["results"], answer["degraded"]) == ([], ["time:capped_at_30_ms"])


@pytest.mark.parametrize(
    "asked", [{}, [], "type", 1, True, {"field": "title", "value": 1}, {"and": [{**FACT, "op": "like"}]}], ids=str
)
def test_a_malformed_filter_of_a_recall_is_refused(api: Api, alice: Member, shared: Memory, asked: Any) -> None:
    for beside in ({}, {"query": "words"}):
        body = {"filters": asked, **beside}
        answer = api.call("POST", f"/v1/memories/{shared.id}/recall", body, as_=alice)
        assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", "filters")


@pytest.mark.parametrize("value", ["'; DROP TABLE memories_version; --", "%(as_of)s", "\\", "\U0001f600", "{}", '"'])
def test_hostile_values_and_names_are_values_and_names(api: Api, alice: Member, shared: Memory, value: str) -> None:
    factories.record(alice, shared, attributes={"account": value, value: {value: value}})
    for field in ("attributes.account", f"attributes.{value}.{value}"):
        for op in ("eq", "contains", "gte", "lte"):
            assert accounts(recall(api, alice, shared, filters={"field": field, "op": op, "value": value})) == [value]
        assert accounts(recall(api, alice, shared, filters={"field": field, "value": value + "x"})) == []
