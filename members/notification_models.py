"""What people are told of: a digest by mail for each, webhooks of an organisation or a person, and deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.db import models

from .ids import PublicIdField

if TYPE_CHECKING:
    from .callers import Caller


class DigestChoice(models.Model):
    """When a member gets mail about what waits for them. The row is also the claim on a slot: see `digests.take`."""

    class Frequency(models.TextChoices):
        OFF = "off", "Never"
        DAILY = "daily", "Every day"
        WEEKLY = "weekly", "Once a week"

    class Outcome(models.TextChoices):
        SENDING = "sending", "Taken up; what became of it is not known"
        SENT = "sent"
        EMPTY = "empty", "There was nothing to say"
        FAILED = "failed", "The mail server did not take it"

    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+")
    member = models.OneToOneField(
        "members.Member", on_delete=models.CASCADE, primary_key=True, related_name="digest_choice"
    )
    frequency = models.CharField(max_length=6, choices=Frequency.choices, default=Frequency.OFF)
    hour = models.PositiveSmallIntegerField(default=8)
    weekday = models.PositiveSmallIntegerField(default=0, help_text="Of a weekly one; Monday is 0.")
    time_zone = models.CharField(max_length=64, default="UTC", help_text="A name of the IANA database.")
    origin = models.CharField(max_length=300, help_text="Where the console was when this was set: links lead there.")
    next_at = models.DateTimeField(null=True, help_text="The next slot; none while it is off.")
    slot_at = models.DateTimeField(null=True, help_text="The slot that was taken up last.")
    outcome = models.CharField(max_length=7, blank=True, choices=Outcome.choices)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(hour__lte=23, weekday__lte=6) & models.Q(frequency__in=["off", "daily", "weekly"]),
                name="digest_choice_known",
            )
        ]
        indexes = [models.Index(fields=["next_at"], condition=models.Q(next_at__isnull=False), name="digest_due")]

    def __str__(self) -> str:
        return f"{self.frequency} for {self.member_id}"


class WebhookQuerySet(models.QuerySet["Webhook"]):
    """The questions one asks of webhooks."""

    def of(self, caller: Caller) -> WebhookQuerySet:
        """Those that a caller sets: their own, and for owners those of the organisation."""
        theirs = models.Q(member=caller.member)
        if caller.member.is_owner:
            theirs |= models.Q(member=None)
        return self.filter(theirs, organisation_id=caller.organisation_id)

    def given_up(self) -> WebhookQuerySet:
        """Those that are paused because nothing arrived any more: somebody has to look after them."""
        return self.exclude(paused_at=None).exclude(paused_because=Webhook.Paused.PERSON)


class Webhook(models.Model):
    """An address that is told what happens in an organisation, or of it what one person could be told.

    Its secret is sealed, and shown once. Without a member it is the organisation's.
    """

    class Paused(models.TextChoices):
        PERSON = "person", "By a person"
        FAILING = "failing", "It failed for days"
        GONE = "gone", "It answered that it is gone"

    id = PublicIdField("whk_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="webhooks")
    member = models.ForeignKey(
        "members.Member", on_delete=models.CASCADE, null=True, related_name="webhooks", help_text="Whose own it is."
    )
    name = models.CharField(max_length=120)
    url = models.CharField(max_length=2_000)
    kinds = ArrayField(models.CharField(max_length=40), help_text="What it is told of.")
    sealed = models.BinaryField(help_text="The secret, encrypted.")
    former = models.BinaryField(null=True, help_text="The secret before it, encrypted.")
    former_until = models.DateTimeField(null=True, help_text="Until then the former secret signs as well.")
    origin = models.CharField(max_length=300, help_text="Where the console was when this was set: links lead there.")
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True)
    paused_because = models.CharField(max_length=7, blank=True, choices=Paused.choices)
    failing_since = models.DateTimeField(null=True, help_text="The first failure after the last success.")

    objects = WebhookQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.name} of {self.organisation_id}"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    """The questions one asks of messages."""

    def due(self, now: datetime) -> DeliveryQuerySet:
        """Those to be sent by now: nothing to a webhook that is paused, nor to one whose person may not act."""
        acts = models.Q(webhook__member__deactivated_at=None, webhook__member__user__is_active=True)
        return self.filter(
            models.Q(webhook__member=None) | acts,
            state=Delivery.State.WAITING,
            next_at__lte=now,
            webhook__paused_at=None,
        )


class Delivery(models.Model):
    """One message to one webhook: written in the transaction of what it tells, sent afterwards.

    Its body holds ids of memories, items, runs and jobs, words of ours, times and links; never an id of a record, nor
    anything that one says: there is nothing in it to erase.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"

    id = PublicIdField("msg_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+")
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    kind = models.CharField(max_length=40)
    body = models.TextField(help_text="The JSON that is sent, to the byte.")
    created_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True, help_text="When it is tried next.")
    status = models.PositiveSmallIntegerField(null=True, help_text="What the last attempt was answered.")
    tries = models.JSONField(default=list, help_text="The last attempts: at, status, milliseconds, problem.")
    excerpt = models.TextField(blank=True, help_text="The beginning of the last answer.")

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["next_at"], condition=models.Q(state="waiting"), name="delivery_due"),
            models.Index(fields=["webhook", "-id"], name="delivery_of_webhook"),
            models.Index(fields=["created_at"], name="delivery_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.webhook_id}: {self.state}"
