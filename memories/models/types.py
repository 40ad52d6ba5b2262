"""The types of record that an organisation registered."""

from __future__ import annotations

from django.db import models


class TypeDefinition(models.Model):
    """One extension type: its definition as it was registered, checked by `record_types.read_type`."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    type = models.CharField(max_length=80)
    definition = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "type"], name="type_once")]

    def __str__(self) -> str:
        return self.type
