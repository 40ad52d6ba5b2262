"""The process that `up` is: it starts everything, keeps it running, and stops it in order."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

from uhp_site import data
from uhp_site.runtime import processes
from uhp_site.runtime.postgres import Cluster, Failure

BASE_DIR = Path(__file__).resolve().parents[2]
LOCK_FILE = "up.lock"
# Every process of ours carries the data directory in its environment under this name, so that the next `up` finds
# those that outlived a killed one, whatever became of their parents.
MARK = "HEARTWOOD_CHILD_OF"
LONGEST_BACKOFF = 30.0
STEADY_AFTER = 60.0
ALONE = ("--without-gossip", "--without-mingle", "--without-heartbeat")
WORKER = ("worker", "--pool", "threads", *ALONE, "--queues", "heartwood,heartwood_heartbeat")


class Stopping(BaseException):
    """Somebody asked `up` to stop."""


def say(sentence: str) -> None:
    """Tell the person at the terminal something, on standard error."""
    print(sentence, file=sys.stderr, flush=True)


@dataclass
class Child:
    """A process that is started again, after a growing pause, whenever it ends by itself."""

    name: str
    arguments: Sequence[str]
    patience: float
    inherited: Sequence[int] = ()
    # Standard output is for what `up` itself says, so what a child prints goes to standard error.
    output: int = 2
    process: subprocess.Popen[bytes] | None = None
    backoff: float = 0.0
    started: float = 0.0
    due: float = 0.0
    environment: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start the process in a session of its own, so that the terminal's Ctrl-C reaches only `up`."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, *self.arguments],
            cwd=BASE_DIR,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            pass_fds=self.inherited,
            start_new_session=True,
            preexec_fn=processes.die_with_parent(signal.SIGTERM),
        )

    def tend(self) -> None:
        """Notice that the process ended, say so, and start it again when its pause is over."""
        now = time.monotonic()
        if self.process is None:
            if now >= self.due:
                self.start()
            return
        status = self.process.poll()
        if status is None:
            return
        end_group(self.process.pid, signal.SIGKILL)
        self.process = None
        self.backoff = 0.5 if now - self.started > STEADY_AFTER else min(max(self.backoff * 2, 0.5), LONGEST_BACKOFF)
        self.due = now + self.backoff
        say(f"The {self.name} {describe(status)}; it is started again in {self.backoff:g} s.")

    def ask_to_stop(self) -> None:
        """Ask the process to finish what it is doing and end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Wait for the process to end, and end it when its patience is used up."""
        process, self.process = self.process, None
        if process is None:
            return
        try:
            process.wait(self.patience)
        except subprocess.TimeoutExpired:
            say(f"The {self.name} did not stop within {self.patience:g} s and is killed.")
        end_group(process.pid, signal.SIGKILL)
        process.wait()


def celery(*arguments: str) -> list[str]:
    """What follows the interpreter to run one of Celery's commands on the application."""
    level = os.environ.get("HEARTWOOD_LOG_LEVEL", "INFO")
    return ["-m", "celery", "--app", "uhp_site.celery", "--quiet", *arguments, "--loglevel", level]


def describe(status: int) -> str:
    """Say how a process ended."""
    if status < 0:
        try:
            return f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"was killed by signal {-status}"
    return f"ended with status {status}"


