"""What pages are dressed with, how it is kept, and what goes out compressed."""

from __future__ import annotations

import gzip
import re

import pytest
from django.test import Client

from members.models import Member
from memories.models import Memory
from tests.pages.people import client_of
from uhp_site.http import assets

pytestmark = pytest.mark.django_db

ZIPPED = {"Accept-Encoding": "gzip, deflate, br"}


def linked(html: str) -> list[str]:
    """The addresses that a page asks for by itself."""
    return re.findall(r'<(?:link|script)[^>]* (?:href|src)="([^"]+)"', html)


def test_a_page_asks_for_one_style_sheet_one_script_and_the_mark(alice: Member) -> None:
    page = client_of(alice).get(f"/console/{alice.organisation.slug}/home").content.decode()
    assert [re.sub(r"\.[0-9a-f]{16}\.", ".*.", one) for one in linked(page)] == [
        "/assets/favicon.*.svg",
        "/assets/console.*.css",
        "/assets/console.*.js",
    ]


@pytest.mark.parametrize("name", list(assets.PARTS))
def test_an_asset_is_kept_for_good_at_its_own_address(name: str) -> None:
    answer = Client().get(assets.url(name))
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer["Content-Type"] == assets.TYPES[name[name.rindex(".") :]]


def test_an_asset_is_compressed_for_those_who_take_it_so() -> None:
    address = assets.url("console.js")
    plain, zipped = Client().get(address), Client().get(address, headers=ZIPPED)
    assert gzip.decompress(zipped.content) == plain.content
    assert len(zipped.content) < len(plain.content) / 2
    assert zipped["Vary"] == plain["Vary"] == "Accept-Encoding"
    assert zipped["ETag"] != plain["ETag"]


def test_an_asset_that_is_known_is_not_sent_again() -> None:
    address = assets.url("console.css")
    known = Client().get(address)["ETag"]
    assert Client().get(address, headers={"If-None-Match": known}).status_code == 304


def test_an_older_page_gets_what_is_there_now_and_not_for_long() -> None:
    answer = Client().get("/assets/console.0123456789abcdef.css")
    assert answer.content == Client().get(assets.url("console.css")).content
    assert answer["Cache-Control"] == "public, max-age=60"


@pytest.mark.parametrize("path", ["/assets/", "/assets/console.css.map", "/assets/other.0.js", "/static/js/console.js"])
def test_nothing_else_is_served(path: str) -> None:
    assert Client().get(path).status_code == 404


def test_whoever_has_a_page_sent_compressed_reads_the_same(alice: Member, shared: Memory) -> None:
    address = f"/console/{alice.organisation.slug}/memories/{shared.id}"
    zipped, plain = (client_of(alice, **sent).get(address) for sent in (ZIPPED, {}))
    assert zipped["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in zipped["Vary"]
    masked = re.compile(rb'csrfmiddlewaretoken" value="[^"]+|X-CSRFToken": "[^"]+')
    assert masked.sub(b"", gzip.decompress(zipped.content)) == masked.sub(b"", plain.content)


def test_the_token_of_a_form_is_another_each_time(alice: Member, shared: Memory) -> None:
    client, address = client_of(alice), f"/console/{alice.organisation.slug}/memories/{shared.id}/settings"
    tokens = {re.findall(r'csrfmiddlewaretoken" value="([^"]+)', client.get(address).content.decode())[0] for _ in "ab"}
    assert len(tokens) == 2


def test_a_key_that_is_shown_once_is_not_compressed(alice: Member) -> None:
    client = client_of(alice, **ZIPPED)
    answer = client.post(f"/console/{alice.organisation.slug}/people/{alice.id}", {"name": "Laptop", "ends": ""})
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/accounts/login/", "/v1/uhp", "/v1/schema"])
def test_neither_accounts_nor_the_protocol_are_compressed(path: str) -> None:
    answer = Client(headers=ZIPPED).get(path)
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer.headers
