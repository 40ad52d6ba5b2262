"""People who are signed in, what they reach by following links, and programs that hold a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from django.conf import settings
from django.test import Client

from members.models import Member, User
from tests.pages.crawl import crawl

PASSWORD = "kept in the drawer, 1"


def session(member: Member) -> str:
    """The key of a new session of a member's account."""
    client = Client()
    client.force_login(account(member), backend="django.contrib.auth.backends.ModelBackend")
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def account(member: Member) -> User:
    """The account of a member, made for whoever has none, with the password that page tests type."""
    user = member.user or User.objects.create_user(f"{member.id}@example.com")
    if member.user is None:
        member.user = user
        member.save(update_fields=["user"])
    if not user.check_password(PASSWORD):
        user.set_password(PASSWORD)
        user.save(update_fields=["password"])
    return user


def client_of(member: Member, **headers: str) -> Client:
    """A client without a browser, signed in as a member; `headers` go with each of its requests."""
    client = Client(headers=headers)
    client.cookies[settings.SESSION_COOKIE_NAME] = session(member)
    return client


def tree_of(member: Member) -> str:
    """The address of the tree of a member's organisation."""
    return f"/console/{member.organisation.slug}/memories"


def pages_of(member: Member, examples: int = 1) -> Mapping[str, list[str]]:
    """The addresses that a member reaches by following links from the tree, by kind."""
    client = client_of(member)
    return crawl(lambda address: client.get(address).content.decode(), tree_of(member), examples)


def html_of(member: Member, examples: int = 1) -> dict[str, str]:
    """The pages that a member reaches by following links from the tree, by address."""
    client, html = client_of(member), dict[str, str]()

    def fetch(address: str) -> str:
        html[address] = client.get(address).content.decode()
        return html[address]

    crawl(fetch, tree_of(member), examples)
    return html


class Program:
    """A program with a key, asking a server over the protocol."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._headers = url, {"Authorization": f"Bearer {key}"}

    def ask(self, method: str, path: str, **body: object) -> httpx.Response:
        """Send one request, on a connection of its own."""
        sent = body if method == "POST" else None
        return httpx.request(method, self._url + path, headers=self._headers, json=sent, timeout=30)

    def post(self, path: str, **body: object) -> dict[str, Any]:
        """The answer to a request that must succeed."""
        answer = self.ask("POST", path, **body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def create(self, name: str, parent_id: str | None = None) -> str:
        """The id of a new memory."""
        return str(self.post("/v1/memories", name=name, parent_id=parent_id)["id"])

    def finds(self, memory_id: str, question: str) -> list[str]:
        """The titles of what recall finds at a memory and below it."""
        answer = self.post(f"/v1/memories/{memory_id}/recall", query=question)
        return [result["record"]["title"] for result in answer["results"]]

    def sees(self, memory_id: str) -> int:
        """The status of a look at a memory; whoever does not see it gets 404."""
        return self.ask("GET", f"/v1/memories/{memory_id}").status_code

    def lists(self) -> int:
        """The status of a listing, which every valid key may ask for."""
        return self.ask("GET", "/v1/memories").status_code
