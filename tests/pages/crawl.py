"""Every page of the console that links lead to: a few examples of each kind, whoever is asked to fetch them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from html import unescape
from urllib.parse import urljoin, urlsplit

LINK = re.compile(r'\s(?:href|hx-get)="([^"#]+)')
IDENTIFIER = re.compile(r"\b[a-z]{2,6}_[0-9a-f]{32}\b")
SLUG = re.compile(r"^/console/(?!styleguide$)[^/]+")
# Reached by hand: no page links to it.
UNLINKED = ("/console/styleguide",)
ENOUGH = 400
# What a record keeps, to be saved: no page.
BYTES = re.compile(r"/records/[^/]+/content/\d+$")
# They only lead on, whoever is signed in.
LEAVING = ("/accounts/login/", "/accounts/logout/")


def kind(address: str) -> str:
    """The kind of page at an address: its path with ids and the organisation's slug left out, and what is asked."""
    parts = urlsplit(address)
    asked = "&".join(sorted(pair.partition("=")[0] for pair in parts.query.split("&") if pair))
    path = IDENTIFIER.sub("*", SLUG.sub("/console/*", parts.path))
    return f"{path}?{asked}" if asked else path


def crawl(fetch: Callable[[str], str], start: str, examples: int = 1) -> Mapping[str, list[str]]:
    """Follow links from a page on, `examples` addresses of each kind; `fetch` returns the HTML at an address."""
    found: dict[str, list[str]] = {}
    waiting, seen = deque([start, *UNLINKED]), {start, *UNLINKED}
    while waiting:
        address = waiting.popleft()
        of_kind = found.setdefault(kind(address), [])
        if len(of_kind) >= examples:
            continue
        of_kind.append(address)
        for link in LINK.findall(fetch(address)):
            target = urljoin(address, unescape(link))
            if is_page(target) and target not in seen and len(seen) < ENOUGH:
                seen.add(target)
                waiting.append(target)
    return found


def is_page(address: str) -> bool:
    """Whether an address is a page of this server, no file to keep, and looking at it changes nothing."""
    parts = urlsplit(address)
    here = parts.path.startswith(("/console/", "/accounts/")) and parts.path not in LEAVING
    return here and "format=" not in parts.query and not BYTES.search(parts.path)
