"""When a member last read and last wrote in a memory: what shows that access is there and never used."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection, models
from django.utils import timezone

from members.ids import to_uuid

# Noted at most this often, so that reading does not turn every request into a write.
STEP = timedelta(minutes=1)


class LastUseQuerySet(models.QuerySet["LastUse"]):
    """The questions one can ask of use, and how it is noted."""

    def note(self, organisation_id: str, member_id: str, memory_id: str, *, wrote: bool = False) -> None:
        """Note that a member read, or wrote, in a memory just now; one statement, mostly without a write."""
        field = "written_at" if wrote else "read_at"
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                INSERT INTO memories_lastuse (organisation_id, member_id, memory_id, {field})
                SELECT %s, %s, id, now() FROM memories_memory WHERE id = %s AND deletion IS NULL
                ON CONFLICT (member_id, memory_id) DO UPDATE SET {field} = now()
                WHERE memories_lastuse.{field} IS NULL OR memories_lastuse.{field} < %s
                """,  # noqa: S608 - one of two names written above
                [to_uuid(organisation_id, "org_"), member_id, to_uuid(memory_id, "hmem_"), timezone.now() - STEP],
            )


class LastUse(models.Model):
    """One member in one memory."""

    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    member = models.ForeignKey("members.Member", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+")
    read_at = models.DateTimeField(null=True)
    written_at = models.DateTimeField(null=True)

    objects = LastUseQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "memory"], name="last_use_once")]

    def __str__(self) -> str:
        return f"{self.member_id} in {self.memory_id}"
