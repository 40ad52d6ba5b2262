"""Runs that begin by themselves: by a rule of the memory, its organisation or the server, in fair order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from members.models import Event, Member
from memories.content import Draft
from memories.models import Memory, Run, Schedule, Version
from memories.services import observing, schedules, starting, tree
from tests import factories
from tests.conftest import Api
from tests.factories import at
from tests.memories.plain_engine import done
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain")]

MONDAY = datetime(2026, 11, 30, 10, 15, tzinfo=UTC)


def observe(who: Member, memory: Memory, *words: str) -> None:
    drafts = [Draft("episode", content=({"type": "text", "text": one},)) for one in words]
    observing.observe(at(who, memory), drafts)


def let_pass(**time: float) -> None:
    """As if so much time had passed since everything."""
    by = timedelta(**time)
    Version.objects.update(written_at=F("written_at") - by)
    Run.objects.update(through_at=F("through_at") - by)
    Schedule.objects.update(due_at=F("due_at") - by)


def swept() -> list[str]:
    """The memories of which the sweep starts a run now, in order."""
    known = set(Run.objects.values_list("id", flat=True))
    starting.sweep()
    return [one.memory_id for one in Run.objects.exclude(pk__in=known).order_by("created_at")]


@pytest.mark.parametrize(
    ("cron", "following"),
    [
        ("* * * * *", MONDAY + timedelta(minutes=1)),
        ("0 3 * * *", datetime(2026, 12, 1, 3, 0, tzinfo=UTC)),
        ("30 10 * * 1", datetime(2026, 11, 30, 10, 30, tzinfo=UTC)),
        ("0 10 * * 1", datetime(2026, 12, 7, 10, 0, tzinfo=UTC)),
        ("0 0 1 * *", datetime(2026, 12, 1, 0, 0, tzinfo=UTC)),
        ("*/20 8-18 * * mon-fri", MONDAY + timedelta(minutes=5)),
    ],
)
def test_a_cron_expression_names_the_next_instant_in_utc(cron: str, following: datetime) -> None:
    assert schedules.following(cron, MONDAY) == following


@pytest.mark.parametrize("cron", ["", "* * * *", "* * * * * *", "60 * * * *", "x * * * *", "0 0 31 2 *"])
def test_what_is_no_cron_expression_is_refused(cron: str) -> None:
    with pytest.raises(MemoryInvalid):
        schedules.following(cron, MONDAY)


def test_a_quiet_memory_begins_by_itself(alice: Member, shared: Memory) -> None:
    observe(alice, shared, "fact: Tea.")
    assert swept() == []
    let_pass(minutes=5)
    assert swept() == []
    let_pass(minutes=26)
    assert swept() == [shared.id]
    begun = Run.objects.get()
    assert (begun.trigger, begun.actor) == ("idle", "")
    assert (done(begun).created, begun.trigger) == (1, "idle")
    assert Schedule.objects.get().due_at is None
    assert swept() == []


def test_many_new_episodes_do_not_wait_for_quiet(alice: Member, shared: Memory) -> None:
    schedules.set_rule(at(alice, shared), "idle", idle_episodes=3, idle_minutes=60)
    observe(alice, shared, "One.", "Two.")
    let_pass(minutes=2)
    assert swept() == []
    observe(alice, shared, "Three.")
    let_pass(minutes=2)
    assert swept() == [shared.id]


def test_observing_again_writes_no_schedule_again(alice: Member, shared: Memory) -> None:
    observe(alice, shared, "One.")
    row = Schedule.objects.get()
    observe(alice, shared, "Two.")
    factories.record(alice, shared, "Three.", type="episode")
    factories.record(alice, shared, "Not said.")
    assert Schedule.objects.get().due_at == row.due_at


def test_a_memory_that_is_off_never_begins(alice: Member, shared: Memory) -> None:
    schedules.set_rule(at(alice, shared), "off")
    observe(alice, shared, "One.")
    let_pass(days=30)
    assert swept() == []
    schedules.set_rule(at(alice, shared), "inherit")
    let_pass(minutes=2)
    assert swept() == [shared.id]


@pytest.mark.parametrize(("mode", "hours"), [("hourly", 1.01), ("nightly", 24.01)])
def test_a_schedule_begins_when_there_is_something_new(alice: Member, shared: Memory, mode: str, hours: float) -> None:
    schedules.set_rule(at(alice, shared), mode)
    let_pass(minutes=2)
    assert swept() == []
    observe(alice, shared, "fact: Tea.")
    let_pass(hours=hours)
    assert swept() == [shared.id]
    begun = Run.objects.get()
    assert begun.trigger == "schedule"
    done(begun)
    let_pass(hours=hours)
    assert swept() == []
    Version.objects.filter(writer_kind="provider").update(valid_to=timezone.now() - timedelta(days=1))
    let_pass(hours=hours)
    assert swept() == [shared.id]
    assert done(Run.objects.latest("created_at")).forgotten == 1


def test_the_rule_of_the_memory_comes_before_that_of_the_organisation(
    alice: Member, bob: Member, shared: Memory, settings: Any
) -> None:
    assert schedules.rule_for(shared).origin == "server"
    schedules.set_organisation_rule(factories.caller(alice), "cron", cron="0 5 * * *")
    rule = schedules.rule_for(shared)
    assert (rule.mode, rule.cron, rule.origin) == ("cron", "0 5 * * *", "organisation")
    schedules.set_rule(at(bob, shared), "off")
    assert (schedules.rule_for(shared).mode, schedules.rule_for(shared).origin) == ("off", "memory")
    schedules.set_organisation_rule(factories.caller(alice), "inherit")
    schedules.set_rule(at(bob, shared), "inherit")
    settings.CONSOLIDATE = "nightly"
    assert (schedules.rule_for(shared).mode, schedules.rule_for(shared).origin) == ("nightly", "server")
    assert Event.objects.filter(action="consolidation.scheduled").count() == 4


def test_switching_an_organisation_on_finds_what_was_said_before(alice: Member, shared: Memory) -> None:
    schedules.set_organisation_rule(factories.caller(alice), "off")
    observe(alice, shared, "One.")
    assert Schedule.objects.get(memory=shared).due_at is None
    schedules.set_organisation_rule(factories.caller(alice), "idle")
    let_pass(hours=1)
    assert swept() == [shared.id]


def test_who_may_set_what(alice: Member, bob: Member, carol: Member, shared: Memory) -> None:
    schedules.set_rule(at(bob, shared), "hourly")
    with pytest.raises(MemoryForbidden):
        schedules.set_rule(at(carol, shared), "hourly")
    with pytest.raises(MemoryForbidden):
        schedules.set_organisation_rule(factories.caller(bob), "hourly")
    with pytest.raises(MemoryForbidden):
        schedules.choose_engine(at(bob, shared), {})
    assert schedules.choose_engine(at(alice, shared), {}).name == "plain"


@pytest.mark.parametrize(
    ("mode", "more", "param"),
    [
        ("weekly", {}, "mode"),
        ("cron", {"cron": "x"}, "cron"),
        ("cron", {}, "cron"),
        ("idle", {"idle_minutes": 0}, "idle_minutes"),
        ("idle", {"idle_episodes": 10**7}, "idle_episodes"),
    ],
)
def test_a_wrong_rule_is_named(alice: Member, shared: Memory, mode: str, more: dict[str, Any], param: str) -> None:
    with pytest.raises(MemoryInvalid) as refused:
        schedules.set_rule(at(alice, shared), mode, **more)
    assert refused.value.param == param
    assert not Schedule.objects.exists()


def test_the_sweep_takes_organisations_in_turns(
    alice: Member, mallory: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = [factories.memory(alice) for _ in range(5)]
    quiet = factories.memory(mallory)
    for who, memory in (*((alice, one) for one in noisy), (mallory, quiet)):
        observe(who, memory, "One.")
    let_pass(hours=1)
    monkeypatch.setattr(starting, "MOST", 2)
    assert swept() == [noisy[0].id, quiet.id]
    assert swept() == [one.id for one in noisy[1:3]]


def test_two_sweeps_start_one_run(alice: Member, shared: Memory) -> None:
    observe(alice, shared, "One.")
    let_pass(hours=1)
    assert swept() == [shared.id]
    Schedule.objects.update(due_at=timezone.now())
    assert swept() == []
    assert Run.objects.count() == 1


def test_a_deleted_memory_is_looked_at_no_more(alice: Member, shared: Memory) -> None:
    observe(alice, shared, "One.")
    tree.delete(at(alice, shared))
    let_pass(hours=1)
    assert swept() == []
    assert Schedule.objects.get().due_at is None


def test_what_a_person_stopped_does_not_begin_again_by_itself(api: Api, alice: Member, shared: Memory) -> None:
    observe(alice, shared, "One.", "Two.")
    body = {"budget": {"limit": 1, "unit": "episodes"}}
    begun = api.ok("POST", f"/v1/memories/{shared.id}/consolidations", body, alice)
    assert done(Run.objects.get(pk=begun["id"])).state == "stopped"
    let_pass(hours=1)
    assert swept() == []
    observe(alice, shared, "Three.")
    let_pass(hours=1)
    assert swept() == [shared.id]


def test_the_choice_of_an_engine_is_kept_with_the_memory(alice: Member, shared: Memory) -> None:
    schedules.choose_engine(at(alice, shared), {"engine": "plain"})
    assert Schedule.objects.get().engine == {"engine": "plain"}
