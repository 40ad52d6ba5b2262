"""Receiving a file: a multipart form whose one file goes to disk while it is counted, hashed and looked at."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from rest_framework.parsers import BaseParser

from .errors import FileTooLarge, InvalidInput

if TYPE_CHECKING:
    Uploaded = UploadedFile[bytes]
else:
    Uploaded = UploadedFile

FIELD = "file"
# What of a form stands around its file, in bytes: boundaries, headers, the other fields.
AROUND = 64 * 1024


class Watcher(Protocol):
    """Sees the bytes of a file as they pass."""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        ...


@dataclass(frozen=True)
class Received:
    """A file that arrived whole. Its bytes are on disk, and gone when it is closed."""

    bytes: Uploaded
    name: str
    sha256: str
    size: int
    watcher: Any


class Arriving(Uploaded):
    """A private file on the disk that the store is on, so that keeping it is renaming it."""

    def __init__(self, name: str) -> None:
        directory = Path(settings.FILES_INCOMING)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(tempfile.NamedTemporaryFile(dir=directory), name, "", 0)  # noqa: SIM115 - closed by `close`

    def temporary_file_path(self) -> str:
        """Where it is now."""
        assert self.file is not None
        return str(self.file.name)

    def close(self) -> None:
        """Let go of it; it is removed unless it was kept."""
        with contextlib.suppress(FileNotFoundError):
            super().close()


def too_large() -> FileTooLarge:
    """The refusal of a file, with the limit."""
    most: int = settings.MAX_FILE_BYTES
    return FileTooLarge(f"The file is larger than the {most} bytes this server takes.", detail={"max_bytes": most})


def nothing_sent() -> InvalidInput:
    """The refusal of a request that brings no file."""
    return InvalidInput("Send a multipart form whose field file is a file with a name.", param=FIELD)


class Intake(FileUploadHandler):
    """Takes the first file of the field `file`, at most MAX_FILE_BYTES of it, and skips all others."""

    # Told apart from the network's own small reads: one write and one hash for each piece of this size.
    chunk_size = 256 * 1024

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self.watcher = watcher
        self.arriving: Arriving | None = None
        self.hash = hashlib.sha256()
        self.size = 0
        self.too_large = False
        self.complete = False

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        """Take the file, or skip it."""
        super().new_file(field_name, file_name, *args, **kwargs)
        if field_name != FIELD or self.arriving is not None:
            raise SkipFile
        self.arriving = Arriving(file_name)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Write, hash and show the next bytes; a file that grows over the limit is not written any further."""
        assert self.arriving is not None
        self.size += len(raw_data)
        if self.size > settings.MAX_FILE_BYTES:
            self.too_large = True
            # The rest is read and thrown away: a client that is cut off would never see the answer.
            raise StopUpload(connection_reset=False)
        self.hash.update(raw_data)
        self.watcher.feed(raw_data)
        self.arriving.write(raw_data)

    def file_complete(self, file_size: int) -> Uploaded | None:
        """Put the bytes on disk for good, before any row says that they are there."""
        if self.arriving is None or self.complete:
            return None
        self.arriving.flush()
        os.fsync(self.arriving.fileno())
        self.arriving.seek(0)
        self.arriving.size = file_size
        self.complete = True
        return self.arriving

    def upload_interrupted(self) -> None:
        """Throw away what has arrived."""
        self.discard()

    def discard(self) -> None:
        """Throw away what has arrived."""
        if self.arriving is not None:
            self.arriving.close()


class _Counted:
    """A stream that knows how much was read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.total = stream, 0

    def read(self, size: int = -1) -> bytes:
        piece = self.stream.read(size)
        self.total += len(piece)
        return piece


class FileForm(BaseParser):
    """A multipart form with a file, as `{"file": Received, "purpose": ...}`. Nothing of it is held in memory.

    Raises FileTooLarge, and InvalidInput for what is no such form or ends early.
    """

    media_type = "*/*"
    watcher: Callable[[], Watcher]

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        request = (parser_context or {})["request"]
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        if length > 2 * (settings.MAX_FILE_BYTES + AROUND):
            raise too_large()
        intake, counted = Intake(type(self).watcher()), _Counted(stream)
        meta = {**request.META, "CONTENT_TYPE": media_type or ""}
        try:
            fields, _ = MultiPartParser(meta, cast(Any, counted), [intake], "utf-8").parse()
            if intake.too_large:
                raise too_large()
            if counted.total < length:
                raise InvalidInput("The upload ended early.")
            if intake.arriving is None or not intake.complete:
                raise nothing_sent()
        except MultiPartParserError:
            intake.discard()
            raise nothing_sent() from None
        except BaseException:
            intake.discard()
            raise
        received = Received(
            intake.arriving, str(intake.arriving.name), intake.hash.hexdigest(), intake.size, watcher=intake.watcher
        )
        return {**fields.dict(), FIELD: received}
