"""Measures the console as a person meets it: every page and fragment that grows, on an organisation that is large.

    python -m benchmarks.bench_console --scale small

It runs the product's web server on an embedded Postgres of its own, which is thrown away, fills two organisations,
a small one and a large one, and asks for the same pages in both: the time of a page and the bytes it takes are those of
the large one, and a page that sends more queries there than in the small one is named. Then a Chromium opens the pages
that a person opens most. Exit code 0: measured, whatever came out; 1: a page was no page; 2: the database, the web
server or the browser cannot be run.
"""

from __future__ import annotations

import http.client
import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks import metrics, report, stage
from benchmarks.stage import Unusable, Wrong

if TYPE_CHECKING:
    from benchmarks.console_load import World

# What a page may cost: milliseconds until its last byte at p95, bytes of a first visit, scripts, and seconds to open.
SERVER_MS = 150
FIRST_VISIT_BYTES = 100_000
SCRIPTS = 1
OPEN_MS = 1_000
WARM_UP = 3
MANY = 25
NOTES = (
    "Server time is a complete request over HTTP on this machine, one client, its connection kept, compressed. Queries",
    "are those of the large organisation, in brackets those of one with a hundredth of everything where that differs.",
    "A first visit has nothing in the browser's cache, a later one has the static files; both are timed until all is",
    "loaded. Bytes are those on the wire, headers included.",
)


# Records of one memory, memories below one, items of the inbox, versions of one record.
SCALES = {
    "tiny": (60, 110, 30, 12),
    "small": (5_000, 1_000, 500, 100),
    "full": (50_000, 10_000, 5_000, 1_000),
}


LEAST = (60, 12, 30, 12)


@dataclass(frozen=True)
class Asked:
    """A page, or a fragment of one when `target` names what htmx would replace; `path` has names in braces."""

    what: str
    path: str
    target: str = ""