def end_group(leader: int, number: signal.Signals) -> None:
    """Signal a child and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def up(host: str, port: str, demo: bool | None) -> int:
    """Run the server until SIGINT or SIGTERM; return the exit status, 2 when it could not start."""
    return Supervisor(host, demo).run(port)


class Supervisor:
    """One run of `up`."""

    def __init__(self, host: str, demo: bool | None) -> None:
        self.host = host
        self.demo = demo
        self.port = 0
        self.listener: socket.socket | None = None
        self.lock: IO[str] | None = None
        self.cluster: Cluster | None = None
        self.children: list[Child] = []
        self.preparation: subprocess.Popen[bytes] | None = None
        self.made_directory = False

    def run(self, port: str) -> int:
        """Start, serve, stop."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        try:
            self.listen(port)
            self.take_directory()
            self.start_database()
            self.prepare()
            self.start_children()
            self.serve()
        except Stopping:
            say("Heartwood is stopping.")
        except Failure as failure:
            say(str(failure))
            return 2
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            self.stop()
        return 0

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        raise Stopping

    # Starting

    def listen(self, port: str) -> None:
        """Take the port before anything starts; the socket outlives a web server that has to be replaced."""
        if not port.isascii() or not port.isdecimal() or int(port) > 65535:
            raise Failure(f"--port must be a number from 0 to 65535, not {port!r}.")
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self.host, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except (OSError, UnicodeError):
            raise Failure(f"--host must be an address of this machine; {self.host!r} is not known.") from None
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(2048)
        except OSError as error:
            listener.close()
            raise Failure(f"Port {port} on {self.host} cannot be used: {error.strerror}.") from None
        self.listener = listener
        self.port = listener.getsockname()[1]

    def take_directory(self) -> None:
        """Make the data directory and own it; a second `up` on it is refused."""
        self.made_directory = not data.directory().exists()
        directory = data.create_directory()
        os.environ["HEARTWOOD_DATA"] = str(directory)
        try:
            lock = open(directory / LOCK_FILE, "a")  # noqa: SIM115 - held until the end
        except OSError as error:
            raise Failure(f"The data directory {directory} cannot be used: {error.strerror}.") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise Failure(f"Another `manage.py up` already runs on {directory}.") from None
        self.lock = lock
        os.umask(0o077)
        end_orphans(directory)
        data.create_secret_key()

    def start_database(self) -> None:
        """Start the embedded database, unless another one is named."""
        if data.uses_embedded_database():
            self.cluster = Cluster(data.directory())
            self.cluster.start()
        else:
            data.connection_parameters()

    def prepare(self) -> None:
        """Check, migrate and fill the database in a process of its own."""
        arguments = {True: ["--demo"], False: ["--no-demo"], None: []}[self.demo]
        child = Child("preparation", ["-m", "uhp_site.runtime.prepare", *arguments], 5, output=1)
        child.environment = self.environment()
        child.start()
        assert child.process is not None
        self.preparation = child.process
        status = self.preparation.wait()
        self.preparation = None
        if status and self.made_directory and self.cluster is None:
            for name in (data.SECRET_KEY_FILE, LOCK_FILE):
                (data.directory() / name).unlink(missing_ok=True)
            data.directory().rmdir()
        if status == 2:
            raise SystemExit(2)
        if status:
            raise Failure(f"The database could not be prepared: the step {describe(status)}.")

    def start_children(self) -> None:
        """Start worker, schedule and web server."""
        assert self.listener is not None
        beat = ["beat", "--schedule", str(data.directory() / "schedule"), "--pidfile="]
        descriptor = self.listener.fileno()
        gunicorn = ["-m", "gunicorn", "--config", "python:uhp_site.gunicorn", "--bind", f"fd://{descriptor}"]
        self.children = [
            Child("worker", celery(*WORKER), 15),
            Child("schedule", celery(*beat), 10),
            Child("web server", gunicorn, 20, inherited=[descriptor]),
        ]
        for child in self.children:
            child.environment = self.environment() | {"HEARTWOOD_DATABASE_POOL": "10"}
            child.start()

    def environment(self) -> dict[str, str]:
        """Return the environment of every child."""
        environment = os.environ | {MARK: str(data.directory())}
        environment.setdefault("DJANGO_SETTINGS_MODULE", "uhp_site.settings")
        # Django's checks are for those who write the code, and would run in every process.
        environment.setdefault("CELERY_SKIP_CHECKS", "1")
        if "HEARTWOOD_ALLOWED_HOSTS" not in environment:
            names = ["localhost", "127.0.0.1", "[::1]", f"[{self.host}]" if ":" in self.host else self.host]
            if self.host in {"0.0.0.0", "::"}:  # noqa: S104 - a comparison
                names = [*names[:3], socket.gethostname(), *addresses()]
            environment["HEARTWOOD_ALLOWED_HOSTS"] = ",".join(dict.fromkeys(names))
        return dict(environment)

    # Serving

    def serve(self) -> None:
        """Announce readiness once, then keep everything running until a signal says stop."""
        announced = False
        began = said = time.monotonic()
        while True:
            self.tend_database()
            for child in self.children:
                child.tend()
            if not announced:
                reasons = self.reasons()
                now = time.monotonic()
                if not reasons:
                    announced = True
                    print(f"Heartwood is ready at {self.address}", flush=True)
                elif now - said >= 10:
                    said = now
                    say(f"Heartwood is not ready after {now - began:.0f} s: {' '.join(reasons)}")
            time.sleep(0.2)

    def tend_database(self) -> None:
        """Start the embedded database again when it died."""
        cluster = self.cluster
        if cluster is None or cluster.process is None or cluster.process.poll() is None:
            return
        say(f"The database {describe(cluster.process.returncode)}; it is started again.")
        pause = 0.5
        while True:
            time.sleep(pause)
            try:
                cluster.launch()
                cluster.wait_until_ready()
            except Failure as failure:
                pause = min(pause * 2, LONGEST_BACKOFF)
                say(f"{failure} It is tried again in {pause:g} s.")
            else:
                return

    @property
    def address(self) -> str:
        """Return the URL people use, where an IPv6 address stands in brackets."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def reasons(self) -> list[str]:
        """Ask /readyz; return why the server is not ready, nothing when it is."""
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - a comparison
        connection = http.client.HTTPConnection(local, self.port, timeout=8)
        try:
            connection.request("GET", "/readyz", headers={"Host": self.known_host(), "Connection": "close"})
            response = connection.getresponse()
            body = response.read(65536)
        except (OSError, http.client.HTTPException):
            return ["The web server does not answer."]
        finally:
            connection.close()
        if response.status == 200:
            return []
        try:
            return [str(reason) for reason in json.loads(body)["reasons"]]
        except (ValueError, KeyError, TypeError):
            return [f"The web server answers {response.status}."]

    def known_host(self) -> str:
        """Return a host name that the web server accepts."""
        name = self.environment()["HEARTWOOD_ALLOWED_HOSTS"].split(",")[0].strip()
        return "localhost" if name in {"", "*"} else name.removeprefix(".")

    # Stopping

    def stop(self) -> None:
        """Stop web server, schedule, worker and database, in this order."""
        if self.preparation is not None:
            end_group(self.preparation.pid, signal.SIGTERM)
            self.preparation.wait()
        web = [child for child in self.children if child.inherited]
        # The worker needs up to four seconds to look up from its queue; the schedule need not be gone for that.
        for stage in (web, [child for child in self.children if not child.inherited]):
            for child in stage:
                child.ask_to_stop()
            for child in stage:
                child.wait()
        if self.cluster is not None:
            self.cluster.stop()
        if self.listener is not None:
            self.listener.close()
        if self.lock is not None:
            self.lock.close()


def addresses() -> list[str]:
    """Return the addresses this machine's own name stands for."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return []
    return sorted(f"[{address}]" if ":" in address else address for address in found)


def orphans(directory: Path) -> list[int]:
    """Return the processes that an earlier `up` on this directory started and that still live."""
    mark = f"{MARK}={directory}".encode()
    found = []
    for entry in processes.PROC.glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in environment and int(entry.name) != os.getpid() and processes.started_at(int(entry.name)):
            found.append(int(entry.name))
    return found


def end_orphans(directory: Path) -> None:
    """End what outlived a killed `up`: politely first, for five seconds, then for certain."""
    found = orphans(directory)
    if not found:
        return
    say("Processes left over from an earlier start are being stopped.")
    for pid in found:
        processes.send(pid, signal.SIGTERM)
    deadline = time.monotonic() + 5
    while found := orphans(directory):
        if time.monotonic() > deadline:
            for pid in found:
                processes.send(pid, signal.SIGKILL)
        time.sleep(0.05)
