"""Notifications in the browser: a webhook that is set up, tried and removed, a digest that is chosen and ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from playwright.sync_api import expect
from pytest_django.fixtures import Settings

from members import delivering, digests, outbox, webhooks
from members.models import Group, Member
from members.notification_models import Delivery, DigestChoice, Webhook
from memories.models import Memory
from tests import factories
from tests.members.receiver import Receiver, receiving
from tests.pages.conftest import Visit
from tests.pages.people import client_of, tree_of
from tests.pages.test_accessibility import grave
from tests.pages.test_stories import status
from uhp_site import mail

pytestmark = pytest.mark.django_db

HOSTILE = """"'><img src=x onerror=alert(1)></script>{{7*7}}"""


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A receiver, and the setting with which it can be asked."""
    settings.WEBHOOKS_INSIDE = True
    with receiving() as found:
        yield found


def at(who: Member, rest: str = "") -> str:
    """The address of a page on notifications."""
    return f"/console/{who.organisation.slug}/notifications{rest}"


def test_an_owner_sets_up_a_webhook_tries_it_and_reads_in_the_log_what_came_of_it(
    visit: Visit, alice: Member, receiver: Receiver
) -> None:
    page = visit(alice, tree_of(alice))
    page.locator("summary").filter(has_text="Account").click()
    page.get_by_role("link", name="Notifications").click()
    page.get_by_role("link", name="Webhooks of the organisation").click()
    expect(page.get_by_text("No webhooks")).to_be_visible()
    page.get_by_label("Name").fill("Chat")
    page.get_by_label("Address").fill(receiver.url)
    page.get_by_label("A review was decided").uncheck()
    page.get_by_role("button", name="Set up").click()
    secret = page.get_by_role("textbox", name="Secret")
    expect(secret).to_be_focused()
    shown = secret.input_value()
    assert shown.startswith("whsec_")
    assert not grave(page)
    page.get_by_role("button", name="Send a test").click()
    status(page, "A test is on its way")
    expect(page.get_by_text(shown)).to_have_count(0)
    expect(page.get_by_role("region", name="Messages").get_by_text("waiting", exact=True)).to_be_visible()
    assert delivering.send_due() == 1
    # The log looks again by itself.
    expect(page.get_by_role("region", name="Messages").get_by_text("delivered", exact=True)).to_be_visible()
    page.get_by_role("link", name="A test").click()
    expect(page.get_by_role("heading", name="A test")).to_be_visible()
    expect(page.get_by_text("thanks")).to_be_visible()
    assert not grave(page)
    page.get_by_role("button", name="Send again").click()
    status(page, "It is sent once more")
    assert delivering.send_due() == 1
    assert len(receiver.got) == 2
    assert "review.decided" not in Webhook.objects.get().kinds
    page.get_by_role("button", name="Pause").click()
    status(page, "It is paused.")
    expect(page.get_by_role("button", name="Send a test")).to_have_count(0)
    page.get_by_role("button", name="Resume").click()
    status(page, "It is resumed.")
    page.get_by_role("link", name="Delete…").click()
    question = page.get_by_role("dialog", name="Delete the webhook “Chat”?")
    assert not grave(page)
    question.get_by_role("button", name="Delete the webhook").click()
    status(page, "The webhook Chat was deleted.")
    assert not Webhook.objects.exists()


def test_a_person_sets_up_a_webhook_of_their_own_and_an_owner_sees_that_there_is_one(
    visit: Visit, alice: Member, carol: Member, shared: Memory, team: Group, receiver: Receiver
) -> None:
    factories.grant(alice, shared, carol, "read", "delete")
    page = visit(carol, at(carol))
    page.get_by_role("link", name="Your webhooks").click()
    expect(page.get_by_text("No webhooks yet")).to_be_visible()
    page.get_by_label("Name").fill("My desk")
    page.get_by_label("Address").fill(receiver.url)
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_role("textbox", name="Secret")).to_be_focused()
    assert not grave(page)
    factories.record(team.members.get(type="agent"), shared, "The ferry leaves at nine.")
    assert delivering.send_due() == 1
    page.goto(page.url)
    page.get_by_role("link", name="Your webhooks").click()
    page.get_by_role("link", name="My desk").click()
    log = page.get_by_role("region", name="Messages")
    log.get_by_role("link", name="Something to review").click()
    expect(page.get_by_text(shared.id)).to_be_visible()
    owners = visit(alice, at(alice, "/webhooks"))
    people = owners.get_by_role("region", name="People's own")
    expect(people.get_by_role("link", name="Carol")).to_be_visible()
    expect(owners.get_by_text("My desk")).to_have_count(0)
    assert not grave(owners)
    webhook = Webhook.objects.get()
    Webhook.objects.update(paused_at=webhook.created_at, paused_because="failing")
    page = visit(carol, f"/console/{carol.organisation.slug}/home")
    page.get_by_role("link", name="of your webhooks paused").click()
    page.get_by_role("link", name="My desk").click()
    page.get_by_role("button", name="Resume").click()
    status(page, "It is resumed.")
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the webhook").click()
    status(page, "The webhook My desk was deleted.")
    expect(page.get_by_text("No webhooks yet")).to_be_visible()


def test_a_person_chooses_when_the_digest_comes(visit: Visit, bob: Member, settings: Settings) -> None:
    settings.MAIL = mail.outgoing("smtp://127.0.0.1:1?from=memories@example.com")
    page = visit(bob, at(bob))
    expect(page.get_by_role("link", name="Webhooks of the organisation")).to_have_count(0)
    page.get_by_label("Once a week").check()
    page.get_by_label("Day", exact=True).select_option("Friday")
    page.get_by_label("Hour").select_option("17:00")
    page.get_by_label("Time zone").select_option("Europe/Vienna")
    assert not grave(page)
    page.get_by_role("button", name="Save").click()
    status(page, "Saved. A digest comes every Friday at 17:00 (Europe/Vienna).")
    assert DigestChoice.objects.get(member=bob).next_at is not None


def test_the_link_of_a_mail_works_for_whoever_is_not_signed_in(visit: Visit, bob: Member) -> None:
    digests.choose(factories.caller(bob), frequency="daily", hour=8, weekday=0, time_zone="UTC", origin="")
    page = visit(None, at(bob, f"/stop/{digests.token_of(bob)}"))
    assert not grave(page)
    page.get_by_role("button", name="Send me no more").click()
    expect(page.get_by_role("heading", name="No more digests", exact=True)).to_be_visible()
    assert DigestChoice.objects.get().frequency == "off"


def test_what_a_receiver_answers_and_a_webhook_is_called_is_shown_as_text(alice: Member, receiver: Receiver) -> None:
    receiver.body, receiver.status = HOSTILE.encode(), 500
    hook = factories.webhook(alice, receiver.url, HOSTILE).webhook
    message = webhooks.try_out(factories.caller(alice), hook.id)
    delivering.send_due()
    client = client_of(alice)
    for page in ("/webhooks", f"/webhooks/{hook.id}", f"/webhooks/{hook.id}/deliveries/{message.id}"):
        html = client.get(at(alice, page)).content.decode()
        assert "<img src=x" not in html
        assert "&lt;img src=x" in html
    assert "500" in client.get(at(alice, f"/webhooks/{hook.id}")).content.decode()


def test_the_pages_say_why_a_webhook_is_paused_or_fails(alice: Member) -> None:
    hook = factories.webhook(alice).webhook
    client = client_of(alice)

    def html() -> str:
        return client.get(at(alice, f"/webhooks/{hook.id}")).content.decode()

    Webhook.objects.update(failing_since=hook.created_at)
    assert "Nothing has arrived since" in html()
    for because, said in (("failing", "failed for days"), ("gone", "it is gone"), ("person", "Nothing is sent")):
        Webhook.objects.update(paused_at=hook.created_at, paused_because=because)
        assert said in html()


def test_the_log_pages_and_filters_and_costs_the_same_however_long_it_is(alice: Member) -> None:
    hook = factories.webhook(alice).webhook
    for number in range(120):
        one = outbox.message(hook, "acme", outbox.TEST, ("jobs",), {"number": number})
        one.state = "failed" if number % 3 else "delivered"
        one.save()
    client, seen = client_of(alice), list[str]()
    address: str | None = at(alice, f"/webhooks/{hook.id}?state=failed")
    while address:
        html = client.get(address).content.decode()
        seen += [part.split('"')[0] for part in html.split("/deliveries/")[1:]]
        following = html.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0] if 'rel="next"' in html else None
        address = following.replace("&amp;", "&") if following else None
    wanted = Delivery.objects.filter(state="failed").order_by("-id").values_list("id", flat=True)
    assert seen == list(wanted)
    assert len(seen) == 80


def test_deleting_something_else_than_was_shown_asks_again(alice: Member) -> None:
    hook = factories.webhook(alice).webhook
    client, page = client_of(alice), at(alice, f"/webhooks/{hook.id}/remove")
    shown = webhooks.fingerprint(hook)
    Webhook.objects.update(name="Renamed")
    assert client.post(page, {"expected": shown}).status_code == 422
    assert Webhook.objects.exists()
    hook.refresh_from_db()
    assert client.post(page, {"expected": webhooks.fingerprint(hook)}).status_code == 302
    assert not Webhook.objects.exists()


def test_without_an_account_the_stop_page_is_all_there_is(bob: Member) -> None:
    for page in ("", "/webhooks", "/webhooks/whk_1"):
        assert Client().get(at(bob, page)).status_code == 302
    assert Client().get(at(bob, "/stop/x")).status_code == 404
