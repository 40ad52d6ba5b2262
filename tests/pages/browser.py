"""A browser that forgives nothing: what the console writes to the log, asks in vain or may not do fails the test."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Page, Request, Response

# What a Content-Security-Policy refuses is told to the log in different words by different versions; this is one word.
TELL_REFUSALS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error("CSP:", event.effectiveDirective, event.blockedURI));
"""
PATIENCE_MS = 10_000


def flags() -> list[str]:
    """How Chromium starts: talking to nobody but the server, and without its sandbox only for root."""
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    return [*quiet, "--no-sandbox"] if os.geteuid() == 0 else quiet


@dataclass
class Watch:
    """What went wrong in a context. A test adds to `expected` the statuses of refusals that it is about."""

    expected: set[int] = field(default_factory=set)
    troubles: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        """Listen to every page of a context, those that it will open included."""
        context.add_init_script(TELL_REFUSALS)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.troubles.append(f"uncaught: {error.error}"))
        context.on("requestfailed", self._failed)
        context.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        refusal = message.text.startswith("Failed to load resource: the server responded with a status of")
        # The response itself was judged already.
        if message.type in {"error", "warning"} and not refusal:
            self.troubles.append(f"{message.type} in the log: {message.text}")

    def _failed(self, request: Request) -> None:
        # A page that is left while it still asks for something has not failed.
        if request.failure != "net::ERR_ABORTED":
            self.troubles.append(f"{request.method} {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.troubles.append(f"{response.request.method} {response.url}: {response.status}")


def settle(pages: Iterable[Page]) -> None:
    """Wait until the pages ask for nothing more, so that what goes wrong late is heard as well."""
    for page in pages:
        try:
            page.wait_for_load_state("networkidle", timeout=PATIENCE_MS)
        except Error as error:
            raise AssertionError(f"{urlsplit(page.url).path} never comes to rest: {error}") from None
