"""A person's own webhooks: told only what their person is shown, seen by nobody else, and silent when they are gone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from members import delivering, services, webhooks
from members.models import Event, Group, Member
from members.notification_models import Delivery, Webhook
from members.services import Refused
from memories.models import Job, Memory, ReviewItem
from memories.services import background, digests, erasure, reviewing, runs, telling
from memories.services.sight import look
from memories.services.tree import CONSOLIDATION
from tests import factories
from tests.members.receiver import Receiver
from tests.pages.people import account, client_of
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound

pytestmark = pytest.mark.django_db

SAID = "zanzibarquetzal"
TOKEN = re.compile(r"\b[A-Za-z0-9]{64}\b")
PRIVILEGES = ("read", "write", "create", "delete")
ACTS: tuple[tuple[str, str], ...] = (
    ("GET", ""),
    ("POST", ""),
    ("POST", "/test"),
    ("POST", "/rotate"),
    ("POST", "/pause"),
    ("GET", "/remove"),
    ("POST", "/remove"),
    ("GET", "/deliveries/{delivery}"),
    ("POST", "/deliveries/{delivery}/again"),
)


def own(of: Member, *kinds: str, url: str = "https://93.184.215.14/in", name: str = "Mine") -> Webhook:
    """A webhook of a person, who can sign in."""
    account(of)
    of.refresh_from_db()
    return factories.webhook(of, url, name, *kinds, own=True).webhook


def told(hook: Webhook, kind: str = "") -> list[dict[str, Any]]:
    """What a webhook is told, oldest first."""
    found = Delivery.objects.filter(webhook=hook).order_by("id")
    return [json.loads(one.body) for one in (found.filter(kind=kind) if kind else found)]


def agent_of(team: Group) -> Member:
    return team.members.get(type="agent")


def failing(hook: Webhook) -> None:
    Webhook.objects.filter(pk=hook.pk).update(paused_at=timezone.now(), paused_because="failing")


@pytest.fixture
def reviewer(alice: Member, shared: Memory, carol: Member) -> Member:
    """Carol, who reviews in the shared memory, and owns nothing."""
    factories.grant(alice, shared, carol, "read", "delete")
    return carol


def test_a_reviewer_is_told_of_what_waits_in_their_inbox(reviewer: Member, shared: Memory, team: Group) -> None:
    hook = own(reviewer)
    factories.record(agent_of(team), shared, SAID, title=SAID)
    [opened] = told(hook, "review.opened")
    [waits] = reviewing.inbox(factories.caller(reviewer)).items
    assert opened["data"]["item_id"] == waits.id
    assert opened["data"]["memory_id"] == shared.id
    assert opened["data"]["url"].endswith(f"/console/acme/review/{waits.id}")
    assert SAID not in json.dumps(opened)


def test_a_person_is_told_exactly_what_they_may_decide_whatever_they_hold(
    alice: Member, shared: Memory, carol: Member, team: Group
) -> None:
    hook, seen = own(carol, "review.opened"), set[bool]()
    for number, privileges in enumerate(some for size in range(1, 5) for some in combinations(PRIVILEGES, size)):
        factories.grant(alice, shared, carol, *privileges)
        factories.record(agent_of(team), shared, f"{SAID} {number}")
        item = ReviewItem.objects.order_by("-created_at", "-id")[0]
        may = reviewing.open_for(factories.caller(carol)).filter(pk=item.pk).exists()
        assert (item.id in {one["data"]["item_id"] for one in told(hook)}) == may, privileges
        seen.add(may)
    assert seen == {True, False}


def test_what_is_held_in_part_by_one_grant_and_in_part_by_another_tells_as_the_inbox_does(
    alice: Member, shared: Memory, carol: Member, team: Group
) -> None:
    hook = own(carol, "review.opened")
    factories.grant(alice, shared, factories.group(alice.organisation, carol), "delete")
    factories.record(agent_of(team), shared, SAID)
    assert len(told(hook)) == reviewing.inbox(factories.caller(carol)).total


def test_nothing_of_a_memory_that_is_closed_to_a_person_is_told(
    alice: Member, reviewer: Member, shared: Memory, agent: Member
) -> None:
    hook = own(reviewer)
    open_one, closed = factories.memory(alice, shared), factories.memory(alice, shared, restricted=True)
    for memory in (open_one, closed):
        factories.grant(alice, memory, agent, "read", "write")
        factories.record(agent, memory, f"{SAID} {memory.id}")
    assert [one["data"]["memory_id"] for one in told(hook)] == [open_one.id]
    assert closed.id not in json.dumps(told(hook))


def test_an_owner_is_told_no_more_by_a_webhook_of_their_own_than_anyone(
    alice: Member, bob: Member, agent: Member
) -> None:
    hook, organisations = own(alice), factories.webhook(alice).webhook
    theirs = factories.memory(bob)
    factories.grant(bob, theirs, agent, "read", "write")
    factories.record(agent, theirs, SAID)
    assert not told(hook)
    assert len(told(organisations)) == 1


def test_nobody_is_told_of_what_they_wrote_or_had_written(reviewer: Member, alice: Member, shared: Memory) -> None:
    hook, other = own(reviewer), own(alice)
    for field in ("writer", "on_behalf_of"):
        item = ReviewItem(
            organisation=shared.organisation, memory=shared, kind=ReviewItem.Kind.NEW, **{field: reviewer.principal}
        )
        with transaction.atomic():
            telling.opened(item)
    assert not told(hook)
    assert len(told(other)) == 2


def test_a_run_that_ends_is_told_to_those_who_review_there(
    alice: Member, reviewer: Member, bob: Member, shared: Memory
) -> None:
    hook, others = own(reviewer), own(bob)
    place = look(factories.caller(alice), shared.id)
    runs.stop(place, runs.start(place).id)
    [finished] = told(hook)
    assert (finished["type"], finished["data"]["memory_id"]) == ("consolidation.finished", shared.id)
    assert not told(others)


@pytest.mark.parametrize("kind", [CONSOLIDATION, erasure.KIND, "purge"])
@pytest.mark.parametrize("asker", ["alice", "bob", "carol", "stranger"])
def test_work_that_failed_is_told_to_whom_the_list_of_jobs_shows_it(
    kind: str, asker: str, alice: Member, bob: Member, carol: Member, stranger: Member, shared: Memory
) -> None:
    cast = {"alice": alice, "bob": bob, "carol": carol, "stranger": stranger}
    hooks = {name: own(who) for name, who in cast.items()}
    job = Job.objects.create(
        organisation=alice.organisation,
        kind=kind,
        memory_id=shared.id,
        actor=cast[asker].principal,
        state=Job.State.FAILED,
    )
    with transaction.atomic():
        telling.failed(job)
    shown = {name for name, who in cast.items() if background.listed(factories.caller(who), 5)}
    assert {name for name, hook in hooks.items() if told(hook, "job.failed")} == shown
    assert asker in shown


@pytest.mark.parametrize("how", ["deactivated", "retired", "account", "removed"])
def test_nothing_more_goes_out_when_the_person_is_gone(
    how: str, reviewer: Member, alice: Member, shared: Memory, team: Group, receiver: Receiver
) -> None:
    hook = own(reviewer, url=receiver.url)
    webhooks.try_out(factories.caller(reviewer), hook.id)
    if how == "deactivated":
        services.deactivate(reviewer)
    elif how == "retired":
        services.retire(reviewer)
    elif how == "account":
        account(reviewer).delete()
    else:
        reviewer.delete()
    factories.record(agent_of(team), shared, SAID)
    assert delivering.send_due() == 0
    assert not receiver.got
    assert Delivery.objects.count() == (0 if how == "removed" else 1)


def test_what_waits_for_somebody_who_is_gone_does_not_keep_the_sender_asleep(
    reviewer: Member, alice: Member, shared: Memory, team: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = own(reviewer)
    webhooks.try_out(factories.caller(reviewer), hook.id)
    services.deactivate(reviewer)
    factories.webhook(alice)
    with CaptureOnCommit() as callbacks:
        factories.record(agent_of(team), shared, SAID)
    assert "wake" in callbacks


def test_a_person_has_five_at_most_and_the_organisation_its_own_number(alice: Member, bob: Member) -> None:
    for _ in range(webhooks.MOST_OWN):
        own(alice)
    with pytest.raises(Refused, match="at most 5"):
        own(alice)
    own(bob)
    assert factories.webhook(alice).webhook.member_id is None
    assert len(webhooks.own(factories.caller(alice))) == 5
    assert len(webhooks.listed(factories.caller(alice))) == 1


def test_an_agent_has_none(agent: Member) -> None:
    with pytest.raises(MemoryForbidden):
        own(agent)


def test_its_person_and_nobody_else_sees_or_touches_it(
    alice: Member, bob: Member, carol: Member, mallory: Member
) -> None:
    hook = own(bob)
    message = webhooks.try_out(factories.caller(bob), hook.id)
    before = list(Webhook.objects.values())
    for other in (alice, carol, mallory):
        client, root = client_of(other), f"/console/{other.organisation.slug}/notifications/webhooks"
        for method, act in ACTS:
            answers = [
                client.generic(method, f"{root}/{one}{act.format(delivery=message.id)}")
                for one in (hook.id, "whk_unknown")
            ]
            assert {one.status_code for one in answers} == {404}, (act, other.name)
            assert len({strip(one.content.decode(), hook.id, "whk_unknown") for one in answers}) == 1, act
        with pytest.raises(MemoryNotFound):
            webhooks.find(factories.caller(other), hook.id)
    assert list(Webhook.objects.values()) == before
    client, root = client_of(bob), f"/console/acme/notifications/webhooks/{hook.id}"
    for method, act in ACTS:
        answer = client.generic(method, root + act.format(delivery=message.id))
        assert answer.status_code in (200, 302, 422), act


def test_what_somebody_else_calls_theirs_and_where_it_leads_is_nowhere_an_owner_looks(
    alice: Member, bob: Member
) -> None:
    hook = own(bob, url="https://93.184.215.14/hidden-path", name="Bob's secret robot")
    for verb in (webhooks.rotate, webhooks.pause, webhooks.resume):
        verb(factories.caller(bob), hook.id)
    client = client_of(alice)
    html = client.get("/console/acme/notifications/webhooks").content.decode()
    main = html.partition("<main")[2]
    assert f"/people/{bob.id}" in main
    html += client.get("/console/acme/audit").content.decode()
    for never in ("hidden-path", "secret robot"):
        assert never not in html
        assert never not in repr(list(Event.objects.values()))
    assert Event.objects.filter(action="webhook.paused", subject=bob.principal).exists()


def test_telling_many_people_takes_as_many_queries_as_telling_one(
    alice: Member, shared: Memory, reviewer: Member
) -> None:
    item = ReviewItem(organisation=shared.organisation, memory=shared, kind=ReviewItem.Kind.NEW)

    def count() -> int:
        with CaptureQueriesContext(connection) as queries, transaction.atomic():
            telling.opened(item)
        return len(queries)

    own(reviewer)
    one = count()
    for _ in range(6):
        person = factories.member(alice.organisation)
        factories.grant(alice, shared, person, "read", "delete")
        own(person)
        own(factories.member(alice.organisation))
    Delivery.objects.all().delete()
    assert count() == one
    assert Delivery.objects.count() == 7


def test_paused_after_failures_is_said_at_home_and_in_the_digest_to_whom_it_concerns(
    alice: Member, bob: Member, carol: Member
) -> None:
    ours, bobs, by_hand = factories.webhook(alice).webhook, own(bob), own(bob)
    webhooks.pause(factories.caller(bob), by_hand.id)
    failing(ours)
    failing(bobs)

    def said(who: Member) -> str:
        return client_of(who).get("/console/acme/home").content.decode()

    def digest(who: Member) -> tuple[int, int]:
        found = digests.compiled(factories.caller(who), "", timezone.now())
        return found.paused, found.own_paused

    assert "of the organisation&#x27;s webhooks paused" in said(alice)
    assert "of your webhooks paused" not in said(alice)
    assert "of your webhooks paused" in said(bob)
    assert 'href="/console/acme/notifications/own"' in said(bob).partition("<main")[2]
    assert "webhooks paused" not in said(carol)
    assert (digest(alice), digest(bob), digest(carol)) == ((1, 0), (0, 1), (0, 0))


def test_home_asks_as_often_for_many_paused_webhooks_as_for_one(alice: Member) -> None:
    def count() -> int:
        client = client_of(alice)
        client.get("/console/acme/home")
        with CaptureQueriesContext(connection) as queries:
            client.get("/console/acme/home")
        return len(queries)

    failing(own(alice))
    failing(factories.webhook(alice).webhook)
    few = count()
    for _ in range(4):
        failing(own(alice))
        failing(factories.webhook(alice).webhook)
    assert count() == few
    assert webhooks.given_up(factories.caller(alice)) == (5, 5)


def strip(html: str, *ids: str) -> str:
    """A page without what differs between two requests: the address asked, and the token of its forms."""
    for one in ids:
        html = html.replace(one, "ID")
    return TOKEN.sub("", html)


class CaptureOnCommit:
    """The names of what would run once the transaction commits."""

    def __enter__(self) -> list[str]:
        self.names: list[str] = []
        self.before = len(connection.run_on_commit)
        return self.names

    def __exit__(self, *_: object) -> None:
        made: list[Callable[[], object]] = [one[1] for one in connection.run_on_commit[self.before :]]
        self.names += [getattr(one, "__name__", "") for one in made]
