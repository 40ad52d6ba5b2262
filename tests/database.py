"""The pytest plugin that gives a test run a database of its own, unless DATABASE_URL names one.

It is loaded with `-p`, because the server must be there before Django's settings are read.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from uhp_site.runtime.postgres import Cluster

_cluster: Cluster | None = None


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(args: list[str]) -> Generator[None]:
    """Start the server around everything else that happens at this point, Django's settings included."""
    if not os.environ.get("DATABASE_URL"):
        start()
    return (yield)


def pytest_unconfigure() -> None:
    """Stop the server when the run ends, however it ends."""
    stop()


def start() -> None:
    """Start a throw-away server that never waits for the disk, and name it in the environment."""
    global _cluster
    directory = Path(tempfile.mkdtemp(prefix="heartwood-tests-"))
    # An unprivileged user, whom the server runs as when root runs the tests, must be able to pass through.
    directory.chmod(0o711)
    _cluster = Cluster(directory, durable=False)
    atexit.register(stop)
    _cluster.start()
    os.environ["HEARTWOOD_DATA"] = str(directory)
    os.environ["DATABASE_URL"] = _cluster.url


def stop() -> None:
    """Stop the server that this run started, and remove its files. Safe to call twice."""
    global _cluster
    cluster, _cluster = _cluster, None
    if cluster is not None:
        cluster.stop()
        shutil.rmtree(cluster.directory, ignore_errors=True)
