"""How a search by meaning is done: whatever plan is chosen, nothing readable is lost and nothing else is found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

import numpy as np
import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from members.models import Member, Organisation
from memories import embedders
from memories.access import Privilege
from memories.content import read_changes
from memories.models import CommonWord, Embedding, Job, Memory, VectorIndex, Version
from memories.providers import frequencies, indexes, inside, meaning, plans
from memories.providers.base import View
from memories.providers.indexes import Corner
from memories.providers.inside import Branches
from memories.providers.plans import Plan
from memories.recall import scope
from memories.services import indexing, records, reembed
from memories.services.sight import look
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Api

MODEL = "hashing-384-v1"
WORDS = ("garden", "invoice", "harbour", "lantern", "meadow", "orchard", "pebble", "quarry", "ribbon", "violin")

# The choice


@pytest.mark.parametrize(
    ("size", "indexed", "current", "plan"),
    [
        (None, True, True, Plan.MEMORIES),
        (0, True, True, Plan.MEMORIES),
        (plans.EXACT_UP_TO, True, True, Plan.MEMORIES),
        (plans.EXACT_UP_TO + 1, True, True, Plan.INDEX),
        (plans.EXACT_UP_TO + 1, False, True, Plan.ORGANISATION),
        (plans.EXACT_UP_TO + 1, True, False, Plan.MEMORIES),
    ],
)
def test_the_index_is_walked_only_where_much_may_be_read_of_what_it_holds(
    size: int | None, indexed: bool, current: bool, plan: Plan
) -> None:
    assert plans.choose(size, indexed=indexed, current=current) is plan


def test_the_walk_keeps_more_in_hand_than_are_wanted() -> None:
    assert plans.effort(10).breadth == plans.BREADTH
    assert plans.effort(500).breadth == 1_000


# Common words

counted = st.dictionaries(st.sampled_from(WORDS), st.integers(0, 100), min_size=1)


@given(counted, st.integers(0, 200))
def test_the_rarest_words_are_kept_as_long_as_few_records_have_them(common: dict[str, int], most: int) -> None:
    kept = frequencies.rarest_first(common, common, most)
    left_out = common.keys() - set(kept)
    assert kept
    assert sum(common[one] for one in kept) <= most or len(kept) == 1
    assert all(common[one] <= common[other] for one in kept for other in left_out)
    assert not left_out or sum(common[one] for one in kept) + min(common[one] for one in left_out) > most


def test_words_that_nobody_counted_are_always_searched_by() -> None:
    assert set(frequencies.rarest_first(WORDS, {"garden": 10**9}, 5)) == set(WORDS) - {"garden"}


@pytest.mark.django_db
def test_only_words_of_very_many_records_are_written_down(
    alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frequencies, "LEAST", 5)
    for word in WORDS[1:7]:
        factories.record(alice, shared, f"A garden with a {word}.")
    frequencies.count(alice.organisation_id)
    assert frequencies.of(alice.organisation_id, ["garden", "harbour"]) == {"garden": 6}
    assert CommonWord.objects.count() == 1
    assert frequencies.of(factories.organisation().id, ["garden"]) == {}


# Finding


class World:
    """A random tree in which carol reads some, and what is written in it."""

    def __init__(self, alice: Member, carol: Member, seed: int) -> None:
        self.random, self.alice, self.carol = Random(seed), alice, carol  # noqa: S311 - a made-up world
        self.root = factories.memory(alice, name="Root")
        factories.grant(alice, self.root, carol)
        self.memories = [self.root]
        for _ in range(11):
            above, closed = self.random.choice(self.memories), self.random.random() < 0.4
            memory = factories.memory(alice, above, restricted=closed)
            if closed and self.random.random() < 0.5:
                factories.grant(alice, memory, carol)
            self.memories.append(memory)
        for _ in range(45):
            self.write()

    def write(self) -> int:
        """Write something somewhere; the key of the version."""
        said = " ".join(self.random.sample(WORDS, 4))
        made = factories.record(self.alice, self.random.choice(self.memories), f"{said} {self.random.random()}")
        return Version.objects.get(record_id=made.id).pk

    def branches(self, asked: Memory, depth: int | None = None) -> Branches:
        """Where carol's question looks."""
        found = scope.readable(asked, factories.caller(self.carol).principals, depth).memories
        assert isinstance(found, Branches)
        return found

    def allowed(self, asked: Memory) -> set[str]:
        """What carol may read at or under a memory, by the rule."""
        principals = factories.caller(self.carol).principals
        below = Memory.objects.at_or_below(asked).held_by(principals, Privilege.READ)
        return set(below.values_list("pk", flat=True))

    def proves(self, found: set[int], vector: NDArray[np.float32], memory_ids: Collection[str], limit: int) -> bool:
        """Whether these are the nearest current versions there, by comparing here; equals may stand for each other."""
        rows = Embedding.objects.filter(
            memory_id__in=memory_ids, aspect="own", version__invalidated_at=None
        ).values_list("version_id", "vector")
        scores = {key: float(np.dot(np.asarray(kept), vector)) for key, kept in rows}
        best = sorted(scores.values(), reverse=True)[:limit]
        # The database keeps and compares half precision.
        return len(found) == len(best) and all(scores.get(key, -1) >= best[-1] - 0.002 for key in found)

    def asked(self) -> list[Memory]:
        """The memories that carol may ask."""
        allowed = self.allowed(self.root)
        return [memory for memory in self.memories if memory.id in allowed]


