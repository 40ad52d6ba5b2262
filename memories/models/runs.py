"""Consolidation as rows: runs, what each changed, conflicts for a person, what is not wanted again, and when it begins.

Nothing here says what a record says: changes and conflicts name records and versions, refusals keep a keyed hash.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from members.ids import PublicIdField


class RunQuerySet(models.QuerySet["Run"]):
    """The questions one can ask of runs."""

    def active(self) -> RunQuerySet:
        """Those that wait or run."""
        return self.filter(state__in=[Run.State.QUEUED, Run.State.RUNNING])

    def of_memory(self, memory_id: str) -> RunQuerySet:
        """Those of one memory, newest first."""
        return self.filter(memory_id=memory_id).order_by("-created_at", "-id")


class Run(models.Model):
    """One consolidation of one memory: what it read, changed and used (Memories §2.11).

    `through_at` and `through_id` are the position of the last episode that was read; a run begins at the one where the
    run before it ended, and reads no further than `horizon`.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        COMPLETED = "completed"
        STOPPED = "stopped"
        FAILED = "failed"

    class Trigger(models.TextChoices):
        REQUEST = "request"
        SCHEDULE = "schedule"
        IDLE = "idle"

    class Unit(models.TextChoices):
        TOKENS = "tokens"
        EPISODES = "episodes"

    id = PublicIdField("hcon_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    job_id = models.CharField(max_length=80, blank=True, default="")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    trigger = models.CharField(max_length=10, choices=Trigger.choices, default=Trigger.REQUEST)
    actor = models.CharField(max_length=180, blank=True, default="", help_text="Who started it; nobody: the server.")
    engine = models.CharField(max_length=80, help_text="The provider id that its records are written by.")
    budget_limit = models.PositiveBigIntegerField(null=True)
    budget_unit = models.CharField(max_length=10, choices=Unit.choices, blank=True, default="")
    exhausted = models.BooleanField(default=False)
    stop_asked = models.BooleanField(default=False)
    horizon = models.DateTimeField(null=True)
    through_at = models.DateTimeField(null=True)
    through_id = models.CharField(max_length=80, blank=True, default="")
    episodes = models.PositiveIntegerField(default=0)
    changes = models.PositiveIntegerField(default=0, help_text="How many changes it recorded, of all kinds.")
    created = models.PositiveIntegerField(default=0)
    superseded = models.PositiveIntegerField(default=0)
    forgotten = models.PositiveIntegerField(default=0)
    supported = models.PositiveIntegerField(default=0)
    conflicts = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    reverted_at = models.DateTimeField(null=True, help_text="When something of it was last taken back.")

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["memory"], condition=Q(state__in=["queued", "running"]), name="run_one_active"
            ),
        ]
        indexes = [
            models.Index(fields=["memory", "-created_at", "-id"], name="run_of_memory"),
            models.Index(fields=["organisation", "-created_at", "-id"], name="run_of_organisation"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in (Run.State.QUEUED, Run.State.RUNNING)

    @property
    def tokens(self) -> int:
        """What it has used so far."""
        return self.input_tokens + self.output_tokens


class RunChange(models.Model):
    """One thing that a run did to one record, and what became of that when somebody took it back."""

    class Kind(models.TextChoices):
        CREATED = "created"
        SUPERSEDED = "superseded"
        FORGOTTEN = "forgotten"
        SUPPORTED = "supported"

    class Outcome(models.TextChoices):
        RESTORED = "restored"
        FORGOTTEN = "forgotten"
        SKIPPED = "skipped"

    id = PublicIdField("hchg_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="made", db_index=False)
    position = models.PositiveIntegerField(help_text="From 1, in the order in which the run did them.")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # Without a constraint: an erased record leaves behind that something was done to it, and not what it said.
    record = models.ForeignKey(
        "memories.Record", on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    before = models.PositiveIntegerField(null=True, help_text="The version that was current before.")
    after = models.PositiveIntegerField(null=True, help_text="The version that the run wrote.")
    sources = models.JSONField(default=list, help_text="The ids of the episodes it rests on.")
    reason = models.CharField(max_length=20)
    content_hash = models.CharField(max_length=64, blank=True, default="", help_text="Keyed; of what the run wrote.")
    outcome = models.CharField(max_length=10, choices=Outcome.choices, blank=True, default="")
    outcome_at = models.DateTimeField(null=True)
    accepted_by = models.CharField(max_length=180, blank=True, default="", help_text="Who looked at it and agreed.")
    accepted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="run_change_once")]
        indexes = [
            models.Index(fields=["run", "record", "position"], name="run_change_of_record"),
            models.Index(fields=["record"], name="run_change_by_record"),
            models.Index(fields=["memory"], name="run_change_in_memory"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.record_id}"


class Conflict(models.Model):
    """Two records that a person has to decide between, or one whose end has come and which a member wrote."""

    class State(models.TextChoices):
        OPEN = "open"
        DECIDED = "decided"
        WITHDRAWN = "withdrawn"

    class Decision(models.TextChoices):
        THIS = "this"
        THAT = "that"
        BOTH = "both"
        NEW = "new"

    id = PublicIdField("hcnf_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="found", db_index=True)
    this = models.ForeignKey(
        "memories.Record",
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
        help_text="What was there.",
    )
    that = models.ForeignKey(
        "memories.Record",
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
        null=True,
        help_text="What the run wrote beside it; nothing when the first should only end.",
    )
    reason = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    decision = models.CharField(max_length=4, choices=Decision.choices, blank=True, default="")
    decided_by = models.CharField(max_length=180, blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["this"], condition=Q(that=None), name="conflict_end_asked_once"),
            models.UniqueConstraint(fields=["this", "that"], name="conflict_pair_once"),
        ]
        indexes = [
            models.Index(fields=["memory", "-created_at", "-id"], condition=Q(state="open"), name="conflict_open"),
            models.Index(fields=["memory"], name="conflict_in_memory"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"


class Refused(models.Model):
    """What a person did not want in a memory, as a keyed hash: it can be recognised and not read."""

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    content_hash = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "content_hash"], name="refused_once")]

    def __str__(self) -> str:
        return self.content_hash[:12]


class Schedule(models.Model):
    """When consolidations of a memory begin by themselves; the row without a memory is the organisation's own rule.

    `due_at` is when to look whether one should begin; null while there is nothing new, or nothing begins by itself.
    """

    class Mode(models.TextChoices):
        INHERIT = "inherit"
        OFF = "off"
        IDLE = "idle"
        HOURLY = "hourly"
        NIGHTLY = "nightly"
        CRON = "cron"

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", null=True, db_index=False)
    mode = models.CharField(max_length=10, choices=Mode.choices, default=Mode.INHERIT)
    cron = models.CharField(max_length=100, blank=True, default="")
    idle_episodes = models.PositiveIntegerField(null=True, help_text="Begin at so many new episodes.")
    idle_minutes = models.PositiveIntegerField(null=True, help_text="Begin after so many quiet minutes.")
    engine = models.JSONField(default=dict, help_text="Which engine consolidates the memory, and what it may do.")
    asks = models.JSONField(default=dict, help_text="When a run of the memory asks for a person.")
    due_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["memory"], name="schedule_of_memory_once"),
            models.UniqueConstraint(
                fields=["organisation"], condition=Q(memory=None), name="schedule_of_organisation_once"
            ),
        ]
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="schedule_due")]

    def __str__(self) -> str:
        return f"{self.mode} {self.memory_id or self.organisation_id}"
