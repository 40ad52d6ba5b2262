"""By which model's vectors each organisation is answered, and which versions are still without a vector."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class ActiveModel(models.Model):
    """The model of one organisation's vectors. It changes once every record has a vector by the next one."""

    organisation = models.OneToOneField(
        "members.Organisation", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    model = models.CharField(max_length=80)
    since = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.model


class Awaited(models.Model):
    """A version that a vector is still to be made of. It holds no more than its number, and may outlive the version."""

    version_id = models.BigIntegerField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    since = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["organisation", "version_id"], name="awaited_of_organisation")]

    def __str__(self) -> str:
        return str(self.version_id)
