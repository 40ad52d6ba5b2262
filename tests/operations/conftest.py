from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.operations.server import Server


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory with a short path that everybody may pass through, which pytest's own are not."""
    directory = Path(tempfile.mkdtemp(prefix="hw-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def run(place: Path) -> Iterator[Callable[..., Server]]:
    """Start servers that do not outlive the test."""
    started: list[Server] = []

    def start(name: str, *arguments: str, **more: str) -> Server:
        server = Server(place / name, *arguments, **more)
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()
