"""What the operating system knows about processes: who is alive, where it works, and dying with one's parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

PROC = Path("/proc")
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(number: signal.Signals) -> Callable[[], None]:
    """Return what a forked child must run so that it gets this signal when the process that made it is gone."""
    parent = os.getpid()

    def bind() -> None:
        # Job control of an interactive shell may have blocked or ignored these; a child starts from the defaults.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)

    return bind


def started_at(pid: int) -> str | None:
    """Return a mark that no later process with the same number shares, or None when no such process lives."""
    try:
        # The name, in parentheses, may hold spaces; the start time is the 20th field after it.
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in {"Z", "X"} else fields[19]
    except (OSError, IndexError):
        if PROC.joinpath("self").exists():
            return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "unknown"


def working_in(directory: Path) -> list[int]:
    """Return the processes whose working directory is this one; Postgres servers work in their data directory."""
    try:
        wanted = directory.stat()
    except OSError:
        return []
    found = []
    for entry in PROC.glob("[0-9]*"):
        try:
            there = (entry / "cwd").stat()
        except OSError:
            continue
        if os.path.samestat(wanted, there) and started_at(int(entry.name)) is not None:
            found.append(int(entry.name))
    return sorted(found)


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process; one that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
