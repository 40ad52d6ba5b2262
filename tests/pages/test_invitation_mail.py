"""Invitations that go out by mail, and what happens when mail is not set up or does not get through."""

from __future__ import annotations

import re

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from pytest_django.fixtures import Settings

from members.models import Invitation, Member
from tests.pages.people import client_of
from uhp_site import mail

LOCAL = "smtp://127.0.0.1:1?from=memories@example.com"
ASKED = {"name": "Nina\nBcc: everyone@example.com", "email": "nina@example.com", "by_mail": "on"}


def page(alice: Member) -> str:
    """Where people are invited."""
    return f"/console/{alice.organisation.slug}/people/invite"


@pytest.fixture
def mails(settings: Settings) -> None:
    """Mail is set up."""
    settings.MAIL = mail.outgoing(LOCAL)


def test_the_link_in_the_mail_lets_the_invited_in(mails: None, alice: Member, mailoutbox: list[EmailMessage]) -> None:
    alice.organisation.name = "Acme & Sons"
    alice.organisation.save()
    answer = client_of(alice).post(page(alice), {**ASKED, "name": "Nina"})
    assert b"Sent to" in answer.content
    [sent] = mailoutbox
    assert (sent.to, sent.subject) == (["nina@example.com"], "Join Acme & Sons")
    assert "Hello Nina," in str(sent.body)
    assert "Acme & Sons" in str(sent.body)
    link = re.search(r"http://testserver(\S+/join/\S+)", str(sent.body))
    assert link
    assert Client().get(link[1]).status_code == 200


def test_without_mail_the_page_says_so_and_offers_no_sending(alice: Member, mailoutbox: list[EmailMessage]) -> None:
    shown = client_of(alice).get(page(alice)).content.decode()
    assert "HEARTWOOD_EMAIL_URL" in shown
    assert 'name="by_mail"' not in shown
    client_of(alice).post(page(alice), {**ASKED, "name": "Nina"})
    assert Invitation.objects.count() == 1
    assert not mailoutbox


def test_a_mail_that_cannot_be_sent_leaves_the_link_to_pass_on(mails: None, alice: Member, settings: Settings) -> None:
    settings.EMAIL_BACKEND = mail.SMTP
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 1, 2
    answer = client_of(alice).post(page(alice), {**ASKED, "name": "Nina"}).content.decode()
    assert "The mail could not be sent" in answer
    assert "/join/" in answer


def test_a_mail_needs_an_address(mails: None, alice: Member, mailoutbox: list[EmailMessage]) -> None:
    answer = client_of(alice).post(page(alice), {"name": "Nina", "by_mail": "on"})
    assert answer.status_code == 422
    assert not Invitation.objects.exists()
    assert not mailoutbox


def test_a_name_cannot_add_headers(mails: None, alice: Member, mailoutbox: list[EmailMessage]) -> None:
    alice.organisation.name = "Acme\nBcc: everyone@example.com"
    alice.organisation.save()
    client_of(alice).post(page(alice), {**ASKED, "name": "Nina"})
    [sent] = mailoutbox
    assert sent.recipients() == ["nina@example.com"]
    assert "\n" not in sent.subject


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://mail.example.com?from=a@b.example", (25, False, False)),
        ("smtp+tls://u:p%40ss@mail.example.com?from=a@b.example", (587, True, False)),
        ("smtps://mail.example.com:2465?from=a@b.example", (2465, False, True)),
    ],
)
def test_the_setting_says_where_mail_goes(url: str, expected: tuple[int, bool, bool]) -> None:
    found = mail.outgoing(url)
    assert (found.port, found.starttls, found.tls) == expected
    assert found.configured
    assert found.password in {"", "p@ss"}


@pytest.mark.parametrize("url", ["mail.example.com", "http://mail.example.com?from=a@b.example", "smtp://?from=a@b.c"])
def test_a_setting_that_is_no_address_stops_the_start_with_an_example(url: str) -> None:
    with pytest.raises(SystemExit, match="must look like"):
        mail.outgoing(url)
