"""The verbs on files: keep what was uploaded, look up what a writer may name, open what a reader may read, sweep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO, Any

import structlog
from django.conf import settings
from django.core.files import File as Bytes
from django.db import IntegrityError, transaction
from django.utils import timezone

from members.callers import Caller
from memories.models import Blob, File
from memories.models.files import named_at, new_name, orphans, release, remove_bytes, store
from uhp_site.http.errors import RecordNotFound

from . import records
from .sight import Place

__all__ = ["Content", "Upload", "keep", "keep_as", "open_part", "release", "sweep"]

# A file that no record names is kept this long: time enough to write the record.
UNNAMED_FOR = timedelta(hours=24)
# Bytes without a row are somebody's upload right now, or left behind; this old they are the latter.
ORPHANED_AFTER = timedelta(hours=1)
BATCH = 200
ATTEMPTS = 3

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Upload:
    """Bytes that have arrived, with what was learnt on the way: their hash, size and media type."""

    bytes: IO[bytes] | Bytes[bytes]
    name: str
    sha256: str
    size: int
    media_type: str
    purpose: str = "user_data"


@dataclass(frozen=True)
class Content:
    """The bytes behind one part of a record, open; whoever takes them closes them."""

    bytes: IO[bytes]
    name: str
    media_type: str
    size: int
    sha256: str


def keep(caller: Caller, upload: Upload) -> File:
    """Keep an upload as a file of the caller. Bytes first, then the row: a row never lacks its bytes."""
    return keep_as(caller.organisation_id, upload, uploaded_by=caller.member.principal, created_at=timezone.now())


def keep_as(organisation_id: str, upload: Upload, *, uploaded_by: str, created_at: datetime) -> File:
    """Keep an upload in the name of a principal; bytes that the organisation has already are not kept twice."""
    saved = ""
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                blob = _blob(organisation_id, upload, saved)
                if blob is not None:
                    file = File.objects.create(
                        organisation_id=organisation_id,
                        blob=blob,
                        uploaded_by=uploaded_by,
                        name=upload.name,
                        media_type=upload.media_type,
                        purpose=upload.purpose,
                        created_at=created_at,
                    )
                    if saved and blob.name != saved:
                        transaction.on_commit(partial(remove_bytes, [saved]))
                    return file
        except IntegrityError:
            # The same bytes arrived twice at the same moment, and the other upload was first.
            continue
        upload.bytes.seek(0)
        content = upload.bytes if isinstance(upload.bytes, Bytes) else Bytes(upload.bytes)
        saved = saved or store().save(new_name(organisation_id), content)
    raise RuntimeError("the row of the bytes changed again and again")


def _blob(organisation_id: str, upload: Upload, saved: str) -> Blob | None:
    # Locked, so that nobody removes it as unused before its new file is there.
    blob = Blob.objects.select_for_update().filter(organisation_id=organisation_id, sha256=upload.sha256).first()
    if blob is None and saved:
        return Blob.objects.create(organisation_id=organisation_id, sha256=upload.sha256, size=upload.size, name=saved)
    if blob is not None and not store().exists(blob.name):
        # The store has lost them; here they are again.
        if not saved:
            return None
        blob.name = saved
        blob.save(update_fields=["name"])
    return blob


def open_part(place: Place, record_id: str, index: str, as_of: datetime | None = None) -> Content:
    """The bytes of one part of a record, now or at an instant. Whoever reads the record reads them.

    Raises RecordNotFound also for a part that is not a file, one that is not there, and bytes that are gone.
    """
    version = records.get(place, record_id, as_of)
    parts = version.draft.content
    if not index.isascii() or not index.isdigit() or len(index) > 6 or int(index) >= len(parts):
        raise RecordNotFound()
    part = parts[int(index)]
    if part.get("type") != "file":
        raise RecordNotFound()
    files = File.objects.of(place.caller.organisation_id).select_related("blob")
    file = files.filter(pk=part["file"]["id"]).first()
    if file is None:
        raise RecordNotFound()
    try:
        opened = file.blob.open()
    except FileNotFoundError:
        log.error("bytes_missing", file_id=file.id)
        raise RecordNotFound() from None
    return Content(opened, file.name, file.media_type, file.size, file.blob.sha256)


def sweep() -> tuple[int, int]:
    """Remove files that nobody named for a day, and bytes that a dying process left behind; returns how many each."""
    files = 0
    while files_in_batch := _sweep_unnamed():
        files += files_in_batch
    _sweep_incoming()
    return files, _sweep_orphans()


def _sweep_incoming() -> None:
    # What arrived while a process died; a process that lives removes its own.
    directory = Path(settings.FILES_INCOMING)
    if directory.is_dir():
        for path in directory.iterdir():
            if path.stat().st_mtime < (timezone.now() - UNNAMED_FOR).timestamp():
                path.unlink(missing_ok=True)


@transaction.atomic
def _sweep_unnamed() -> int:
    old = File.objects.filter(created_at__lt=timezone.now() - UNNAMED_FOR).unnamed()
    ids = list(old.order_by("pk").values_list("id", flat=True)[:BATCH])
    release(ids)
    # Those that were named since stay, and are not counted.
    return len(ids) - File.objects.filter(pk__in=ids).count()


def _sweep_orphans() -> int:
    removed = 0
    kept = store()
    for organisation in _listed("", folders=True):
        for bucket in _listed(organisation, folders=True):
            names = [f"{organisation}/{bucket}/{name}" for name in _listed(f"{organisation}/{bucket}")]
            old = [name for name in names if (at := named_at(name)) and at < timezone.now() - ORPHANED_AFTER]
            for start in range(0, len(old), BATCH):
                lost = orphans(old[start : start + BATCH])
                remove_bytes(lost)
                removed += len(lost)
            if not names:
                _remove_folder(kept, f"{organisation}/{bucket}")
    return removed


def _listed(folder: str, *, folders: bool = False) -> list[str]:
    try:
        inner, names = store().listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(inner if folders else names)


def _remove_folder(kept: Any, folder: str) -> None:
    # New names go into the folder of their time, so an empty folder that is old stays empty.
    at = named_at(folder.rpartition("/")[2].ljust(32, "f"))
    if at and at < timezone.now() - ORPHANED_AFTER:
        try:
            kept.delete(folder)
        except OSError:
            log.info("folder_not_removed", folder=folder)
