"""How far an import of records has come, so that one that was stopped goes on where it was."""

from __future__ import annotations

from django.db import models


class RecordImport(models.Model):
    """One file of records on its way into one memory. Kept in step with the records: same transactions."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64, help_text="Of the whole file.")
    lines = models.PositiveBigIntegerField(default=0, help_text="How many lines are behind it.")
    offset = models.PositiveBigIntegerField(default=0, help_text="Where the next line begins, in bytes.")
    written = models.PositiveBigIntegerField(default=0)
    refused = models.PositiveBigIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "sha256"], name="import_once_per_file")]

    def __str__(self) -> str:
        return f"{self.lines} lines into {self.memory_id}"
