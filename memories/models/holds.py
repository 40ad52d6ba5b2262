"""Holds: what must be kept until somebody says otherwise."""

from __future__ import annotations

from collections.abc import Collection

from django.db import models
from django.db.models import Q

from members.ids import PublicIdField


class HoldQuerySet(models.QuerySet["Hold"]):
    """The questions one can ask of holds."""

    def of(self, organisation_id: str) -> HoldQuerySet:
        """Those of one organisation."""
        return self.filter(organisation_id=organisation_id)

    def standing(self) -> HoldQuerySet:
        """Those that were not lifted."""
        return self.filter(lifted_at=None)

    def over(self, memory_ids: Collection[str]) -> HoldQuerySet:
        """Those on whole memories that cover any of these: on the memory itself, or on one above it."""
        return self.filter(record=None, memory__downward__descendant__in=memory_ids)

    def inside(self, memory_id: str) -> HoldQuerySet:
        """Those at or below a memory, on whole memories and on single records."""
        return self.filter(memory__upward__ancestor=memory_id)


class Hold(models.Model):
    """A memory with everything below it, or one record, that must not be removed; lifted ones stay as evidence."""

    id = PublicIdField("hold_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    # Without a constraint: once lifted, a hold outlives what it was on.
    memory = models.ForeignKey(
        "memories.Memory", on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    record = models.ForeignKey(
        "memories.Record", on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False, null=True
    )
    reason = models.CharField(max_length=500)
    placed_by = models.CharField(max_length=180)
    placed_at = models.DateTimeField()
    lifted_by = models.CharField(max_length=180, blank=True, default="")
    lifted_at = models.DateTimeField(null=True)

    objects = HoldQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["memory"], condition=Q(lifted_at=None), name="hold_standing_on_memory"),
            models.Index(
                fields=["record"], condition=Q(lifted_at=None, record__isnull=False), name="hold_standing_on_record"
            ),
            models.Index(fields=["memory", "-placed_at"], name="hold_of_memory"),
        ]

    def __str__(self) -> str:
        return f"{self.id} on {self.record_id or self.memory_id}"
