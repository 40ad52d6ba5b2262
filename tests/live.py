"""A real server for tests: the command a newcomer runs, on a free port, with its own data directory."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
READY = re.compile(r"^Heartwood is ready at (http://\S+)$", re.MULTILINE)
START_SECONDS = 240.0
STOP_SECONDS = 60.0

# What the surrounding test run, or the developer's shell, must not decide for a server that stands alone.
NOT_INHERITED = ("DATABASE_URL", "CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE", "HEARTWOOD_DATA", "HEARTWOOD_EMBEDDER")


class LiveServer:
    """`manage.py up` as a child process; `url` and `data_dir` are valid until `stop`."""

    def __init__(self, data_dir: Path, *options: str, env: Mapping[str, str] | None = None) -> None:
        """Start the server on an empty or an existing data directory and wait until it says that it is ready.

        `options` go to `up` (default `--no-demo`). Raises AssertionError with the output when it does not start.
        """
        self.data_dir = data_dir
        self.output_path = data_dir.with_name(f"{data_dir.name}-up.log")
        self.env = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED} | dict(env or {})
        command = [sys.executable, "manage.py", "up", "--port", str(free_port()), "--data", str(data_dir)]
        with self.output_path.open("ab") as output:
            self._read_from = output.tell()
            # A session of its own: Ctrl-C in the terminal reaches the tests, and the tests stop the server.
            self.process = subprocess.Popen(
                [*command, *(options or ("--no-demo",))],
                cwd=PROJECT,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self.url = self._wait_until_ready()
        except BaseException:
            self._kill()
            raise

    @property
    def output(self) -> str:
        """Everything this start of the server has printed so far."""
        return self.output_path.read_bytes()[self._read_from :].decode(errors="replace")

    def run(self, command: str, *args: str) -> dict[str, Any]:
        """Run a management command beside the server with --json and return what it prints."""
        done = subprocess.run(
            [sys.executable, "manage.py", command, *args, "--data", str(self.data_dir), "--json"],
            cwd=PROJECT,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{command} exited {done.returncode}: {done.stderr or done.stdout}"
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict), f"{command} printed {done.stdout!r}"
        return answer

    def stop(self) -> None:
        """Ask the server to stop and wait; raises AssertionError unless it exits with 0 within a minute."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            raise AssertionError(f"the server did not stop within {STOP_SECONDS:.0f} s:\n{self.output}") from None
        assert code == 0, f"the server exited {code}:\n{self.output}"

    def _wait_until_ready(self) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if found := READY.search(self.output):
                return found[1]
            code = self.process.poll()
            assert code is None, f"the server exited {code} before it was ready:\n{self.output}"
            time.sleep(0.1)
        raise AssertionError(f"the server was not ready within {START_SECONDS:.0f} s:\n{self.output}")

    def _kill(self) -> None:
        """Last resort: first politely, so that the database closes, then the whole process group."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def live_server(*options: str, env: Mapping[str, str] | None = None) -> Iterator[LiveServer]:
    """A server on a data directory of its own; afterwards it has stopped with 0 and the directory is gone."""
    directory = Path(tempfile.mkdtemp(prefix="heartwood-live-"))
    # When root runs the tests, the database runs as somebody else, who must be able to pass through.
    directory.chmod(0o711)
    try:
        server = LiveServer(directory / "data", *options, env=env)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
