"""Chromium for the page tests: found, or installed when this module is run as `python -m tests.chromium`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CACHES = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
IN_CACHE = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")
START_SECONDS = 30
INSTALL_SECONDS = 900


class NoChromium(Exception):
    """There is no Chromium that starts; the message is one sentence that says what to do."""


def executable() -> str:
    """The path of a Chromium that starts: $CHROMIUM, else one on PATH, else Playwright's. Raises NoChromium."""
    if named := os.environ.get("CHROMIUM"):
        path = shutil.which(named)
        if path and starts(path):
            return path
        raise NoChromium(f"CHROMIUM names {named}, which does not start: name a Chromium that does, or unset it.")
    for path in candidates():
        if starts(path):
            return path
    raise NoChromium("There is no Chromium for the page tests: run `python -m tests.chromium`, or set CHROMIUM.")


def candidates() -> Iterator[str]:
    """Where a Chromium may lie, the likeliest first; Playwright's newest before its older ones."""
    for name in NAMES:
        if path := shutil.which(name):
            yield path
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    for cache in (given,) if given else CACHES:
        for pattern in IN_CACHE:
            yield from map(str, sorted(Path(cache).expanduser().glob(pattern), reverse=True))


def starts(path: str) -> bool:
    """Whether a program runs here and says that it is Chromium; a stub, or one that lacks a library, does not."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=START_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and ("Chromium" in done.stdout or "Chrome" in done.stdout)


def install() -> str:
    """Install Chromium, with Playwright or else with apt as root, and return its path. Raises NoChromium."""
    steps: list[list[Sequence[str]]] = [[(sys.executable, "-m", "playwright", "install", "chromium")]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        steps.append([("apt-get", "update"), ("apt-get", "install", "--yes", "--no-install-recommends", "chromium")])
    for commands in steps:
        if not all(succeeds(command) for command in commands):
            continue
        try:
            return executable()
        except NoChromium:
            continue
    raise NoChromium(
        "Chromium could not be installed, neither by `playwright install chromium` nor by apt as root: "
        "install it, or set CHROMIUM to where it is."
    )


def succeeds(command: Sequence[str]) -> bool:
    """Run a step of the installation and say so; what it prints itself is not shown."""
    print("Installing Chromium:", *command, file=sys.stderr, flush=True)
    environment = {"DEBIAN_FRONTEND": "noninteractive", **os.environ}
    try:
        done = subprocess.run(command, capture_output=True, timeout=INSTALL_SECONDS, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def main() -> int:
    """Find or install Chromium; the exit status says whether there is one now."""
    try:
        try:
            executable()
        except NoChromium:
            if os.environ.get("CHROMIUM"):
                raise
            install()
    except NoChromium as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
