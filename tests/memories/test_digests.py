"""The digest by mail: what each person is told, when, at most once, and how it ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from smtplib import SMTPDataError
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from members import digests as choices
from members import services as members
from members.models import Event, Group, Member
from members.notification_models import DigestChoice, Webhook
from memories.models import Job, Memory
from memories.services import digests, jobs, policies
from memories.services.sight import look
from memories.tasks import sweep_digests
from tests import factories
from tests.pages.people import account, client_of
from tests.parallel import at_once
from uhp_site import mail

pytestmark = pytest.mark.django_db

SAID = "zanzibarquetzal"
ORIGIN = "https://memories.example.com"
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def mails(settings: Settings) -> None:
    """Mail is set up."""
    settings.MAIL = mail.outgoing("smtp://127.0.0.1:1?from=memories@example.com")


@pytest.fixture
def reviewed(shared: Memory, team: Group, alice: Member) -> Memory:
    """A memory in which two things wait for alice, and nobody else may decide them."""
    for number in range(2):
        factories.record(team.members.get(type="agent"), shared, f"{SAID} {number}", title=SAID)
    return shared


def choose(who: Member, **changes: Any) -> DigestChoice:
    """A daily digest that is due now."""
    account(who)
    wanted = {"frequency": "daily", "hour": 8, "weekday": 0, "time_zone": "UTC", "origin": ORIGIN}
    chosen = choices.choose(factories.caller(who), **{**wanted, **changes})
    DigestChoice.objects.filter(pk=chosen.pk).update(next_at=timezone.now() - timedelta(minutes=1))
    chosen.refresh_from_db()
    return chosen


def due_again() -> None:
    DigestChoice.objects.update(next_at=timezone.now() - timedelta(minutes=1))


def told(who: Member) -> digests.Digest:
    return digests.compiled(factories.caller(who), ORIGIN, LONG_AGO)


def test_the_mail_says_how_much_waits_and_where_and_nothing_that_a_record_says(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    choose(alice)
    sweep_digests()
    [sent] = mailoutbox
    assert sent.to == [account(alice).email]
    assert sent.subject == "Acme: 2 to review"
    body = str(sent.body)
    assert "2 items to review" in body
    assert "- Shared: 2" in body
    assert f"{ORIGIN}/console/acme/review?memory={reviewed.id}" in body
    assert f"{ORIGIN}/console/acme/notifications" in body
    assert SAID not in f"{sent.subject} {body}"
    assert not re.search(r"<[a-z]", body)
    assert sent.content_subtype == "plain"


def test_each_is_told_what_they_may_decide_and_no_more(
    alice: Member, bob: Member, carol: Member, stranger: Member, agent: Member, reviewed: Memory
) -> None:
    assert told(alice).reviews == 2
    # bob reads and writes, carol reads, the stranger nothing; the agent is no person.
    for who in (bob, carol, stranger, agent):
        assert told(who).empty
    factories.grant(alice, reviewed, stranger, "delete")
    assert told(stranger).empty
    factories.grant(alice, reviewed, carol, "delete")
    assert told(carol).empty
    factories.grant(alice, reviewed, carol, "read", "delete")
    assert told(carol).reviews == 2


def test_nobody_is_told_of_what_they_wrote_themselves(alice: Member, shared: Memory) -> None:
    policies.change(look(factories.caller(alice), shared.id), mode="hold")
    factories.record(alice, shared, SAID)
    assert told(alice).empty


def test_it_is_asked_for_when_it_is_sent(
    mails: None, alice: Member, bob: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    carol = factories.member(alice.organisation, "Cleo")
    grant = factories.grant(alice, reviewed, carol, "read", "delete")
    choose(carol)
    grant.delete()
    sweep_digests()
    assert not mailoutbox
    assert DigestChoice.objects.get().outcome == "empty"


def test_a_digest_without_anything_to_tell_is_not_sent(
    mails: None, alice: Member, mailoutbox: list[EmailMessage]
) -> None:
    choose(alice)
    sweep_digests()
    assert not mailoutbox
    row = DigestChoice.objects.get()
    assert row.outcome == "empty"
    assert row.next_at is not None
    assert row.next_at > timezone.now()


def test_what_of_theirs_failed_since_the_last_one_is_told_once(alice: Member, bob: Member, shared: Memory) -> None:
    def fails(job: Job) -> None:
        raise RuntimeError

    job = jobs.enqueue("erase", alice.organisation_id, memory_id=shared.id, actor=bob.principal)
    for _ in range(jobs.MOST_ATTEMPTS):
        jobs.run(job.id, {"erase": fails})
    assert (told(alice).failed, told(bob).failed) == (1, 1)
    assert told(factories.member(alice.organisation)).failed == 0
    assert digests.compiled(factories.caller(alice), ORIGIN, timezone.now()).empty


def test_owners_are_told_of_memories_without_anybody_and_of_paused_webhooks(alice: Member, bob: Member) -> None:
    factories.memory(bob, name=SAID)
    hook = factories.webhook(alice).webhook
    assert told(alice).empty
    members.deactivate(bob)
    Webhook.objects.filter(pk=hook.pk).update(paused_at=timezone.now(), paused_because="failing")
    assert (told(alice).orphans, told(alice).paused) == (1, 1)
    other = factories.member(alice.organisation)
    assert told(other).empty


def test_a_name_that_somebody_else_chose_is_a_part_of_one_line_and_no_link(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    reviewed.name = "Pay\r\n\r\nBcc: x@evil.example\u202e now https://evil.example/ {{ 7|add:1 }} www.evil.example"
    reviewed.save()
    choose(alice)
    sweep_digests()
    [sent] = mailoutbox
    [line] = [one for one in str(sent.body).splitlines() if "Pay" in one]
    assert line.startswith("- Pay Bcc")
    assert line.endswith(": 2")
    for never in ("evil.example", "://evil", "x@evil", "\u202e"):
        assert never not in str(sent.body)
    assert "{{ 7|add:1 }}" in line
    assert len(sent.recipients()) == 1


@given(st.text(max_size=300))
def test_a_plain_name_is_short_and_in_one_line(name: str) -> None:
    said = digests.plain(name)
    assert len(said) <= digests.LONGEST_NAME
    assert len(said.splitlines()) <= 1
    assert "://" not in said.replace(":// ", "")


def test_a_slot_is_sent_once_however_often_it_is_looked_at(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    stale = choose(alice)
    assert digests._send(stale)
    assert not digests._send(stale)
    sweep_digests()
    assert len(mailoutbox) == 1
    assert DigestChoice.objects.get().outcome == "sent"
    due_again()
    sweep_digests()
    assert len(mailoutbox) == 2


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_one_mail(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    choose(alice)
    assert sum(at_once([digests.sweep] * 3)) == 1
    assert len(mailoutbox) == 1


def test_whoever_dies_before_it_is_sent_has_lost_it_and_the_row_says_so(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    assert choices.take(choose(alice))
    sweep_digests()
    assert not mailoutbox
    assert DigestChoice.objects.get().outcome == "sending"
    assert "stopped before it was sent" in client_of(alice).get("/console/acme/notifications").content.decode()


class Refusing(BaseEmailBackend):
    """A mail server that lets us in and takes nothing."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Refuse."""
        raise SMTPDataError(550, b"no")


