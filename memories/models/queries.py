"""The questions that a memory keeps by name."""

from __future__ import annotations

from django.db import models

from members.ids import PublicIdField


class Query(models.Model):
    """A named query of one memory (Memories §2.13): its body is the words of whoever defined it, not of a record."""

    id = PublicIdField("hqry_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=80)
    description = models.TextField(blank=True, default="")
    params = models.JSONField(default=dict, help_text="JSON Schema of the parameters, as it was given.")
    requires = models.CharField(max_length=5, default="read", help_text="What running it takes, beside read.")
    language = models.CharField(max_length=40)
    body = models.JSONField()
    defined_by = models.CharField(max_length=180, help_text="The principal that defined it as it is.")
    defined_by_type = models.CharField(max_length=5, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "name"], name="query_once_per_name")]

    def __str__(self) -> str:
        return self.name
