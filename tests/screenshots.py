"""Pictures of every page, light, dark and on a phone, in `.screenshots/`: `python -m tests.screenshots`.

Without --url it starts a demo server of its own and stops it afterwards. `.screenshots/index.html` shows all of them
side by side. Nothing is changed on the server, so what only an answer to a form shows is not among them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.chromium import executable
from tests.live import live_server
from tests.pages.browser import flags
from tests.pages.crawl import crawl

OUTPUT = Path(__file__).resolve().parent.parent / ".screenshots"
LOOKS = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (390, "light")}


@dataclass(frozen=True)
class SignIn:
    """A server, and how to come in."""

    url: str
    email: str
    password: str


@contextmanager
def server(arguments: argparse.Namespace) -> Iterator[SignIn]:
    """The server that was named, or a demo server for as long as the pictures take."""
    if arguments.url:
        yield SignIn(arguments.url.rstrip("/"), arguments.email, arguments.password)
        return
    with live_server("--demo") as demo:
        said = dict(re.findall(r"^(Sign in|Password) +(\S+)$", demo.output, re.MULTILINE))
        yield SignIn(demo.url, said["Sign in"], said["Password"])


def main() -> None:
    """Take the pictures and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a running server; without it a demo server is started")
    parser.add_argument("--email", default="owner@heartwood.example")
    parser.add_argument("--password", default="")
    parser.add_argument("--only", default="", help="a regular expression on the names of the pages")
    arguments = parser.parse_args()
    OUTPUT.mkdir(exist_ok=True)
    with server(arguments) as sign_in, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=flags())
        for look, (width, scheme) in LOOKS.items():
            for name in pictures(browser, sign_in, look, width, scheme, arguments.only):
                print(OUTPUT.name, name, sep="/", flush=True)
        browser.close()
    print(OUTPUT.name, index(), sep="/")


def index() -> str:
    """A page with every picture there is, one row for each page of the console; returns the name of the file."""
    names = sorted({one.stem.rpartition("-")[0] for one in OUTPUT.glob("*-*.png")})
    rows = [
        f"<h2>{name}</h2><p>"
        + "".join(f'<img loading="lazy" height="480" src="{name}-{look}.png" alt="{look}"> ' for look in LOOKS)
        for name in names
    ]
    (OUTPUT / "index.html").write_text("<!doctype html><meta charset='utf-8'>" + "\n".join(rows), encoding="utf-8")
    return "index.html"


def pictures(browser: Browser, sign_in: SignIn, look: str, width: int, scheme: str, only: str) -> Iterator[str]:
    """Take every page once in one look; yields the names of the files."""
    context = browser.new_context(
        base_url=sign_in.url,
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
        has_touch=width < 500,
        is_mobile=width < 500,
    )
    page = context.new_page()
    page.goto("/accounts/login/")
    yield shoot(page, f"sign-in-{look}")
    page.get_by_label("Email").fill(sign_in.email)
    page.get_by_label("Password").fill(sign_in.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/console/**")
    found = crawl(lambda address: context.request.get(address).text(), page.url.removeprefix(sign_in.url))
    for kind, addresses in {**found, **asked(found)}.items():
        words = re.sub(r"^/console/(\*/)?", "", kind).replace("*", "one")
        name = re.sub(r"[^a-z0-9]+", "-", words).strip("-")
        if re.search(only, name):
            page.goto(addresses[0])
            yield shoot(page, f"{name}-{look}")
    if re.search(only, "dialog"):
        yield from dialogs(page, found["/console/*/memories/*/access"][0], look)
    context.close()


def asked(found: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Pages that no link leads to because something is asked of them first: by words, by ticks, by what changed."""
    home = found["/console/*/home"][0].removesuffix("/home")
    item = found["/console/*/review/*"][0].partition("?")[0].rpartition("/")[2]
    version = found["/console/*/memories/*/records/*?version"][0].partition("?")[0]
    return {
        "nowhere": ["/nowhere"],
        "search-answer": [f"{home}/search?q=rent"],
        "find-answer": [f"{home}/memories/find?q=a"],
        "ask-answer": [f"{found['/console/*/memories/*/ask'][0]}?q=rent"],
        "review-many": [f"{home}/review/many?action=decline&item={item}"],
        "records-compare": [f"{version}/compare?from=1&to=2"],
        "records-filtered": [f"{version.partition('/records/')[0]}?attribute=nothing"],
    }


def dialogs(page: Page, access: str, look: str) -> Iterator[str]:
    """The question that closes a branch, and the menu of a phone."""
    page.goto(access)
    page.get_by_role("link", name=re.compile("(Close|Open) the branch")).click()
    page.get_by_role("dialog").get_by_role("heading", name="What will happen").wait_for()
    yield shoot(page, f"dialog-{look}", whole=False)
    page.get_by_role("dialog").get_by_role("link", name="Cancel").click()
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("searchbox").fill("rent")
    page.get_by_role("dialog").get_by_role("region", name="Records").wait_for()
    yield shoot(page, f"jump-{look}", whole=False)
    page.keyboard.press("Escape")
    if page.get_by_role("button", name="Menu").is_visible():
        page.get_by_role("button", name="Menu").click()
        yield shoot(page, f"menu-{look}", whole=False)


def shoot(page: Page, name: str, *, whole: bool = True) -> str:
    """One picture; returns the name of the file."""
    page.screenshot(path=OUTPUT / f"{name}.png", full_page=whole)
    return f"{name}.png"


if __name__ == "__main__":
    main()
