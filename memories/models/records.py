"""Records: a name and a pointer each; their immutable versions; and the vectors by which they are found."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Func, Q, Value
from django.db.models.functions import Lower
from pgvector.django import HalfVectorField

from members.ids import PublicIdField

# Few versions have a file part; a question about those says so, and is answered from an index of them alone.
HAS_FILE = Q(content__contains=[{"type": "file"}])
# Types whose title is the name of somebody or something.
NAMED = ("entity", "person", "company")


def first_word(field: str) -> Func:
    """The first word of a text, in lower case; an index has it, and names are looked up by it."""
    return Func(Lower(field), Value(" "), Value(1), function="split_part", output_field=models.TextField())


class Record(models.Model):
    """One thing that a memory holds, whatever its versions say."""

    id = PublicIdField("hrec_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="records")
    type = models.CharField(max_length=80)
    head = models.PositiveIntegerField(default=1, help_text="The number of the newest version.")

    def __str__(self) -> str:
        return self.id


class VersionQuerySet(models.QuerySet["Version"]):
    """The questions one can ask of versions."""

    def current(self) -> VersionQuerySet:
        """What is remembered now: neither superseded nor forgotten."""
        return self.filter(invalidated_at=None)

    def as_of(self, instant: datetime) -> VersionQuerySet:
        """What was remembered at an instant; the interval is half open (Memories §4.6)."""
        return self.filter(written_at__lte=instant).filter(Q(invalidated_at=None) | Q(invalidated_at__gt=instant))

    def in_memories(self, memory_ids: Collection[str]) -> VersionQuerySet:
        """Those that lie in one of these memories."""
        return self.filter(memory_id__in=memory_ids)


class Version(models.Model):
    """What a record said from one write to the next. Never changed, only closed."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        SUPERSEDED = "superseded"
        FORGOTTEN = "forgotten"

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    record = models.ForeignKey(Record, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    type = models.CharField(max_length=80)
    title = models.CharField(max_length=300, blank=True, default="")
    content = models.JSONField(default=list)
    attributes = models.JSONField(default=dict)
    references = models.JSONField(default=list)
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    written_at = models.DateTimeField()
    invalidated_at = models.DateTimeField(null=True)
    writer_kind = models.CharField(max_length=20)
    writer_id = models.CharField(max_length=160)
    writer_type = models.CharField(max_length=5, blank=True, default="")
    on_behalf_of = models.CharField(max_length=180, blank=True, default="")
    consolidation_id = models.CharField(max_length=40, blank=True, default="")
    follows = models.JSONField(null=True, help_text="The outside source it comes from: kind, id, name.")
    words = SearchVectorField(null=True)
    session = models.CharField(
        max_length=160, blank=True, default="", help_text="The conversation it was said in: attributes.session_id."
    )
    speaker = models.CharField(
        max_length=120, blank=True, default="", help_text="Who said it: attributes.speaker, or else attributes.author."
    )

    objects = VersionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["record", "number"], name="version_number_once"),
            models.UniqueConstraint(fields=["record"], condition=Q(invalidated_at=None), name="version_one_current"),
            models.CheckConstraint(
                condition=Q(status="active", invalidated_at=None) | ~Q(status="active") & ~Q(invalidated_at=None),
                name="version_closed_when_not_active",
            ),
        ]
        indexes = [
            models.Index(
                fields=["memory", "written_at", "record"], condition=Q(invalidated_at=None), name="version_current"
            ),
            models.Index(fields=["memory", "written_at", "record"], name="version_in_memory"),
            # Where a filter lets most of very many through, the newest of them.
            models.Index(
                fields=["organisation", "-written_at", "-id"], condition=Q(invalidated_at=None), name="version_newest"
            ),
            GinIndex(fields=["words"], name="version_words"),
            # What is derived from a record, and when a memory last closed something.
            # Looked into again and again by one question, so nothing waits in a list beside it.
            GinIndex(fields=["references"], opclasses=["jsonb_path_ops"], name="version_references", fastupdate=False),
            # What a filter asks to be equal.
            GinIndex(fields=["attributes"], opclasses=["jsonb_path_ops"], name="version_attributes", fastupdate=False),
            models.Index(
                fields=["memory", "invalidated_at"], condition=~Q(invalidated_at=None), name="version_closed_in_memory"
            ),
            GinIndex(
                fields=["content"],
                opclasses=["jsonb_path_ops"],
                condition=HAS_FILE,
                name="version_files",
                fastupdate=False,
            ),
            # What was said before and after, in one conversation.
            models.Index(
                fields=["memory", "session", "written_at", "record"],
                condition=~Q(session=""),
                name="version_in_session",
            ),
            # Whether somebody or something of a name is known in a memory; a name is looked up by its first word.
            models.Index(first_word("speaker"), "memory", condition=~Q(speaker=""), name="version_by_speaker"),
            models.Index(first_word("title"), "memory", condition=Q(type__in=NAMED), name="version_by_name"),
            # What a consolidation asks at every step: who and what there is, and what has ended.
            models.Index(
                fields=["memory", "written_at", "record"],
                condition=Q(type__in=NAMED, invalidated_at=None),
                name="version_named",
            ),
            models.Index(
                fields=["memory", "valid_to", "record"],
                condition=Q(valid_to__isnull=False, invalidated_at=None),
                name="version_ended",
            ),
            # What goes into agents' instructions.
            models.Index(
                fields=["memory", "written_at", "record"],
                condition=Q(attributes__contains={"standing": True}, invalidated_at=None),
                name="version_standing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.record_id} v{self.number}"


class Embedding(models.Model):
    """A vector of one version by one model; several models can stand side by side.

    A version has a vector of its own words and, said in a conversation, one of them with what was said just before.
    """

    class Aspect(models.TextChoices):
        OWN = "own"
        CONTEXT = "context"

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    version = models.ForeignKey(Version, on_delete=models.CASCADE, related_name="embeddings", db_index=False)
    model = models.CharField(max_length=80)
    aspect = models.CharField(max_length=7, choices=Aspect.choices, default=Aspect.OWN)
    vector = HalfVectorField()
    current = models.BooleanField(default=True)
    indexed = models.BooleanField(
        default=False, help_text="Taken into the vector index of its organisation; the others are scanned."
    )
    preceding = models.BigIntegerField(
        null=True, help_text="The version said just before, whose words are in the vector too; it goes when that goes."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "model", "aspect"], name="embedding_once")]
        indexes = [
            models.Index(fields=["memory", "model", "aspect"], condition=Q(current=True), name="embedding_current"),
            models.Index(fields=["memory", "model", "aspect"], name="embedding_in_memory"),
            models.Index(
                fields=["organisation", "model", "aspect", "indexed"],
                condition=Q(current=True),
                name="embedding_of_organisation",
            ),
            models.Index(fields=["preceding"], condition=~Q(preceding=None), name="embedding_preceding"),
        ]

    def __str__(self) -> str:
        return f"{self.version_id} by {self.model}"
