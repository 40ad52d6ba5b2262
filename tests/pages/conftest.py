"""A browser for the package, a fresh context for each test, and a world to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from members.models import Member
from tests.chromium import executable
from tests.pages.browser import PATIENCE_MS, Watch, flags, settle
from tests.pages.people import session

OpenContext = Callable[..., BrowserContext]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for all page tests."""
    path = executable()
    with pytest.MonkeyPatch.context() as environment, sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread, in which Django would take every query for a mistake.
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        started = playwright.chromium.launch(executable_path=path, args=flags())
        yield started
        started.close()


@pytest.fixture
def watch() -> Watch:
    """What went wrong in the browser; a test adds the statuses that it expects."""
    return Watch()


@pytest.fixture
def open_context(browser: Browser, watch: Watch) -> Iterator[OpenContext]:
    """Open contexts that are watched; after the test nothing may have gone wrong in any of them."""
    contexts: list[BrowserContext] = []

    def open_one(**options: object) -> BrowserContext:
        context = browser.new_context(**{"reduced_motion": "reduce", **options})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        watch.over(context)
        contexts.append(context)
        return context

    expect.set_options(timeout=PATIENCE_MS)
    yield open_one
    for context in contexts:
        settle(context.pages)
        context.close()
    assert not watch.troubles, "\n".join(watch.troubles)


@pytest.fixture
def visit(open_context: OpenContext, live_server: LiveServer) -> Visit:
    """Open a page of the server in this process, signed in as a member or, without one, as nobody."""

    def page_of(member: Member | None, path: str = "/", **options: object) -> Page:
        context = open_context(base_url=live_server.url, **options)
        if member is not None:
            name = settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": session(member), "url": live_server.url}])
        page = context.new_page()
        page.goto(path)
        return page

    return page_of


class Visit(Protocol):
    """Open a page, signed in as a member; further options are those of a browser context."""

    def __call__(self, member: Member | None, path: str = "/", **options: object) -> Page: ...
