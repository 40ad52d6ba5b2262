from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models.functions import Now

FRESH = timedelta(seconds=30)


class Heartbeat(models.Model):
    """The last time the worker ran what the schedule sent it: one row, stamped with the database's clock."""

    ONLY = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="heartbeat_is_one_row")]

    def __str__(self) -> str:
        return self.at.isoformat()

    @classmethod
    def stamp(cls) -> None:
        """Record that the worker is at work now."""
        if not cls.objects.filter(pk=cls.ONLY).update(at=Now()):
            cls.objects.get_or_create(pk=cls.ONLY, defaults={"at": Now()})

    @classmethod
    def is_fresh(cls) -> bool:
        """Tell whether the worker was at work within the last 30 seconds."""
        return cls.objects.filter(pk=cls.ONLY, at__gt=Now() - FRESH).exists()
