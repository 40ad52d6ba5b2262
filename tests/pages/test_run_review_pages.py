"""What people do with a run they look through: accept one change or the rest, undo much, answer one that asks."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from members.models import Member
from memories.models import Job, Memory, ReviewItem, Run, RunChange
from memories.services import accepting, jobs, policies, reverting, run_asking, schedules, undoing_many
from memories.services.sight import look
from memories.tasks import KINDS
from tests import factories
from tests.memories.plain_engine import PlainEngine, checked
from tests.pages.conftest import Visit
from tests.pages.people import client_of
from tests.pages.test_accessibility import PHONE, TOO_WIDE, grave
from tests.pages.test_run_pages import at, consolidate, current, html, undo
from tests.pages.test_stories import address, status

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> PlainEngine:
    """Memories are consolidated by the plain engine."""
    engine = PlainEngine()
    monkeypatch.setattr(schedules, "engine_for", lambda settings: checked(engine))
    return engine


@pytest.fixture
def told(agent: Member, shared: Memory) -> Run:
    """A run over what an agent said."""
    return consolidate(agent, shared, "fact: Oak is hard.", "fact: Ash bends.", "fact: Yew is old.")


def test_a_change_is_accepted_the_rest_undone_and_the_list_says_how_far_it_is(
    visit: Visit, alice: Member, shared: Memory, told: Run
) -> None:
    page = visit(alice, at(told))
    expect(page.get_by_role("region", name="Summary")).to_contain_text("0 of 3 changes looked at.")
    page.get_by_role("button", name="Accept the change of Oak is hard.").click()
    status(page, "1 change was accepted.")
    fresh = page.get_by_role("region", name="New records")
    expect(fresh.get_by_role("listitem").filter(has_text="Oak is hard.").first).to_contain_text("Accepted")
    assert not grave(page)
    page.get_by_role("link", name="All runs of").click()
    expect(page.get_by_role("region", name="Runs")).to_contain_text("1 of 3 looked at")
    page.go_back()
    page.get_by_role("link", name="Undo the rest…").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 records will be forgotten")
    expect(page.get_by_role("dialog")).to_contain_text("1 change that somebody accepted stays.")
    undo(page)
    status(page, "2 records were forgotten.")
    assert current(shared) == {"Oak is hard."}
    expect(page.get_by_role("region", name="Summary")).to_contain_text("3 of 3 changes looked at.")
    expect(page.get_by_role("button", name="Accept the rest")).to_have_count(0)


def test_the_rest_is_accepted_at_once(alice: Member, shared: Memory, told: Run) -> None:
    accepting.accept(look(factories.caller(alice), shared.id), told.id, [RunChange.objects.first().id])  # type: ignore[union-attr]
    assert "Accept the rest" in html(alice, at(told))
    answer = client_of(alice).post(at(told, "/accept"), {"rest": "yes"}, follow=True).content.decode()
    assert "2 changes were accepted." in answer
    assert "3 of 3 changes looked at." in answer


def test_who_may_not_decide_is_offered_nothing_and_refused(bob: Member, told: Run) -> None:
    page = html(bob, at(told))
    assert "Oak is hard." in page
    assert "/accept" not in page
    assert client_of(bob).post(at(told, "/accept"), {"rest": "yes"}).status_code == 403


def test_ones_own_is_left_to_somebody_else(alice: Member, shared: Memory) -> None:
    run = consolidate(alice, shared, "fact: Oak is hard.")
    assert "Accept the change of" not in " ".join(html(alice, at(run)).split())
    answer = client_of(alice).post(at(run, "/accept"), {"rest": "yes"}, follow=True).content.decode()
    assert "1 change written on your behalf waits for somebody else." in answer


def test_much_is_undone_in_the_background_and_the_page_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, visit: Visit, alice: Member, shared: Memory, told: Run
) -> None:
    monkeypatch.setattr(undoing_many, "AT_ONCE", 2)
    monkeypatch.setattr(reverting, "TOGETHER", 2)
    page = visit(alice, at(told))
    page.get_by_role("link", name="Undo all…").click()
    expect(page.get_by_role("dialog")).to_contain_text("3 changes will be undone, some at a time.")
    undo(page)
    summary = page.get_by_role("region", name="Summary")
    expect(summary).to_contain_text("This page looks again by itself.")
    expect(summary.get_by_role("link", name="Undo all…")).to_have_count(0)
    job = Job.objects.get(kind="revert")
    undoing_many.batch(job)
    expect(summary).to_contain_text("2 of 3")
    assert not grave(page)
    jobs.run(job.id, KINDS)
    status(page, "It is undone.")
    assert current(shared) == set()
    assert f'href="{at(told)}"' in html(alice, f"/console/{shared.organisation.slug}/jobs")


def test_a_run_that_asks_is_in_the_inbox_and_is_kept_there(
    visit: Visit, alice: Member, agent: Member, shared: Memory
) -> None:
    run_asking.set_rule(look(factories.caller(alice), shared.id), "always")
    run = consolidate(agent, shared, "fact: Oak is hard.", "fact: Ash bends.")
    page = visit(alice, f"/console/{shared.organisation.slug}/review?kind=run")
    page.get_by_role("link", name="A run: It read 2 episodes: it wrote 2 records.").click()
    decide = page.get_by_role("region", name="Decide")
    expect(decide).to_contain_text("0 of 2 changes looked at.")
    expect(decide.get_by_role("link", name="Undo all…")).to_have_attribute("href", at(run, "/undo"))
    assert not grave(page)
    decide.get_by_role("button", name="Keep all").click()
    status(page, "What the run did was kept.")
    assert accepting.progress([run])[run.id] == accepting.Progress(2, 2)
    assert ReviewItem.objects.get(kind="run").state == "kept"


def test_which_runs_ask_is_set_beside_the_schedule(alice: Member, bob: Member, shared: Memory) -> None:
    client = client_of(alice)
    page = client.get(address(shared, "schedule")).content.decode()
    assert "Which runs ask for a person" in page
    assert "Which runs ask for a person" not in html(bob, address(shared, "schedule"))
    client.post(address(shared, "schedule/asks"), {"mode": "always", "records": "7"})
    assert run_asking.rule_of(shared) == run_asking.Rule("always", 7)
    answer = client.post(address(shared, "schedule/asks"), {"mode": "always", "records": "none"}, follow=True)
    assert "Nothing was changed" in answer.content.decode()


def test_what_waits_is_told_on_the_page_of_the_run(alice: Member, bob: Member, agent: Member, shared: Memory) -> None:
    rules = [{"when": {"writer": ["provider"]}, "then": "hold"}]
    policies.change(look(factories.caller(alice), shared.id), mode="off", rules=rules)
    run = consolidate(agent, shared, "fact: Oak is hard.")
    assert "1 record waits for a person. Undoing the run does not touch them." in html(alice, at(run))
    assert "Oak is hard." not in html(bob, at(run))


def test_a_record_leads_to_the_run_that_wrote_it(alice: Member, shared: Memory, told: Run) -> None:
    change = RunChange.objects.filter(run=told).first()
    assert change is not None
    assert f'href="{at(told)}"' in html(alice, address(shared, f"records/{change.record_id}"))
    own = factories.record(alice, shared, "Own.")
    assert "a consolidation run" not in html(alice, address(shared, f"records/{own.id}"))


def test_it_fits_a_phone(visit: Visit, alice: Member, told: Run) -> None:
    page = visit(alice, at(told), **PHONE)
    assert not page.evaluate(TOO_WIDE)
