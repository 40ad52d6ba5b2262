"""The guards guarded: each bug here was planted into the rule or into its queries, and a law has to notice it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from django.db.models import Q

from members.callers import Caller
from memories import access
from memories.access import Explanation, Node, Privilege
from memories.models import grants
from memories.models.grants import ReachQuerySet
from memories.models.tree import MemoryQuerySet
from memories.recall import scope
from tests.access import test_laws as laws
from tests.access import test_parity
from tests.access.worlds import Change, Step, World

Rule = Callable[[Collection[str], Iterable[Node]], Explanation]
explain = access.explain


def forgets_the_cutoff(who: Collection[str], upward: Iterable[Node]) -> Explanation:
    return explain(who, [Node(node.id, False, node.holdings) for node in upward])


def cuts_off_the_restricted_memory_itself(who: Collection[str], upward: Iterable[Node]) -> Explanation:
    return explain(who, [Node(node.id, node.restricted, () if node.restricted else node.holdings) for node in upward])


def lets_a_maker_through_the_cutoff(who: Collection[str], upward: Iterable[Node]) -> Explanation:
    nodes = list(upward)
    made = [Node(node.id, False, tuple(one for one in node.holdings if not one.grant_id)) for node in nodes]
    total = explain(who, nodes).privileges | explain(who, made).privileges
    return Explanation(total, explain(who, nodes).sources, explain(who, nodes).cutoff)


def asks_the_nearest_memory_only(who: Collection[str], upward: Iterable[Node]) -> Explanation:
    return explain(who, list(upward)[:1])


def lets_a_lower_grant_replace_a_higher_one(who: Collection[str], upward: Iterable[Node]) -> Explanation:
    nodes = list(upward)
    own = [node for node in nodes if explain(who, [node]).privileges]
    return explain(who, own[:1] if own else nodes)


def reads_with_delete(who: Collection[str], upward: Iterable[Node]) -> Explanation:
    found = explain(who, upward)
    more = Privilege.READ if Privilege.DELETE in found.privileges else Privilege.NONE
    return Explanation(found.privileges | more, found.sources, found.cutoff)


def counts_everyone_for_nobody(who: Collection[str], upward: Iterable[Node]) -> Explanation:
    return explain({*who, "group:everyone"}, upward)


@pytest.mark.parametrize(
    ("bug", "law"),
    [
        (forgets_the_cutoff, laws.test_nothing_above_a_restricted_memory_counts),
        (cuts_off_the_restricted_memory_itself, laws.test_what_sits_on_a_restricted_memory_itself_counts),
        (lets_a_maker_through_the_cutoff, laws.test_nothing_above_a_restricted_memory_counts),
        (asks_the_nearest_memory_only, laws.test_an_open_child_is_never_less_reachable_than_its_parent),
        (lets_a_lower_grant_replace_a_higher_one, laws.test_one_more_grant_never_takes_anything_away),
        (reads_with_delete, laws.test_no_privilege_implies_another),
        (counts_everyone_for_nobody, laws.test_nobody_holds_nothing),
    ],
)
def test_a_law_notices_a_rule_that(bug: Rule, law: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "explain", bug)
    monkeypatch.setattr(laws, "effective", lambda who, upward: bug(who, upward).privileges)
    with pytest.raises(AssertionError):
        law()


def nothing(*_: Any) -> None:
    """A step that was forgotten."""


def plant_all_depths(monkeypatch: pytest.MonkeyPatch) -> None:
    readable = scope.readable
    monkeypatch.setattr(scope, "readable", lambda memory, principals, _depth: readable(memory, principals, None))


def plant_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_parity, "caller_for", lambda one: Caller(one, frozenset({one.principal})))


def plant_entries_at_every_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryQuerySet, "entry_points", MemoryQuerySet.directly_held_by)


def plant_no_reopening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReachQuerySet, "reopen", nothing)


def plant_moves_that_keep_the_old_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReachQuerySet, "detach", nothing)
    monkeypatch.setattr(ReachQuerySet, "attach", nothing)


def plant_no_cutoff(monkeypatch: pytest.MonkeyPatch) -> None:
    holders = grants.holders

    def open_or_not(principals: Collection[str], privilege: Privilege = Privilege.NONE) -> Q:
        return Q(*(part for part in holders(principals, privilege).children if part != ("open", True)))

    monkeypatch.setattr(grants, "holders", open_or_not)


def plant_a_privilege_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "including", lambda privilege: [int(privilege)])


def plant_implied_privileges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "including", lambda privilege: list(range(int(privilege), 16)))


BOARD, LEADS, FIRM = 3, 2, 0
OPEN_THE_BOARD = Change(actor=0, memory=BOARD, under=-1, restricted=False)
MOVE_LEADS_UP = Change(actor=0, memory=LEADS, under=FIRM, restricted=None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("plant", "history"),
    [
        (plant_all_depths, []),
        (plant_no_groups, []),
        (plant_entries_at_every_grant, []),
        (plant_no_cutoff, []),
        (plant_a_privilege_alone, []),
        (plant_implied_privileges, []),
        (plant_no_reopening, [OPEN_THE_BOARD]),
        (plant_moves_that_keep_the_old_reach, [MOVE_LEADS_UP]),
    ],
)
def test_parity_notices(
    plant: Callable[[pytest.MonkeyPatch], None], history: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World.begin()
    plant(monkeypatch)
    for step in history:
        step.take(world)
    with pytest.raises(AssertionError):
        test_parity.check(world, world.members[0])