M = "/console/{org}/memories"
ARCHIVE, PROJECTS = f"{M}/{{archive}}", f"{M}/{{projects}}"
PAGES = (
    Asked("home", "/console/{org}/home"),
    Asked("tree", M),
    Asked("tree, open at one of the memories", f"{M}?open={{child}}"),
    Asked("tree, one level, fragment", f"{M}?below={{projects}}", "level"),
    Asked("tree, far into the level, fragment", f"{M}?below={{projects}}&cursor={{level}}", "level"),
    Asked("find memories", f"{M}/find?q=project"),
    Asked("memory of many records", ARCHIVE),
    Asked("records, far into the list, fragment", f"{ARCHIVE}?cursor={{records}}", "records"),
    Asked("records by writer, fragment", f"{ARCHIVE}?writer={{writer}}", "records"),
    Asked("records by attribute, fragment", f"{ARCHIVE}?attribute=topic%3D{{rare}}", "records"),
    Asked("records by no writer of any, fragment", f"{ARCHIVE}?writer=member:{{member}}", "records"),
    Asked("records, superseded, fragment", f"{ARCHIVE}?status=superseded", "records"),
    Asked("records, every version, fragment", f"{ARCHIVE}?status=all", "records"),
    Asked("memory of many memories", PROJECTS),
    Asked("record", f"{ARCHIVE}/records/{{record}}"),
    Asked("record of many versions", f"{ARCHIVE}/records/{{revised}}"),
    Asked("comparing two versions", f"{ARCHIVE}/records/{{revised}}/compare?from=2&to=9"),
    Asked("explorer, an answer", f"{ARCHIVE}/ask?q={{word}}+{{rare}}"),
    Asked("explorer, an answer from everywhere below", f"{M}/{{root}}/ask?q={{word}}+{{rare}}"),
    Asked("graph", f"{ARCHIVE}/graph"),
    Asked("grants", f"{M}/{{root}}/access"),
    Asked("who can reach it", f"{M}/{{root}}/who"),
    Asked("what closing the largest branch does", f"{PROJECTS}/restrict"),
    Asked("what deleting the largest branch does", f"{PROJECTS}/delete"),
    Asked("moving", f"{PROJECTS}/move"),
    Asked("settings", f"{PROJECTS}/settings"),
    Asked("audit log of a memory", f"{ARCHIVE}/audit"),
    Asked("audit log", "/console/{org}/audit"),
    Asked("inbox", "/console/{org}/review"),
    Asked("inbox, far into the list, fragment", "/console/{org}/review?cursor={items}", "inbox"),
    Asked("inbox, strongest first, fragment", "/console/{org}/review?order=strongest", "inbox"),
    Asked("inbox of one writer, fragment", "/console/{org}/review?writer={writer}", "inbox"),
    Asked("inbox by signal, fragment", "/console/{org}/review?signal=personal", "inbox"),
    Asked("inbox of one memory, fragment", "/console/{org}/review?memory={reviewed}", "inbox"),
    Asked("inbox, one item", "/console/{org}/review/{item}"),
    Asked(f"inbox, preview of {MANY}", "/console/{org}/review/many?action=keep&{many}"),
    Asked("review policy", f"{ARCHIVE}/review"),
    Asked("runs of a memory", f"{ARCHIVE}/runs"),
    Asked("run", f"{ARCHIVE}/runs/{{run}}"),
    Asked("conflicts", f"{ARCHIVE}/conflicts"),
    Asked("runs", "/console/{org}/runs"),
    Asked("jobs", "/console/{org}/jobs"),
    Asked("quick jump, empty, fragment", "/console/{org}/search", "dialog-body"),
    Asked("quick jump, a memory's name, fragment", "/console/{org}/search?q=project+00012", "jump-found"),
    Asked("quick jump, a word of records, fragment", "/console/{org}/search?q={word}", "jump-found"),
    Asked("people", "/console/{org}/people"),
    Asked("person", "/console/{org}/people/{member}"),
    Asked("what a person reaches", "/console/{org}/people/{member}/reach"),
    Asked("what a group reaches", "/console/{org}/groups/{group}/reach"),
    Asked("what deactivating a person does", "/console/{org}/people/{member}/deactivate"),
    Asked("agents", "/console/{org}/agents"),
    Asked("memories without anybody", "/console/{org}/memories/without-anybody"),
)
OPENED = (
    "home",
    "tree",
    "memory of many records",
    "memory of many memories",
    "record of many versions",
    "inbox",
    "inbox, one item",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = stage.arguments(
        "Measures the pages of the console on a large organisation.",
        SCALES,
        seed="of what is written",
        samples="how often each page is asked for (20, at the smallest scale 2)",
    )
    options = parser.parse_args(arguments)

    def measure() -> dict[str, Any]:
        # One key for this process and the server: both read the same sessions.
        key = secrets.token_urlsafe(50)
        with stage.database("console", CELERY_BROKER_URL="memory://", HEARTWOOD_SECRET_KEY=key):
            return run(options.scale, options.seed, options.samples or (2 if options.scale == "tiny" else 20))

    return stage.perform(measure, describe, options.json)


def run(scale: str, seed: int, samples: int) -> dict[str, Any]:
    """Load both organisations, serve them and look at them; return all numbers. Raises Wrong and Unusable."""
    stage.migrate()
    from django.db import connection

    from benchmarks import console_load

    size = console_load.Size(*SCALES[scale])
    hundredth = console_load.Size(*(max(least, most // 100) for least, most in zip(LEAST, SCALES[scale], strict=True)))
    small = console_load.Loader("Small", hundredth, Random(seed)).load()
    large = console_load.Loader("Large", size, Random(seed)).load()
    console_load.finish()
    addresses, few = (filled(world) for world in (large, small))
    queries = [
        (counted(large, one, many), counted(small, one, less))
        for one, many, less in zip(PAGES, addresses, few, strict=True)
    ]
    session = signed_in(large)
    connection.close()
    with stage.served() as port:
        rows = [
            {"what": one.what, "queries": many, "queries_small": less, **timed(port, session, one, address, samples)}
            for one, address, (many, less) in zip(PAGES, addresses, queries, strict=True)
        ]
        opened = dict(browse(port, large, [(one.what, address) for one, address in zip(PAGES, addresses, strict=True)]))
    return {
        "machine": report.machine(),
        "scale": scale,
        "records": size.records,
        "children": size.children,
        "items": size.items,
        "versions": size.versions,
        "pages": rows,
        "opened": opened,
        "over": over(rows, opened),
    }


def names(world: World) -> dict[str, str]:
    """What stands in the braces of a path."""
    from benchmarks.console_load import cursors
    from memories.services import reviewing

    items = reviewing.inbox(world.caller, limit=MANY).items
    return {**world.names, **cursors(world), "many": "&".join(f"item={one.id}" for one in items)}


def filled(world: World) -> list[str]:
    """The addresses of all pages in one organisation."""
    given = names(world)
    return [one.path.format_map(given) for one in PAGES]


def headers(asked: Asked) -> dict[str, str]:
    """What htmx sends when it asks for a fragment; nothing for a page."""
    return {"HX-Request": "true", "HX-Target": asked.target} if asked.target else {}


def counted(world: World, asked: Asked, address: str) -> int:
    """How many statements a page sends, the second time it is asked for. Raises Wrong."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(SERVER_NAME="localhost", headers=headers(asked))
    client.cookies["heartwood_session"] = signed_in(world)
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    if answer.status_code != http.HTTPStatus.OK:
        raise Wrong(f"{asked.what} answered {answer.status_code} at {address}.")
    return len(queries)


def signed_in(world: World) -> str:
    """The key of a session of whoever owns the organisation."""
    from django.test import Client

    from members.models import Member

    client = Client()
    owner = Member.objects.select_related("user").get(pk=world.caller.member.id)
    assert owner.user is not None
    client.force_login(owner.user, backend="django.contrib.auth.backends.ModelBackend")
    return client.cookies["heartwood_session"].value


def timed(port: int, session: str, asked: Asked, address: str, samples: int) -> dict[str, Any]:
    """Ask the server for one page again and again on one connection. Raises Wrong."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    sent = {"Cookie": f"heartwood_session={session}", "Accept-Encoding": "gzip, deflate, br", **headers(asked)}
    times: list[float] = []
    size = 0
    for number in range(samples + WARM_UP):
        started = time.perf_counter()
        link.request("GET", address, headers=sent)
        response = link.getresponse()
        size = len(response.read())
        if number >= WARM_UP:
            times.append((time.perf_counter() - started) * 1000)
        if response.status != http.HTTPStatus.OK:
            raise Wrong(f"{asked.what} answered {response.status} at {address}.")
    link.close()
    return {
        "p50_ms": round(metrics.percentile(times, 50), 1),
        "p95_ms": round(metrics.percentile(times, 95), 1),
        "bytes": size,
        "encoding": response.headers.get("Content-Encoding", ""),
    }


def browse(port: int, world: World, pages: Sequence[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Sign in with a Chromium and open pages, each for the first time and then again. Raises Unusable."""
    from playwright.sync_api import Error, sync_playwright

    from benchmarks.console_load import PASSWORD
    from tests.chromium import NoChromium, executable
    from tests.pages.browser import flags

    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable(), args=flags())
            context = browser.new_context(base_url=f"http://localhost:{port}")
            page = context.new_page()
            page.goto("/accounts/login/")
            page.get_by_label("Email").fill(world.email)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url("**/console/**")
            state = context.storage_state()
            for what, address in pages:
                if what in OPENED:
                    fresh = browser.new_context(base_url=f"http://localhost:{port}", storage_state=state)
                    first, later = visit(fresh, address), visit(fresh, address)
                    yield what, {"first": first, "later": later}
                    fresh.close()
            browser.close()
    except (NoChromium, Error) as error:
        raise Unusable(f"No browser could look at the console: {error}") from error


def visit(context: Any, address: str) -> dict[str, float]:
    """Open one page in a tab of its own, to its end: milliseconds, bytes and scripts."""
    page = context.new_page()
    seen = context.new_cdp_session(page)
    seen.send("Network.enable")
    received: list[float] = []
    scripts: list[str] = []
    seen.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    page.on("response", lambda answer: scripts.append(answer.url) if answer.request.resource_type == "script" else None)
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    page.wait_for_load_state("networkidle")
    took = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    page.close()
    return {"ms": round(took, 1), "bytes": int(sum(received)), "scripts": len(scripts)}


def over(rows: Sequence[Mapping[str, Any]], opened: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Everything that costs more than it may, a sentence each."""
    found = [f"{row['what']}: {row['p95_ms']} ms at p95" for row in rows if row["p95_ms"] > SERVER_MS]
    found += [
        f"{row['what']}: {row['queries']} queries, {row['queries_small']} on a small organisation"
        for row in rows
        if row["queries"] > row["queries_small"]
    ]
    for what, visits in opened.items():
        first, later = visits["first"], visits["later"]
        if first["bytes"] > FIRST_VISIT_BYTES:
            found.append(f"{what}: {first['bytes']:,} bytes on a first visit")
        if first["scripts"] > SCRIPTS:
            found.append(f"{what}: {first['scripts']} scripts")
        if later["ms"] > OPEN_MS:
            found.append(f"{what}: {later['ms']} ms to open")
    return found


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    machine = summary["machine"]
    pages = report.table(
        ["page", "p50, ms", "p95, ms", "KB", "queries"],
        [
            [row["what"], f"{row['p50_ms']:.0f}", f"{row['p95_ms']:.0f}", f"{row['bytes'] / 1000:.1f}", _queries(row)]
            for row in summary["pages"]
        ],
    )
    opened = report.table(
        ["in a browser", "first, ms", "KB", "scripts", "later, ms", "KB again"],
        [
            [
                what,
                f"{one['first']['ms']:.0f}",
                f"{one['first']['bytes'] / 1000:.1f}",
                f"{one['first']['scripts']}",
                f"{one['later']['ms']:.0f}",
                f"{one['later']['bytes'] / 1000:.1f}",
            ]
            for what, one in summary["opened"].items()
        ],
    )
    limits = f"{SERVER_MS} ms, {FIRST_VISIT_BYTES // 1000} KB, {SCRIPTS} script, {OPEN_MS} ms to open"
    return "\n".join(
        [
            "```text",
            f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {machine['date']}",
            f"{summary['scale']}: {summary['records']:,} records in one memory, {summary['children']:,} memories below",
            f"another, {summary['items']:,} items to review, {summary['versions']:,} versions of a record; hashing",
            *NOTES,
            "```",
            "",
            pages,
            "",
            opened,
            "",
            f"Over {limits}, or with queries that grow: {'; '.join(summary['over']) or 'nothing'}.",
        ]
    )


def _queries(row: Mapping[str, Any]) -> str:
    less = row["queries_small"]
    return f"{row['queries']}" if row["queries"] == less else f"{row['queries']} ({less})"


if __name__ == "__main__":
    sys.exit(main())
