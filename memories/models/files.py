"""Files and their bytes, kept once per organisation and hash; what names a file is the versions, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, cast

import structlog
import uuid_utils
from django.core.files.storage import Storage, storages
from django.db import models, transaction
from django.db.models import Exists, F, Func, JSONField, OuterRef, Q

from members.ids import PublicIdField

from .records import HAS_FILE, Version
from .review import Held

log = structlog.get_logger(__name__)


def store() -> Storage:
    """Where bytes are kept: a directory of the data directory, or a bucket."""
    return storages["files"]


def new_name(organisation_id: str) -> str:
    """A name in the store that nothing has had before. It begins with the time, so the sweep can tell its age."""
    unique = uuid_utils.uuid7().hex
    return f"{organisation_id}/{unique[:6]}/{unique}"


def named_at(name: str) -> datetime | None:
    """When a name in the store was made; None for a name that this server did not make."""
    unique = name.rpartition("/")[2]
    try:
        return datetime.fromtimestamp(int(unique[:12], 16) / 1000, UTC) if len(unique) == 32 else None
    except (ValueError, OverflowError, OSError):
        return None


class Blob(models.Model):
    """Bytes that at least one file consists of."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    name = models.CharField(max_length=120, unique=True, help_text="Where the store keeps it.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "sha256"], name="blob_once_per_hash")]

    def __str__(self) -> str:
        return self.sha256

    def open(self) -> IO[bytes]:
        """The bytes, to be read and closed. Raises FileNotFoundError when the store has lost them."""
        return cast("IO[bytes]", store().open(self.name, "rb"))


def part_naming(file_id: Any) -> Func:
    """The content of a version that names the file with this id, as far as `contains` compares it."""
    return Func(
        file_id,
        template="jsonb_build_array(jsonb_build_object('type', 'file', 'file', jsonb_build_object("
        "'id', 'file_' || replace((%(expressions)s)::text, '-', ''))))",
        output_field=JSONField(),
    )


class FileQuerySet(models.QuerySet["File"]):
    """The questions one can ask of files."""

    def of(self, organisation_id: str) -> FileQuerySet:
        """Those of one organisation: the first condition of every lookup."""
        return self.filter(organisation_id=organisation_id)

    def named(self, within: Q | None = None) -> FileQuerySet:
        """Those that some version names, of those versions that meet a condition."""
        return self.filter(Exists(self._naming(within or Q())))

    def unnamed(self) -> FileQuerySet:
        """Those that no version names, and no draft that waits for a review or can come back from one."""
        naming = Q(organisation=OuterRef("organisation"), draft__content__contains=part_naming(OuterRef("pk")))
        return self.filter(~Exists(self._naming(Q())), ~Exists(Held.objects.filter(naming)))

    def hold(self) -> list[File]:
        """Lock them, so that nobody removes or names them meanwhile; those being removed are gone from the answer."""
        return list(self.select_for_update(of=("self",)).select_related("blob").order_by("pk"))

    @staticmethod
    def _naming(within: Q) -> models.QuerySet[Version]:
        same = Q(organisation=OuterRef("organisation"), content__contains=part_naming(OuterRef("pk")))
        return Version.objects.filter(HAS_FILE, same, within)


class File(models.Model):
    """What somebody uploaded, by the name they gave it. Its bytes may be another file's, too."""

    id = PublicIdField("file_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="files")
    uploaded_by = models.CharField(max_length=180, help_text="The principal that sent it, and may name it in a record.")
    name = models.CharField(max_length=255)
    media_type = models.CharField(max_length=120, help_text="Told from the bytes.")
    purpose = models.CharField(max_length=40, default="user_data")
    created_at = models.DateTimeField()

    objects = FileQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "created_at"], name="file_of_organisation"),
            models.Index(fields=["created_at"], name="file_by_age"),
        ]

    if TYPE_CHECKING:
        blob_id: int

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.blob.size


def files_named_in(versions: models.QuerySet[Version]) -> set[str]:
    """The ids of the files that some versions name: to be asked before the versions are removed."""
    found: set[str] = set()
    for content in versions.filter(HAS_FILE).order_by().values_list("content", flat=True).iterator(chunk_size=200):
        found |= {part["file"]["id"] for part in content if part.get("type") == "file"}
    return found


def release(file_ids: Collection[str]) -> list[str]:
    """Remove those of the files that no version names any more, and the bytes that no other file consists of.

    Must run in the transaction that removed the versions, after it did. Rows go with that transaction, bytes right
    after it; when the process ends in between, the sweep finds them. Returns where the bytes were in the store, so
    that an erasure can see for itself that they are gone.
    """
    if not file_ids:
        return []
    held = File.objects.filter(pk__in=list(file_ids)).hold()
    # Asked again under the lock: whoever wanted to name one of them has done so by now, or will not find it.
    gone = list(File.objects.filter(pk__in=[file.id for file in held]).unnamed().values_list("id", "blob_id"))
    File.objects.filter(pk__in=[file_id for file_id, _ in gone]).delete()
    blobs = Blob.objects.filter(pk__in={blob_id for _, blob_id in gone})
    locked = [blob.pk for blob in blobs.select_for_update().order_by("pk")]
    unused = Blob.objects.filter(~Exists(File.objects.filter(blob=OuterRef("pk"))), pk__in=locked)
    names = list(unused.values_list("name", flat=True))
    Blob.objects.filter(name__in=names).delete()
    transaction.on_commit(lambda: remove_bytes(names))
    return names


def remove_bytes(names: Iterable[str]) -> None:
    """Delete bytes from the store. What cannot be deleted now is left to the sweep, and logged."""
    for name in names:
        try:
            store().delete(name)
        except Exception:
            log.warning("bytes_not_removed", name=name, exc_info=True)


def orphans(names: Sequence[str]) -> list[str]:
    """Those names in the store that belong to no row."""
    known = set(Blob.objects.filter(name__in=names).values_list(F("name"), flat=True))
    return [name for name in names if name not in known]
