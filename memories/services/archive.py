"""What an export looks like on disk: JSON Lines beside the bytes of files, in an order that new ids do not change.

`manifest.json` is written last, so a directory without one is an export that did not finish. Every value that names a
memory, record, file, member or group is an id; `principals.jsonl` says which names stood behind the principals.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

FORMAT = "heartwood.memories"
VERSION = 1
MANIFEST = "manifest.json"
FILES = "files"
KINDS = ("principals", "types", "memories", "grants", "files", "records", "versions", "snapshots", "holds", "queries")
# The longest line that is read, in bytes: a record of the largest size, every character of it escaped.
LONGEST_LINE = 64 * 1024 * 1024

Progress = Callable[[str, int], None]
"""Told what is being worked on, and how many of it are done since last time."""


class Broken(ValueError):
    """An export that cannot be written or read; the message is one sentence."""


class Writer:
    """A new export. Nothing that is given to it is kept in memory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.counts = dict.fromkeys(KINDS, 0)
        self._open = ExitStack()
        self._lines: dict[str, IO[str]] = {}

    def __enter__(self) -> Writer:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(self.directory.iterdir()):
                raise Broken(f"{self.directory} is not empty.")
            (self.directory / FILES).mkdir(mode=0o700)
            for kind in KINDS:
                self._lines[kind] = self._open.enter_context(
                    os.fdopen(private(self.directory / f"{kind}.jsonl"), "w", encoding="utf-8", newline="\n")
                )
        except OSError as failure:
            self._open.close()
            raise Broken(f"{self.directory} cannot be written: {failure.strerror}.") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._open.close()

    def add(self, kind: str, line: Mapping[str, Any]) -> None:
        """Append one line."""
        self._lines[kind].write(text(line) + "\n")
        self.counts[kind] += 1

    def add_bytes(self, sha256: str, content: IO[bytes]) -> None:
        """Copy the bytes of a file, once however many files consist of them."""
        path = self.directory / FILES / sha256
        if path.exists():
            return
        with os.fdopen(private(path), "wb") as copy:
            while piece := content.read(1024 * 1024):
                copy.write(piece)

    def finish(self, root: str) -> None:
        """Say that everything is there."""
        self._open.close()
        manifest = {"format": FORMAT, "version": VERSION, "root": root, "counts": self.counts}
        with os.fdopen(private(self.directory / MANIFEST), "w", encoding="utf-8") as file:
            file.write(json.dumps(manifest, indent=2) + "\n")


class Reader:
    """An export that was finished. Raises Broken when it is not one, or is of a version this server does not read."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
            if manifest["format"] != FORMAT:
                raise KeyError
            self.root, self.counts, version = str(manifest["root"]), dict(manifest["counts"]), manifest["version"]
        except FileNotFoundError:
            raise Broken(f"{directory} holds no export, or one that was not finished.") from None
        except (OSError, ValueError, KeyError, TypeError):
            raise Broken(f"{directory / MANIFEST} cannot be read as the manifest of an export.") from None
        if version != VERSION:
            raise Broken(f"{directory} is an export of version {version}; this server reads version {VERSION}.")

    def lines(self, kind: str) -> Iterator[Mapping[str, Any]]:
        """The lines of one kind, one at a time; all of them must be there."""
        path, number = self.directory / f"{kind}.jsonl", 0
        try:
            with path.open("rb") as file:
                while line := file.readline(LONGEST_LINE):
                    number += 1
                    yield parsed(line, f"{path}, line {number}")
        except OSError as failure:
            raise Broken(f"{path} cannot be read: {failure.strerror}.") from None
        if number != self.counts.get(kind, 0):
            raise Broken(f"{path} has {number} lines, and the manifest says {self.counts.get(kind, 0)}.")

    def bytes(self, sha256: str) -> Path:
        """Where the bytes with this hash are."""
        if len(sha256) != 64 or not all(digit in "0123456789abcdef" for digit in sha256):
            raise Broken("A file of the export has no proper hash.")
        return self.directory / FILES / sha256


def private(path: Path) -> int:
    """Create a file that only its owner may read; its descriptor."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def text(line: Mapping[str, Any]) -> str:
    """One line as JSON: the same value is always the same text."""
    return json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def parsed(line: bytes, where: str) -> Mapping[str, Any]:
    """One line as an object. Raises Broken, saying where."""
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Broken(f"{where} is not a JSON object.")
    return value


def moment(value: datetime | None) -> str | None:
    """An instant to the microsecond."""
    return value.astimezone(UTC).isoformat(timespec="microseconds") if value else None


def instant(value: Any) -> datetime | None:
    """The instant that `moment` wrote. Raises Broken."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise Broken(f"{value!r} is not an instant.") from None
    if found.tzinfo is None:
        raise Broken(f"{value!r} is not an instant.")
    return found
