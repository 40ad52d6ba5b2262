"""Progress of long commands: one bar for each kind of thing, on standard error, when a person is looking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from memories.services.archive import Progress


@contextmanager
def bars(totals: Mapping[str, int], *, quiet: bool, out: Any) -> Iterator[Progress]:
    """A function to report progress with; what is not counted in `totals` has no known end."""
    shown: dict[str, tqdm[Any]] = {}

    def progress(what: str, count: int) -> None:
        if what not in shown:
            hidden = quiet or not out.isatty()
            shown[what] = tqdm(total=totals.get(what), desc=what, unit="", file=out, disable=hidden, leave=False)
        shown[what].update(count)

    try:
        yield progress
    finally:
        for bar in shown.values():
            bar.close()
