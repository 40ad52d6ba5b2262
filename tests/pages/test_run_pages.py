"""What people do with consolidation: start a run, read it, undo one change or all, decide, schedule, try again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect

from members.models import Member
from memories.console import run_changes
from memories.consolidation import registry
from memories.models import Conflict, Job, Memory, Run, RunChange, Schedule, Version
from memories.services import background, erasure, jobs, records, runs, schedules
from memories.services.sight import look
from tests import factories
from tests.memories.plain_engine import PlainEngine, checked, done
from tests.pages.browser import Watch
from tests.pages.conftest import Visit
from tests.pages.people import client_of
from tests.pages.test_accessibility import PHONE, TOO_WIDE, grave
from tests.pages.test_record_stories import HOSTILE, revise
from tests.pages.test_stories import address, status

pytestmark = pytest.mark.django_db

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="[^"]*"')


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> PlainEngine:
    """Memories are consolidated by the plain engine."""
    engine = PlainEngine()
    monkeypatch.setattr(schedules, "engine_for", lambda settings: checked(engine))
    return engine


def say(who: Member, memory: Memory, *words: str) -> list[str]:
    """Keep what was said as episodes."""
    return [factories.record(who, memory, one, type="episode").id for one in words]


def consolidate(who: Member, memory: Memory, *words: str) -> Run:
    """A run over what was said, done."""
    say(who, memory, *words)
    return done(runs.start(look(factories.caller(who), memory.id)))


def at(run: Run, page: str = "") -> str:
    """The address of a page of a run."""
    return address(Memory.objects.get(pk=run.memory_id), f"runs/{run.id}{page}")


def html(who: Member, path: str, **headers: str) -> str:
    """What a page says, without a browser."""
    return client_of(who, **headers).get(path).content.decode()


def current(memory: Memory) -> set[str]:
    """What a memory says now, episodes left out."""
    found = Version.objects.current().filter(memory=memory).exclude(type="episode")
    return {version.content[0]["text"] for version in found}


def undo(page: Page) -> None:
    """Confirm in the dialog."""
    page.get_by_role("dialog").get_by_role("button", name="Undo").click()


@pytest.fixture
def reviewed(alice: Member, shared: Memory) -> Run:
    """A run that did one of each to what an earlier run wrote."""
    consolidate(alice, shared, "fact: Rent is due in May.", "fact: Tea is better.")
    return consolidate(
        alice, shared, "now: Rent is due in May. => Rent is due in June.", "again: Tea is better.", "fact: Oak is hard."
    )


def test_a_run_is_started_read_and_taken_back(visit: Visit, alice: Member, shared: Memory) -> None:
    consolidate(alice, shared, "fact: Rent is due in May.")
    say(alice, shared, "now: Rent is due in May. => Rent is due in June.", "fact: Oak is hard.", "fact: Ash bends.")
    page = visit(alice, address(shared, ""))
    page.get_by_role("link", name="Consolidation").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("region", name="Summary")).to_contain_text("It waits for its turn.")
    run = Run.objects.get(state="queued")
    done(run)
    status(page, "The run is over.")
    expect(page.get_by_role("region", name="Summary")).to_contain_text(
        "It read 3 episodes: it wrote 2 records and replaced 1 record."
    )
    assert not grave(page)
    replaced = page.get_by_role("region", name="Replaced by a newer version")
    expect(replaced.get_by_role("deletion")).to_contain_text("May.")
    expect(replaced.get_by_role("insertion")).to_contain_text("June.")
    replaced.get_by_text("1 source").click()
    expect(replaced).to_contain_text("now: Rent is due in May. => Rent is due in June.")
    replaced.get_by_role("link", name="Undo…").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 record will say what it said before")
    undo(page)
    status(page, "1 record was brought back.")
    assert current(shared) == {"Rent is due in May.", "Oak is hard.", "Ash bends."}
    expect(page.get_by_role("region", name="Replaced by a newer version")).to_contain_text("undone")
    page.get_by_role("link", name="Undo the rest…").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 records will be forgotten")
    undo(page)
    status(page, "2 records were forgotten.")
    assert current(shared) == {"Rent is due in May."}
    expect(page.get_by_role("link", name="Undo the rest…")).to_have_count(0)
    page.get_by_role("region", name="Replaced by a newer version").get_by_role("heading").get_by_role("link").click()
    history = page.get_by_role("region", name="History")
    for version in ("Version 1", "Version 2", "Version 3"):
        expect(history.get_by_role("link", name=version, exact=True)).to_be_visible()


def test_what_somebody_changed_since_is_left_alone_and_named(alice: Member, shared: Memory, reviewed: Run) -> None:
    change = RunChange.objects.get(run=reviewed, kind="superseded")
    head = records.get(look(factories.caller(alice), shared.id), change.record_id)
    revise(alice, shared, head, content="Rent is due in July.")
    question = html(alice, at(reviewed, "/undo"))
    assert "1 record will be left alone" in question
    assert "somebody changed it since" in question
    assert "1 record will be forgotten" in question


def test_nothing_is_undone_when_it_is_not_what_was_shown(alice: Member, shared: Memory, reviewed: Run) -> None:
    client = client_of(alice)
    answer = client.post(at(reviewed, "/undo"), {"expected": "other"})
    assert answer.status_code == 422
    assert "Something changed since this was shown" in answer.content.decode()
    assert current(shared) == {"Rent is due in June.", "Tea is better.", "Oak is hard."}


def test_a_run_reads_the_same_whoever_looks_and_is_undone_by_who_may(
    alice: Member, bob: Member, carol: Member, reviewed: Run
) -> None:
    for who, undoes in ((alice, True), (bob, False), (carol, False)):
        page = html(who, at(reviewed))
        assert "It read 3 episodes" in page
        assert ("/undo" in page) is undoes
    assert client_of(bob).post(at(reviewed, "/undo")).status_code == 403
    assert "Start a run" not in html(carol, at(reviewed).rpartition("/")[0])


def test_of_an_erased_record_nothing_is_left_on_the_page(alice: Member, shared: Memory, reviewed: Run) -> None:
    record = Version.objects.current().get(content__0__text="Oak is hard.").record_id
    place = look(factories.caller(alice), shared.id)
    erasure.finish(place, erasure.begin(place, [record]).id)
    page = html(alice, at(reviewed))
    assert "Oak" not in page
    assert "erased since" in page


def test_many_changes_are_paged_by_key_in_a_constant_number_of_queries(
    monkeypatch: pytest.MonkeyPatch, alice: Member, shared: Memory
) -> None:
    few = consolidate(alice, shared, *(f"fact: Board {number} is dry." for number in range(2)))
    many = consolidate(alice, shared, *(f"fact: Plank {number} is wet." for number in range(30)))
    client = client_of(alice)

    def asked(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(path).status_code == 200
        return len(captured)

    assert asked(at(few)) == asked(at(many))
    monkeypatch.setattr(run_changes, "PAGE", 20)
    seen: list[str] = []
    url: str | None = f"{at(many)}?kind=created"
    while url:
        context = client.get(url).context
        [group] = context["groups"]
        seen += [one.name for one in group.changes]
        url = group.next_url
    assert seen == [f"Plank {number} is wet." for number in range(30)]


def test_a_conflict_is_decided_side_by_side(visit: Visit, alice: Member, shared: Memory) -> None:
    own = factories.record(alice, shared, "Rent is 900.", title="Rent")
    consolidate(alice, shared, "against: Rent\nRent is 900. => Rent is 950.")
    if not Conflict.objects.exists():
        pytest.fail("the run left no conflict")
    page = visit(alice, address(shared, "runs"))
    page.get_by_role("link", name="Decide").click()
    page.get_by_role("link", name="Look").click()
    assert not grave(page)
    expect(page.get_by_role("region", name="What was there").get_by_role("deletion").first).to_be_visible()
    page.get_by_label("What it says").fill("Rent is 925.")
    page.get_by_role("button", name="Write the new one").click()
    status(page, "A new record was written in place of both.")
    assert current(shared) == {"Rent is 925."}
    assert records.get(look(factories.caller(alice), shared.id), own.id).status == "forgotten"


@pytest.mark.parametrize(
    ("decision", "left"), [("this", {"900"}), ("that", {"950"}), ("both", {"900", "950"}), ("nothing", {"900", "950"})]
)
def test_each_decision_keeps_what_it_says(alice: Member, shared: Memory, decision: str, left: set[str]) -> None:
    factories.record(alice, shared, "900")
    consolidate(alice, shared, "against: 900 => 950")
    path = address(shared, f"conflicts/{Conflict.objects.get().id}")
    client = client_of(alice)
    expected = client.get(path).context["expected"]
    assert client.post(path, {"decision": decision, "expected": "9-9"}).status_code == 422
    answer = client.post(path, {"decision": decision, "expected": expected})
    assert answer.status_code == (422 if decision == "nothing" else 302)
    assert current(shared) == left
    assert client.get(path).status_code == (200 if decision == "nothing" else 404)


def test_a_reader_sees_a_conflict_and_does_not_decide_it(alice: Member, carol: Member, shared: Memory) -> None:
    factories.record(alice, shared, "900")
    consolidate(alice, shared, "against: 900 => 950")
    path = address(shared, f"conflicts/{Conflict.objects.get().id}")
    assert "Keep this" not in html(carol, path)
    assert client_of(carol).post(path, {"decision": "this"}).status_code == 403


def test_a_run_is_stopped_from_its_page(visit: Visit, alice: Member, shared: Memory) -> None:
    say(alice, shared, "fact: Tea.")
    run = runs.start(look(factories.caller(alice), shared.id))
    page = visit(alice, at(run))
    page.get_by_role("button", name="Stop").click()
    status(page, "It was stopped.")
    expect(page.get_by_role("region", name="Summary")).to_contain_text("stopped")
    assert Run.objects.get().state == "stopped"


def test_a_second_run_and_a_budget_that_is_no_number_are_refused_in_the_form(alice: Member, shared: Memory) -> None:
    client, path = client_of(alice), address(shared, "runs")
    assert client.post(path, {"limit": "0", "unit": "episodes"}).status_code == 422
    assert client.post(path, {"limit": "3", "unit": "episodes"}).status_code == 302
    assert (Run.objects.get().budget_limit, Run.objects.get().budget_unit) == (3, "episodes")
    answer = client.post(path, {"unit": "tokens"})
    assert answer.status_code == 422
    assert "waiting or running already" in answer.content.decode()


def test_a_schedule_is_set_for_a_memory_and_for_all_others(
    visit: Visit, watch: Watch, alice: Member, shared: Memory
) -> None:
    watch.expected.add(422)
    page = visit(alice, address(shared, "schedule"))
    page.get_by_label("At times of your own", exact=True).check()
    page.get_by_label("Times of your own").last.fill("every day")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("A schedule is five fields")).to_be_visible()
    assert not grave(page)
    page.get_by_label("Every night").check()
    page.get_by_role("button", name="Save").click()
    status(page, "A run begins every night")
    assert schedules.rule_for(shared).mode == "nightly"
    page.goto(f"/console/{alice.organisation.slug}/schedule")
    page.get_by_label("Never by itself").check()
    page.get_by_role("button", name="Save").click()
    status(page, "It holds for every memory without a rule of its own.")
    assert schedules.rule_for(shared).mode == "nightly"
    assert schedules.rule_for(factories.memory(alice)).mode == "off"


def test_no_text_is_sent_anywhere_until_somebody_says_so(
    monkeypatch: pytest.MonkeyPatch, settings: object, alice: Member, bob: Member, shared: Memory
) -> None:
    monkeypatch.setattr(schedules, "engine_for", registry.engine_for)
    settings.LLM_URL, settings.LLM_MODEL = "https://models.example/v1", "m"  # type: ignore[attr-defined]
    path = address(shared, "schedule")
    page = html(alice, path)
    assert "Text of this memory is sent to https://models.example." in page
    assert "No text leaves this server." in page
    client = client_of(alice)
    client.post(f"{path}/engine", {"engine": "llm"})
    assert schedules.engine_of(shared).name == "rules"
    assert client_of(bob).post(f"{path}/engine", {"engine": "llm", "allow": "yes"}).status_code == 403
    assert "/schedule/engine" not in html(bob, path)
    client.post(f"{path}/engine", {"engine": "llm", "allow": "yes"})
    assert Schedule.objects.get(memory=shared).engine == {"engine": "llm"}
    assert schedules.engine_of(shared).name != "rules"


def fail() -> None:
    """What an engine does that cannot."""
    raise RuntimeError


def failed(who: Member, memory: Memory, plain: PlainEngine) -> Run:
    """A run that failed for good."""
    plain.between = fail
    say(who, memory, "fact: Tea.")
    run = runs.start(look(factories.caller(who), memory.id))
    for _ in range(jobs.MOST_ATTEMPTS):
        done(run)
    plain.between = lambda: None
    return run


def test_a_job_that_failed_is_tried_again_from_the_list(
    visit: Visit, alice: Member, shared: Memory, plain: PlainEngine
) -> None:
    run = failed(alice, shared, plain)
    page = visit(alice, f"/console/{alice.organisation.slug}/jobs")
    page.get_by_role("link", name="Failed").click()
    row = page.get_by_role("row").filter(has_text="Consolidation")
    expect(row).to_contain_text("It failed (RuntimeError).")
    assert not grave(page)
    row.get_by_role("button", name="Try again").click()
    status(page, "It is tried again.")
    assert done(run).state == "completed"


def test_jobs_are_shown_to_whom_they_concern(
    alice: Member, bob: Member, carol: Member, shared: Memory, plain: PlainEngine
) -> None:
    private = factories.memory(bob, name="Bob's own")
    runs.start(look(factories.caller(bob), private.id))
    failed(alice, shared, plain)
    jobs.enqueue("purge", alice.organisation_id)
    listed: Callable[[Member], str] = lambda who: html(who, f"/console/{alice.organisation.slug}/jobs")  # noqa: E731
    of_owner, of_bob, of_carol = listed(alice), listed(bob), listed(carol)
    assert "Removing a deleted memory" in of_owner
    assert "somewhere in the organisation" in of_owner
    assert "Bob" not in of_owner.partition("<main")[2]
    assert "Bob&#x27;s own" in of_bob
    assert "Try again" in of_bob
    assert "Removing" not in of_bob
    assert "Nothing in the background" in of_carol
    theirs = Job.objects.get(memory_id=private.id)
    for path in (f"jobs/{theirs.id}/cancel", f"jobs/{theirs.id}/retry"):
        assert client_of(alice).post(f"/console/{alice.organisation.slug}/{path}").status_code == 404
    client_of(bob).post(f"/console/{alice.organisation.slug}/jobs/{theirs.id}/cancel")
    assert Job.objects.get(pk=theirs.pk).state == "cancelled"
    assert len(background.listed(factories.caller(alice), 10)) == 2


def test_the_organisations_runs_are_those_of_memories_one_reads(alice: Member, bob: Member, shared: Memory) -> None:
    private = factories.memory(bob, name="Hidden away")
    consolidate(bob, private, "fact: Tea.")
    consolidate(alice, shared, "fact: Oak.")
    path = f"/console/{alice.organisation.slug}/runs"
    assert "Hidden away" not in html(alice, path)
    assert html(alice, path).count("It read 1 episode") == 1
    assert html(bob, path).count("It read 1 episode") == 2


def test_what_runs_write_and_read_is_shown_as_text(alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, HOSTILE)
    run = consolidate(alice, shared, f"fact: {HOSTILE}", f"against: {HOSTILE} => {HOSTILE} 2")
    change = RunChange.objects.filter(run=run).first()
    assert change is not None
    conflict = Conflict.objects.first()
    assert conflict is not None
    for path in (
        at(run),
        at(run, "/undo"),
        at(run, f"/sources?change={change.id}"),
        address(shared, "conflicts"),
        address(shared, f"conflicts/{conflict.id}"),
    ):
        page = html(alice, path)
        assert HOSTILE not in page, path
        assert "&lt;" in page, path


def test_a_fragment_is_a_piece_of_its_page(alice: Member, shared: Memory, reviewed: Run) -> None:
    change = RunChange.objects.filter(run=reviewed, kind="superseded").get()
    organisation = f"/console/{alice.organisation.slug}"
    for path in (
        at(reviewed),
        at(reviewed, f"/sources?change={change.id}"),
        address(shared, "runs"),
        address(shared, "conflicts"),
        f"{organisation}/runs",
        f"{organisation}/jobs",
    ):
        fragment = html(alice, path, hx_request="true")
        assert "<html" not in fragment, path
        # The token of a form is another in every answer.
        assert TOKEN.sub("", fragment).strip() in TOKEN.sub("", html(alice, path)), path


@pytest.mark.parametrize("kind", ["", "?kind=created", "?so_far=1"])
def test_a_run_fits_a_phone(visit: Visit, alice: Member, shared: Memory, reviewed: Run, kind: str) -> None:
    page = visit(alice, at(reviewed) + kind, **PHONE)
    assert not page.evaluate(TOO_WIDE)


def test_the_other_pages_fit_a_phone(visit: Visit, alice: Member, shared: Memory, reviewed: Run) -> None:
    factories.record(alice, shared, "900")
    consolidate(alice, shared, "against: 900 => 950")
    page = visit(alice, address(shared, "runs"), **PHONE)
    organisation = f"/console/{alice.organisation.slug}"
    for path in (
        address(shared, "runs"),
        address(shared, "schedule"),
        address(shared, "conflicts"),
        address(shared, f"conflicts/{Conflict.objects.get().id}"),
        f"{organisation}/runs",
        f"{organisation}/jobs",
        f"{organisation}/schedule",
    ):
        page.goto(path)
        assert not page.evaluate(TOO_WIDE), path
        assert not grave(page), path
