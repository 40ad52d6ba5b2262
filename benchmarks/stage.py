"""What the benchmarks of the server stand on: a database that is thrown away, the web server, arguments, an end.

with stage.database("console") as directory:
    stage.migrate()
    ...
    with stage.served() as port:
        ...
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 120
EMBEDDERS = ("minilm", "hashing")


class Unusable(Exception):
    """The run cannot go on; the message is one sentence for the person who started it."""


class Wrong(Exception):
    """An answer is not what it has to be; no time is worth anything then. The message is one sentence."""


def arguments(
    description: str,
    scales: Iterable[str],
    *,
    seed: str | None = "of what is written and asked",
    samples: str | None = None,
    embedder: bool = False,
) -> argparse.ArgumentParser:
    """A command line with --scale and --json; with --seed, --samples and --embedder where a benchmark has a use for it.

    What is given for --seed and --samples is how the help describes them.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scale", choices=tuple(scales), default="small", help="(%(default)s)")
    if seed:
        parser.add_argument("--seed", type=int, default=7, help=f"{seed} (%(default)s)")
    if samples:
        parser.add_argument("--samples", type=int, help=samples)
    if embedder:
        parser.add_argument("--embedder", choices=EMBEDDERS, default=EMBEDDERS[0], help="(%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    return parser


def perform(measure: Callable[[], dict[str, Any]], describe: Callable[[dict[str, Any]], str], file: Path | None) -> int:
    """Measure, print the numbers as text, and write them to a file as JSON where one is named.

    Returns the exit code. 0: measured; 1: an answer was Wrong; 2: the run was Unusable; 130: interrupted.
    """
    # A run that is stopped still stops what it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        summary = measure()
    except (Unusable, Wrong) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, Unusable) else 1
    except KeyboardInterrupt:
        return 130
    print(describe(summary))
    if file:
        file.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 0


@contextmanager
def database(
    name: str,
    *,
    durable: bool = True,
    keep: Path | None = None,
    url: str | None = None,
    tuning: Mapping[str, str] | None = None,
    **environment: str,
) -> Iterator[Path]:
    """A directory and an embedded Postgres that live as long as this, both named in the environment. Raises Unusable.

    It waits for the disk, as it does for whoever runs the product, unless it is not `durable`. With `keep`, that
    directory is used, and left; with `url`, no Postgres is started. `tuning` are settings of Postgres, `environment`
    is set beside what every benchmark needs.
    """
    from uhp_site.runtime import postgres

    directory = keep or Path(tempfile.mkdtemp(prefix=f"heartwood-{name}-"))
    directory.mkdir(parents=True, exist_ok=True)
    # An unprivileged user, whom the server runs as when root starts it, must be able to pass through.
    directory.chmod(0o711)
    postgres.SETTINGS |= dict(tuning or {})
    cluster = None if url else postgres.Cluster(directory, durable=durable)
    try:
        if cluster:
            cluster.start()
        os.environ |= {
            "HEARTWOOD_DATA": str(directory),
            "DATABASE_URL": url or (cluster.url if cluster else ""),
            "DJANGO_SETTINGS_MODULE": "uhp_site.settings",
            "HEARTWOOD_EMBEDDER": "hashing",
            "HEARTWOOD_LOG_LEVEL": "WARNING",
            **environment,
        }
        yield directory
    except postgres.Failure as error:
        raise Unusable(str(error)) from error
    finally:
        if cluster:
            cluster.stop()
            if not keep and not cluster.home.is_relative_to(directory):
                shutil.rmtree(cluster.home, ignore_errors=True)
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)


def migrate() -> None:
    """Set Django up and bring the database of the environment to where the product needs it."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


@contextmanager
def served(**environment: str) -> Iterator[int]:
    """The product's web server on a free port, as long as this lives. Raises Unusable."""
    with socket(AF_INET, SOCK_STREAM) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = ["-m", "gunicorn", "--config", "python:uhp_site.gunicorn", "--bind", f"127.0.0.1:{port}"]
    with _process(command, environment) as server:
        until = time.monotonic() + START_SECONDS
        while not _answers(port):
            if server.poll() is not None or time.monotonic() > until:
                raise Unusable("The web server did not start.")
            time.sleep(0.2)
        yield port


@contextmanager
def worker(**environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """The product's worker, as long as this lives, without the schedule; it takes a moment until it listens."""
    import psycopg

    from uhp_site import data
    from uhp_site.runtime import broker, supervisor

    with psycopg.connect(data.conninfo(), autocommit=True) as connection:
        broker.install(connection)
    with _process(supervisor.celery(*supervisor.WORKER), environment) as process:
        yield process


@contextmanager
def _process(arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        # One that stands still would never hear it.
        process.send_signal(signal.SIGCONT)
        process.wait()


def peak_mib() -> float:
    """The most memory this process ever held, in MiB."""
    # What getrusage says of a new process may be the peak of the one that started it.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1024 / (1024 if sys.platform == "darwin" else 1)


def _answers(port: int) -> bool:
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as link:
            link.request("GET", "/v1/uhp")
            return link.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
