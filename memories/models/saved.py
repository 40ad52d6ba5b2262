"""Snapshots: names for instants of one memory."""

from __future__ import annotations

from django.db import models

from members.ids import PublicIdField


class Snapshot(models.Model):
    """A name for an instant; it copies nothing, and reading as of `at` gives what was readable then."""

    id = PublicIdField("hsnp_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=160)
    message = models.TextField(blank=True, default="")
    at = models.DateTimeField()
    taken_by = models.CharField(max_length=180, help_text="The principal that took it.")

    class Meta:
        # Two snapshots of one memory never share an instant, so that "newest first" says everything.
        constraints = [models.UniqueConstraint(fields=["memory", "at"], name="snapshot_instant_once")]

    def __str__(self) -> str:
        return self.name
