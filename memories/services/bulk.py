"""Remembering a file of records line by line: one that was stopped goes on where it was, and none comes twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import transaction

from memories.access import Privilege
from memories.content import read_draft
from memories.models import RecordImport
from memories.providers import active
from uhp_site.http.body import parse_object
from uhp_site.http.errors import InvalidInput, UHPError

from . import records
from .sight import Place

TOGETHER = 50

Refused = Callable[[int, str], None]
"""Told the number of a line that was refused, from 1, and why."""


class Stopped(Exception):
    """The import cannot go on; the message is one sentence."""


def remember_lines(place: Place, path: Path, refused: Refused, progress: Callable[[int], None]) -> RecordImport:
    """Remember every line of a JSON Lines file, each a body of POST records, in the name of the place's caller.

    A line that is refused is reported and passed over. Lines are written in groups, and how far it is in the same
    transaction. Raises Stopped when the file cannot be read or another process is at it, MemoryForbidden without write.
    """
    place.require(Privilege.WRITE)
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            state, _ = RecordImport.objects.get_or_create(
                memory=place.memory, sha256=sha256, defaults={"organisation_id": place.memory.organisation_id}
            )
            progress(state.lines)
            file.seek(state.offset)
            while group := _group(file):
                state = _write(place.again(), state, group, refused)
                progress(len(group))
            return state
    except OSError as failure:
        raise Stopped(f"{path} cannot be read: {failure.strerror}.") from None


def again(place: Place, path: Path) -> None:
    """Forget how far the import of a file has come, so that it begins anew."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    RecordImport.objects.filter(memory=place.memory, sha256=sha256).delete()


@dataclass(frozen=True)
class _Line:
    """One line, None when it is longer than a request may be, and where the next one begins."""

    content: bytes | None
    end: int


def _group(file: IO[bytes]) -> list[_Line]:
    return list(islice(_lines(file), TOGETHER))


def _lines(file: IO[bytes]) -> Iterator[_Line]:
    longest = settings.MAX_BODY_BYTES
    while line := file.readline(longest + 1):
        whole = line.endswith(b"\n") or len(line) <= longest
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(longest)
        yield _Line(line if whole else None, file.tell())


@transaction.atomic
def _write(place: Place, state: RecordImport, group: list[_Line], refused: Refused) -> RecordImport:
    current = RecordImport.objects.select_for_update().get(pk=state.pk)
    if (current.lines, current.offset) != (state.lines, state.offset):
        raise Stopped("Another process is importing this file right now.")
    with active.together() as together:
        for line in group:
            current.lines += 1
            current.offset = line.end
            if line.content is not None and not line.content.strip():
                continue
            try:
                # A savepoint of its own: what one line began does not stay when it is refused.
                with together.attempt(), transaction.atomic():
                    records.remember(place, read_draft(_parsed(line.content)))
                current.written += 1
            except UHPError as refusal:
                refused(current.lines, f"{refusal.param}: {refusal.message}" if refusal.param else refusal.message)
                current.refused += 1
    current.save()
    return current


def _parsed(line: bytes | None) -> dict[str, object]:
    if line is None:
        raise InvalidInput(f"A record has at most {settings.MAX_BODY_BYTES} bytes.")
    try:
        return parse_object(line)
    except InvalidInput:
        raise InvalidInput("This is not a JSON object.") from None
