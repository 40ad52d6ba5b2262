"""What a benchmark prints about itself: the machine line and tables that can be pasted into a document."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path


def machine() -> dict[str, str | int]:
    """Return what the numbers depend on: processor, cores this process may use, Python and the date in UTC."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "cpu": _processor(),
        "cores": cores,
        "python": platform.python_version(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def on(machine: Mapping[str, str | int]) -> str:
    """Return the machine as one line."""
    return f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {machine['date']}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns are aligned as text too; all but the first are numbers."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for first, *numbers in (header, rule, *rows):
        aligned = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
        lines.append(f"| {' | '.join([first.ljust(widths[0]), *aligned])} |")
    return "\n".join(lines)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()
