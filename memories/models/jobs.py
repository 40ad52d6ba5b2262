"""Background work as rows: a message only says which row to look at; lost ones are found, second ones harmless."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone

from members.ids import PublicIdField

# A queued row without a message, or a running one without a sign of life, for this long is taken up again.
LOST_AFTER = timedelta(seconds=60)


class JobQuerySet(models.QuerySet["Job"]):
    """The questions one can ask of background work."""

    def of(self, organisation_id: str) -> JobQuerySet:
        """Those of one organisation."""
        return self.filter(organisation_id=organisation_id)

    def unfinished(self) -> JobQuerySet:
        """Those that are waiting or running."""
        return self.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])

    def lost(self) -> JobQuerySet:
        """Unfinished ones of which nothing was heard for a while."""
        return self.unfinished().filter(heard_at__lt=timezone.now() - LOST_AFTER)


class Job(models.Model):
    """One piece of background work. Its payload holds ids, never what a record says."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = PublicIdField("hjob_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=40)
    memory_id = models.CharField(max_length=80, blank=True, help_text="Kept when the memory is gone.")
    actor = models.CharField(max_length=180, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    payload = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    heard_at = models.DateTimeField(default=timezone.now)

    objects = JobQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "-created_at"], name="job_of_organisation"),
            models.Index(fields=["heard_at"], condition=Q(state__in=["queued", "running"]), name="job_unfinished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
