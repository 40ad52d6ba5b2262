"""Review as rows: what a memory asks for, drafts that wait and are no records yet, and what a person looks at.

A held draft is nowhere else: as long as it waits, nothing that reads records can come across it.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from members.ids import PublicIdField


class ReviewPolicy(models.Model):
    """What one memory asks for itself; what it leaves empty is as its parent has it."""

    class Mode(models.TextChoices):
        OFF = "off"
        FLAG = "flag"
        HOLD = "hold"

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.OneToOneField("memories.Memory", on_delete=models.CASCADE, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode.choices, blank=True, default="")
    rules = models.JSONField(null=True, help_text="What is asked for in particular cases, the first that fits.")
    accept_after_days = models.PositiveSmallIntegerField(null=True, help_text="0: never by itself.")
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.mode or 'as the parent'} on {self.memory_id}"


class Held(models.Model):
    """A draft that waits for a person: of a new record, whose id it has already, or of the next version of one.

    What it says is emptied once it is decided and the decision cannot be undone any more.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        APPROVED = "approved"
        DECLINED = "declined"
        WITHDRAWN = "withdrawn"

    id = PublicIdField("hhld_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    # Without a constraint: of a new record there is no row yet.
    record_id = models.CharField(max_length=80)
    base = models.PositiveIntegerField(null=True, help_text="The version it was based on; none for a new record.")
    reopens = models.BooleanField(default=False, help_text="The version it is based on was forgotten with an approval.")
    draft = models.JSONField(help_text="As exports write it; null once it is not needed any more.", null=True)
    content_hash = models.CharField(max_length=64, blank=True, default="", help_text="Keyed.")
    writer_kind = models.CharField(max_length=20)
    writer_id = models.CharField(max_length=160)
    writer_type = models.CharField(max_length=5, blank=True, default="")
    on_behalf_of = models.CharField(max_length=180, blank=True, default="")
    consolidation_id = models.CharField(max_length=40, blank=True, default="")
    follows = models.JSONField(null=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    reviewer = models.CharField(max_length=180, blank=True, default="")
    note = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "memories_held"
        indexes = [
            models.Index(fields=["memory", "record_id"], name="held_of_record"),
            models.Index(fields=["record_id"], name="held_by_record"),
            models.Index(
                fields=["memory", "content_hash"], condition=Q(state="waiting"), name="held_waiting_in_memory"
            ),
            models.Index(fields=["decided_at"], condition=Q(draft__isnull=False), name="held_with_words"),
            models.Index(fields=["consolidation_id"], condition=~Q(consolidation_id=""), name="held_by_run"),
        ]

    def __str__(self) -> str:
        return f"{self.record_id} {self.state}"


class ReviewItem(models.Model):
    """One thing for a person to look at: a record as it was written, one that waits, a conflict, or a run.

    It names records and versions, and says nothing of what they say. One that is open stands for all that is the same.
    """

    class Kind(models.TextChoices):
        NEW = "new"
        REVISED = "revised"
        CONFLICT = "conflict"
        RUN = "run"

    class State(models.TextChoices):
        OPEN = "open"
        KEPT = "kept"
        DECLINED = "declined"
        DISMISSED = "dismissed"
        ACCEPTED = "accepted"
        WITHDRAWN = "withdrawn"

    id = PublicIdField("hrev_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    key = models.CharField(max_length=120, help_text="What is the same has the same.")
    record_id = models.CharField(max_length=80, blank=True, default="")
    version = models.PositiveIntegerField(null=True, help_text="The version that is looked at; none while it waits.")
    held = models.ForeignKey(Held, on_delete=models.CASCADE, null=True, related_name="items")
    subject = models.CharField(max_length=80, blank=True, default="", help_text="The conflict or the run.")
    content_hash = models.CharField(max_length=64, blank=True, default="", help_text="Keyed.")
    signals = models.JSONField(
        default=list, help_text="Names, weights and reasons; nothing of the text. Of other records their ids."
    )
    weight = models.FloatField(default=0.0, help_text="Of the strongest signal.")
    writer = models.CharField(max_length=180, blank=True, default="", help_text="The principal that wrote it.")
    writer_type = models.CharField(max_length=10, blank=True, default="")
    on_behalf_of = models.CharField(max_length=180, blank=True, default="")
    type = models.CharField(max_length=80, blank=True, default="")
    standing = models.BooleanField(default=False)
    to_compare = models.BooleanField(default=False, help_text="With what its memory says; then that is a reason, too.")
    times = models.PositiveIntegerField(default=1, help_text="How often the same was found.")
    also = models.JSONField(default=list, help_text="Other new records that say the same.")
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, help_text="When it is accepted by itself.")
    reviewer = models.CharField(max_length=180, blank=True, default="")
    decided_at = models.DateTimeField(null=True)
    note = models.CharField(max_length=500, blank=True, default="")
    undo = models.JSONField(null=True, help_text="What taking the decision back needs: an action and versions.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["memory", "key"], condition=Q(state="open"), name="review_item_open_once"),
        ]
        indexes = [
            models.Index(fields=["memory", "created_at", "id"], condition=Q(state="open"), name="review_item_oldest"),
            models.Index(fields=["memory", "-weight", "id"], condition=Q(state="open"), name="review_item_strongest"),
            models.Index(fields=["memory", "key"], name="review_item_by_key"),
            models.Index(fields=["memory", "writer", "-created_at"], name="review_item_of_writer"),
            models.Index(fields=["record_id"], name="review_item_of_record"),
            models.Index(
                fields=["reviewer", "-decided_at"], condition=Q(undo__isnull=False), name="review_item_undoable"
            ),
            models.Index(fields=["due_at"], condition=Q(state="open", due_at__isnull=False), name="review_item_due"),
            models.Index(
                fields=["organisation", "created_at"],
                condition=Q(state="open", to_compare=True),
                name="review_item_to_compare",
            ),
            models.Index(fields=["organisation", "decided_at"], name="review_item_decided"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
