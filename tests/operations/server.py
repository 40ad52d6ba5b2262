"""A real server in processes of its own, as a person at a terminal would run it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from uhp_site.runtime import processes
from uhp_site.runtime.supervisor import MARK

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a person who has set nothing."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "PYTHONPATH", "LANG"}}
    return kept | {"HEARTWOOD_EMBEDDER": "hashing", "HEARTWOOD_LOG_FORMAT": "json"} | more


def manage(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def wait_for(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain for {what}"
        time.sleep(0.05)


class Server:
    """One `manage.py up` on a data directory."""

    def __init__(self, directory: Path, *arguments: str, **more: str) -> None:
        self.directory = directory
        self.output = directory.with_name(f"{directory.name}-{time.monotonic_ns()}.out")
        self.errors = self.output.with_suffix(".err")
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--data", str(directory), "--port", "0", *arguments],
                cwd=ROOT,
                env=environment(**more),
                stdout=output,
                stderr=errors,
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    @property
    def complained(self) -> str:
        return self.errors.read_text()

    @property
    def url(self) -> str:
        return next(
            line.removeprefix("Heartwood is ready at ")
            for line in self.said.splitlines()
            if line.startswith("Heartwood is ready at ")
        )

    def wait_until_ready(self) -> None:
        """Wait for the line that says so."""

        def announced() -> bool:
            assert self.process.poll() is None, self.complained
            return "Heartwood is ready at " in self.said

        wait_for(announced, "the server to be ready")

    def status(self, path: str = "/readyz") -> int:
        """Ask the server something; 0 stands for no answer."""
        try:
            return httpx.get(self.url + path, timeout=10).status_code
        except httpx.HTTPError:
            return 0

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Make sure nothing is left, however a test ended."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pid in [*self.running(), *self.database()]:
            processes.send(pid, signal.SIGKILL)

    def running(self) -> list[int]:
        """Return the web, worker and schedule processes of this data directory."""
        mark = f"{MARK}={self.directory}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0") and processes.started_at(int(entry.name)):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def named(self, word: str) -> list[int]:
        """Return those of them whose command line has this word."""
        return [
            pid for pid in self.running() if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        ]

    def database(self) -> list[int]:
        """Return the processes of the database server."""
        return processes.working_in(self.directory / "postgres" / "run" / "cluster")