def test_a_mail_that_is_not_taken_is_said_and_not_sent_again(
    mails: None, alice: Member, reviewed: Memory, settings: Settings
) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"
    choose(alice)
    assert digests.sweep() == 0
    row = DigestChoice.objects.get()
    assert row.outcome == "failed"
    assert row.next_at is not None
    assert row.next_at > timezone.now()


def test_while_the_mail_server_is_away_digests_wait_for_it(
    mails: None, alice: Member, reviewed: Memory, settings: Settings, mailoutbox: list[EmailMessage]
) -> None:
    backend, due = settings.EMAIL_BACKEND, choose(alice).next_at
    settings.EMAIL_BACKEND = mail.SMTP
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 1, 2
    assert digests.sweep() == 0
    assert DigestChoice.objects.get().next_at == due
    settings.EMAIL_BACKEND = backend
    assert digests.sweep() == 1
    assert len(mailoutbox) == 1


def test_a_failure_of_one_does_not_keep_others_from_theirs(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    broken = factories.member(alice.organisation, "Broken")
    choose(broken)
    choose(alice)
    DigestChoice.objects.filter(member=broken).update(time_zone="Nowhere/At-All", origin="")
    sweep_digests()
    assert len(mailoutbox) == 1


def test_while_mail_is_not_set_up_nothing_is_taken_and_the_page_says_what_turns_it_on(
    alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    due = choose(alice).next_at
    sweep_digests()
    assert not mailoutbox
    assert DigestChoice.objects.get().next_at == due
    assert "HEARTWOOD_EMAIL_URL" in client_of(alice).get("/console/acme/notifications").content.decode()


@pytest.mark.parametrize("how", ["member", "account", "off"])
def test_whoever_may_not_sign_in_or_wants_none_gets_none(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage], how: str
) -> None:
    choose(alice, frequency="off" if how == "off" else "daily")
    if how == "member":
        members.deactivate(alice)
    if how == "account":
        user = account(alice)
        user.is_active = False
        user.save()
    if how == "off":
        DigestChoice.objects.update(next_at=None)
    sweep_digests()
    assert not mailoutbox


def test_a_digest_costs_the_same_queries_however_much_waits(alice: Member, reviewed: Memory, team: Group) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            told(alice)
        return len(queries)

    told(alice)
    before = cost()
    for number in range(digests.MEMORIES + 3):
        memory = factories.memory(alice, name=f"More {number}")
        factories.grant(alice, memory, team, "read", "write")
        factories.record(team.members.get(type="agent"), memory, "More.")
    assert told(alice).reviews == 2 + digests.MEMORIES + 3
    assert cost() == before


def test_the_link_in_the_mail_ends_it_without_signing_in_but_not_by_a_look(
    mails: None, alice: Member, reviewed: Memory, mailoutbox: list[EmailMessage]
) -> None:
    choose(alice)
    sweep_digests()
    [sent] = mailoutbox
    link = re.search(rf"{ORIGIN}(\S+/stop/\S+)", str(sent.body))
    assert link
    assert sent.extra_headers["List-Unsubscribe"] == f"<{ORIGIN}{link[1]}>"
    assert sent.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    client = Client(enforce_csrf_checks=True)
    looked = client.get(link[1])
    assert looked.status_code == 200
    assert DigestChoice.objects.get().frequency == "daily"
    done = client.post(link[1], "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded")
    assert done.status_code == 200
    row = DigestChoice.objects.get()
    assert (row.frequency, row.next_at) == ("off", None)
    assert Event.objects.filter(action="digest.stopped", subject=alice.principal).count() == 1
    client.post(link[1])
    assert Event.objects.filter(action="digest.stopped").count() == 1
    due_again()


def test_a_link_ends_the_digests_of_its_person_and_no_other(alice: Member, bob: Member, mallory: Member) -> None:
    for who in (alice, bob, mallory):
        choose(who)
    token = choices.token_of(bob)
    signature = token.rpartition(":")[2]
    forged = [f"{alice.id}:{signature}", alice.id, f"{alice.id}:", f"{token}x", token.upper(), f":{signature}"]
    forged += [choices.token_of(mallory)]
    for one in forged:
        assert Client().post(f"/console/acme/notifications/stop/{one}").status_code == 404
    assert not DigestChoice.objects.filter(frequency="off").exists()
    assert Client().post(f"/console/acme/notifications/stop/{token}").status_code == 200
    assert [row.member_id for row in DigestChoice.objects.filter(frequency="off")] == [bob.id]


def test_what_is_chosen_on_the_page_holds_for_the_person_alone(alice: Member, bob: Member) -> None:
    client = client_of(bob)
    sent = {"frequency": "weekly", "weekday": "4", "hour": "17", "time_zone": "Europe/Vienna"}
    assert client.post("/console/acme/notifications", sent).status_code == 302
    [row] = DigestChoice.objects.all()
    assert (row.member_id, row.frequency, row.weekday, row.hour) == (bob.id, "weekly", 4, 17)
    assert row.origin == "http://testserver"
    assert row.next_at is not None
    local = row.next_at.astimezone(ZoneInfo("Europe/Vienna"))
    assert (local.weekday(), local.hour, local.minute) == (4, 17, 0)
    assert "every Friday at 17:00 (Europe/Vienna)" in client.get("/console/acme/notifications").content.decode()


@pytest.mark.parametrize(
    "wrong", [{"hour": "24"}, {"weekday": "7"}, {"time_zone": "Mars/Base"}, {"frequency": "hourly"}, {"hour": ""}]
)
def test_what_cannot_be_chosen_is_refused(alice: Member, wrong: dict[str, str]) -> None:
    sent = {"frequency": "weekly", "weekday": "4", "hour": "17", "time_zone": "UTC", **wrong}
    assert client_of(alice).post("/console/acme/notifications", sent).status_code == 422
    assert not DigestChoice.objects.exists()


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]),
    st.sampled_from(["daily", "weekly"]),
    st.integers(0, 23),
    st.integers(0, 6),
)
def test_the_next_slot_is_the_first_after_now_at_the_hour_and_day(
    now: datetime, zone: str, frequency: str, hour: int, weekday: int
) -> None:
    row = DigestChoice(frequency=frequency, hour=hour, weekday=weekday, time_zone=zone)
    slot = choices.following(row, now)
    assert slot is not None
    assert now < slot <= now + timedelta(days=1 if frequency == "daily" else 7, hours=1)
    local = slot.astimezone(ZoneInfo(zone))
    # A clock that skips the hour is the only reason for another.
    skipped = (slot - timedelta(hours=2)).astimezone(ZoneInfo(zone)).utcoffset() != local.utcoffset()
    assert local.hour == hour or skipped
    if frequency == "weekly":
        assert local.weekday() == weekday


def test_one_that_is_off_has_no_slot() -> None:
    assert choices.following(DigestChoice(frequency="off"), timezone.now()) is None