@pytest.fixture(params=[1, 2])
def world(request: pytest.FixtureRequest, alice: Member, carol: Member) -> World:
    return World(alice, carol, request.param)


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The index is walked whatever there is to read; how many it brought, walk by walk."""
    walks: list[int] = []
    walk = meaning.walk

    def noted(*arguments: object) -> tuple[dict[int, float], int]:
        found, brought = walk(*arguments)  # type: ignore[arg-type]
        walks.append(brought)
        return found, brought

    monkeypatch.setattr(plans, "EXACT_UP_TO", 0)
    monkeypatch.setattr(meaning, "walk", noted)
    return walks


def build(of: Organisation) -> Corner:
    """The index of an organisation, with the vectors of all that was written."""
    reembed.sweep()
    corner = Corner(of.id, MODEL, "own")
    indexes.build(corner, online=False)
    return corner


def question(text: str) -> NDArray[np.float32]:
    return embedders.get().embed_query(text)


def search(vector: NDArray[np.float32], memory_ids: Sequence[str], limit: int, view: View | None = None) -> set[int]:
    return set(meaning.by_meaning(vector, MODEL, memory_ids, view or View(), limit))


@pytest.mark.django_db
def test_comparing_finds_what_brute_force_finds(world: World) -> None:
    for asked in world.asked():
        for text in WORDS[:4]:
            vector, covered = question(text), world.branches(asked)
            for memory_ids in (covered, list(covered)):
                assert world.proves(search(vector, memory_ids, 10), vector, world.allowed(asked), 10)


@pytest.mark.django_db
def test_walking_the_index_finds_what_brute_force_finds(world: World, walking: list[int]) -> None:
    build(world.alice.organisation)
    for asked in world.asked():
        for text in WORDS[:4]:
            vector = question(text)
            found = search(vector, world.branches(asked), 10)
            assert world.proves(found, vector, world.allowed(asked), 10)
    assert walking
    assert max(walking) == 10


@pytest.mark.django_db
def test_vectors_of_another_kind_are_found_beside_an_index_that_does_not_hold_them(
    alice: Member, carol: Member, walking: list[int]
) -> None:
    world = World(alice, carol, 5)
    build(alice.organisation)
    Embedding.objects.update(aspect="context")
    for asked in world.asked():
        vector, covered = question("garden"), world.branches(asked)
        found = set(meaning.by_meaning(vector, MODEL, covered, View(), 10, "context"))
        Embedding.objects.update(aspect="own")
        assert world.proves(found, vector, world.allowed(asked), 10)
        Embedding.objects.update(aspect="context")
    assert walking == []


@pytest.mark.django_db
def test_what_is_written_is_found_before_the_index_has_it_and_after(
    alice: Member, carol: Member, walking: list[int]
) -> None:
    world = World(alice, carol, 4)
    corner = build(alice.organisation)
    factories.record(alice, world.root, "umbrella violin walnut")
    reembed.sweep()
    vector = question("umbrella violin walnut")
    newest = Version.objects.latest("pk").pk
    assert not Embedding.objects.get(version=newest).indexed
    assert newest in search(vector, world.branches(world.root), 3)
    assert indexes.take_in(corner) == 1
    assert indexes.take_in(corner) == 0
    assert Embedding.objects.get(version=newest).indexed
    assert newest in search(vector, world.branches(world.root), 3)
    assert walking == [3, 3]


@pytest.mark.django_db
def test_what_was_forgotten_or_superseded_is_not_found_by_the_index(
    alice: Member, shared: Memory, carol: Member, walking: list[int]
) -> None:
    place = look(factories.caller(alice), shared.id)
    kept, revised, forgotten = (factories.record(alice, shared, f"harbour lantern {n}") for n in range(3))
    build(alice.organisation)
    records.revise(place, revised.id, read_changes({"content": "meadow orchard"}))
    records.forget(place, forgotten.id)
    reembed.sweep()
    covered = scope.readable(shared, factories.caller(carol).principals, None).memories
    found = Version.objects.filter(pk__in=search(question("harbour lantern"), covered, 10))
    assert {(one.record_id, one.number) for one in found} == {(kept.id, 1), (revised.id, 2)}
    assert walking == [1]


@pytest.mark.django_db
def test_a_caller_who_may_read_little_of_what_the_index_holds_loses_nothing(
    alice: Member, carol: Member, walking: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, shown = factories.memory(alice), factories.memory(alice)
    factories.grant(alice, shown, carol)
    for number in range(250):
        factories.record(alice, hidden, f"harbour lantern {number}")
    for number in range(7):
        factories.record(alice, shown, f"meadow orchard {number}")
    build(alice.organisation)
    # An index that gives up at once: what it does not bring has to come from comparing.
    monkeypatch.setattr(plans, "effort", lambda _: plans.Effort(1, 1))
    covered = scope.readable(shown, factories.caller(carol).principals, None).memories
    found = search(question("harbour lantern"), covered, 5)
    assert len(found) == 5
    assert found <= set(Version.objects.filter(memory=shown).values_list("pk", flat=True))
    assert walking
    assert max(walking) < 5


@pytest.mark.django_db
def test_questions_of_the_past_and_of_all_versions_are_answered_by_comparing(
    alice: Member, shared: Memory, carol: Member, walking: list[int]
) -> None:
    record = factories.record(alice, shared, "harbour lantern")
    build(alice.organisation)
    records.forget(look(factories.caller(alice), shared.id), record.id)
    covered = scope.readable(shared, factories.caller(carol).principals, None).memories
    vector = question("harbour lantern")
    assert len(search(vector, covered, 5, View(as_of=record.written_at))) == 1
    assert len(search(vector, covered, 5, View(include_all=True))) == 1
    assert search(vector, covered, 5) == set()
    assert walking == []


@pytest.mark.django_db
def test_types_hold_while_the_index_is_walked(alice: Member, shared: Memory, carol: Member, walking: list[int]) -> None:
    for number in range(30):
        factories.record(alice, shared, f"harbour {number}", type="note" if number % 10 == 0 else "fact")
    build(alice.organisation)
    covered = scope.readable(shared, factories.caller(carol).principals, None).memories
    found = search(question("harbour"), covered, 10, View(types=("note",)))
    assert set(Version.objects.filter(pk__in=found).values_list("type", flat=True)) == {"note"}
    assert len(found) == 3
    assert walking == [3]


@pytest.mark.django_db
def test_the_statement_uses_the_index_of_the_organisation(alice: Member, shared: Memory, walking: list[int]) -> None:
    for number in range(20):
        factories.record(alice, shared, f"harbour {number}")
    corner = build(alice.organisation)
    covered = scope.readable(shared, factories.caller(alice).principals, None).memories
    said: list[str] = []

    def explained(execute: object, sql: str, parameters: object, *rest: object) -> object:
        if "near AS MATERIALIZED" in sql:
            with connection.cursor() as cursor:
                cursor.cursor.execute(f"EXPLAIN {sql}", parameters)
                said.extend(line for (line,) in cursor.cursor.fetchall())
        return execute(sql, parameters, *rest)  # type: ignore[operator]

    with connection.execute_wrapper(explained):
        search(question("harbour"), covered, 5)
    assert any(f"Index Scan using {corner.index}" in line for line in said)


@pytest.mark.django_db
def test_walking_leaves_the_settings_of_the_session_as_they_were(
    alice: Member, shared: Memory, walking: list[int]
) -> None:
    factories.record(alice, shared, "harbour")
    build(alice.organisation)
    search(question("harbour"), scope.readable(shared, factories.caller(alice).principals, None).memories, 5)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('enable_sort'), current_setting('hnsw.iterative_scan')")
        assert cursor.fetchone() == ("on", "off")
    assert walking


# Where it looks


@pytest.mark.django_db
def test_branches_are_the_memories_that_the_rule_names_however_they_are_asked_for(world: World) -> None:
    for asked in world.asked():
        for depth in (None, 0, 1, 2):
            covered = world.branches(asked, depth)
            names = set(covered)
            for condition, parameters in (
                form(covered, "m.id") for form in (inside.listed, inside.sifted, inside.probed)
            ):
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT m.id FROM memories_memory m WHERE {condition}", parameters)  # noqa: S608
                    assert {f"hmem_{one.hex}" for (one,) in cursor.fetchall()} == names
            if depth is None:
                assert names == world.allowed(asked)
            assert not covered.has_more_than(len(names))
            assert covered.has_more_than(len(names) - 1)


@pytest.mark.django_db
def test_what_may_be_read_is_collected_once_for_a_statement_and_not_where_it_is_too_much(world: World) -> None:
    covered = world.branches(world.root, None)

    def plan() -> str:
        condition, parameters = inside.sifted(covered, "v.memory_id")
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN SELECT FROM memories_version v WHERE {condition}", parameters)
            return "\n".join(line for (line,) in cursor.fetchall())

    assert "hashed SubPlan" in plan()
    covered.about = inside.COLLECTED + 1
    assert "hashed SubPlan" not in plan()


@pytest.mark.django_db
def test_what_can_be_read_is_counted_no_further_than_asked(alice: Member, shared: Memory) -> None:
    for number in range(5):
        factories.record(alice, shared, f"harbour {number}", type="note" if number else "fact")

    def size(view: View, at_most: int) -> int | None:
        covered = scope.readable(shared, factories.caller(alice).principals, None).memories
        assert isinstance(covered, Branches)
        return covered.size(view, at_most).versions

    assert size(View(), 100) is None, "nobody counts where there is no index"
    build(alice.organisation)
    assert [size(View(), 100), size(View(), 3), size(View(types=("note",)), 100)] == [5, 3, 4]


# Building


@pytest.mark.django_db
def test_an_index_is_built_by_a_job_once_there_is_much_to_compare(
    alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        factories.record(alice, shared, f"harbour {number}")
    reembed.sweep()
    assert indexing.tend() == 0
    assert not Job.objects.filter(kind=indexing.KIND).exists()
    monkeypatch.setattr(plans, "EXACT_UP_TO", 5)
    indexing.tend()
    indexing.tend()
    job = Job.objects.get(kind=indexing.KIND)
    assert (job.organisation_id, job.payload) == (alice.organisation_id, {"model": MODEL, "aspect": "own"})
    KINDS[job.kind](job)
    KINDS[job.kind](job)
    ready = VectorIndex.objects.get()
    assert ready.name == Corner(alice.organisation_id, MODEL, "own").index
    assert Embedding.objects.filter(indexed=True).count() == 6
    assert indexes.crowded() == []
    factories.record(alice, shared, "lantern")
    reembed.sweep()
    assert indexing.tend() == 1


@pytest.mark.django_db(transaction=True)
def test_an_index_is_built_while_others_write_and_goes_with_its_organisation(alice: Member, shared: Memory) -> None:
    for number in range(3):
        factories.record(alice, shared, f"harbour {number}")
    reembed.sweep()
    corner = Corner(alice.organisation_id, MODEL, "own")
    indexes.build(corner)
    indexes.build(corner)
    assert indexes.built() == [corner]
    assert indexes.retire() == []
    Embedding.objects.all().delete()
    assert indexes.retire() == [corner.index]
    assert indexes.built() == []


@pytest.mark.django_db(transaction=True)
def test_a_build_that_was_cut_off_begins_again(alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "harbour")
    reembed.sweep()
    corner = Corner(alice.organisation_id, MODEL, "own")
    indexes.build(corner)
    VectorIndex.objects.all().delete()
    indexes.build(corner)
    assert indexes.built() == [corner]
    Embedding.objects.all().delete()
    indexes.retire()


# Words where there is much to read


@pytest.mark.django_db
def test_where_much_may_be_read_common_words_give_way_to_rare_ones_and_that_is_said(
    api: Api, alice: Member, shared: Memory, walking: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        factories.record(alice, shared, f"A garden, the {number}th.")
    rare = factories.record(alice, shared, "The violin of the garden.")
    build(alice.organisation)
    monkeypatch.setattr(frequencies, "LEAST", 5)
    frequencies.count(alice.organisation_id)
    asked = {"text": "garden violin", "limit": 50}
    answer = api.ok("POST", f"/v1/memories/{shared.id}/recall", asked, alice)
    assert len(answer["results"]) == 13
    assert answer["degraded"] == []
    monkeypatch.setattr(frequencies.rarest_first, "__defaults__", (10,))
    answer = api.ok("POST", f"/v1/memories/{shared.id}/recall", asked, alice)
    assert [one["record"]["id"] for one in answer["results"]] == [rare.id]
    assert answer["degraded"] == [frequencies.LEFT_OUT]
