"""Agent configurations: the harness, which is its agent, and what it brings along."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from members.models import Member, Organisation

PREFIX = "chrn_"


class HarnessQuerySet(models.QuerySet["Harness"]):
    """The questions one asks of harnesses."""

    def of(self, organisation_id: str) -> HarnessQuerySet:
        """Those of one organisation that are not deleted."""
        return self.filter(organisation_id=organisation_id, retired_at=None)

    def seen_by(self, member: Member) -> HarnessQuerySet:
        """Those a member may look at: all of an owner's organisation, those it made, and its own."""
        mine = self.of(member.organisation_id)
        if member.is_owner:
            return mine
        return mine.filter(models.Q(creator=member.principal) | models.Q(pk=member.pk))


class Harness(models.Model):
    """How one agent is set up. Its key is its agent's: a harness and the member that acts under it have one id.

    One that is deleted keeps its row, so that what its agent wrote has a name; the secrets and skills are gone.
    """

    agent = models.OneToOneField(Member, on_delete=models.CASCADE, primary_key=True, related_name="harness")
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    creator = models.CharField(max_length=180, help_text="The principal that made it, and may manage it.")
    name = models.CharField(max_length=120)
    base = models.CharField(max_length=80)
    default_model = models.CharField(max_length=120, blank=True)
    system_prompt = models.TextField(blank=True)
    disabled_tools = ArrayField(models.CharField(max_length=120), default=list)
    max_step = models.PositiveIntegerField(null=True)
    timeout_seconds = models.PositiveIntegerField(null=True)
    default_memory_id = models.CharField(
        max_length=80, blank=True, help_text="Where an unaddressed remember goes, as long as the agent may write there."
    )
    observe = models.BooleanField(default=True, help_text="Whether finished turns are sent to the default memory.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    retired_at = models.DateTimeField(null=True)

    objects = HarnessQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["organisation", "created_at"], name="harness_of_organisation")]

    def __str__(self) -> str:
        return self.name

    @property
    def id(self) -> str:
        """Its id, and its agent's."""
        return self.agent_id


class Skill(models.Model):
    """A folder of instructions; `blob` is the handle of its files, and changes with them."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    harness = models.ForeignKey(Harness, on_delete=models.CASCADE, related_name="skills")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)
    blob = models.CharField(max_length=60, blank=True)
    bytes = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["harness", "name"], name="skill_name_once")]

    def __str__(self) -> str:
        return self.name


class SkillFile(models.Model):
    """One file of a skill, byte for byte."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=255)
    content = models.BinaryField()
    text = models.BooleanField(help_text="Sent as text, and given back as text.")

    class Meta:
        ordering = ["path"]
        constraints = [models.UniqueConstraint(fields=["skill", "path"], name="skill_path_once")]

    def __str__(self) -> str:
        return self.path


class Server(models.Model):
    """An MCP server that the agent may use; its secrets are sealed and never shown again, only their names are."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    harness = models.ForeignKey(Harness, on_delete=models.CASCADE, related_name="servers")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=64)
    url = models.CharField(max_length=2000)
    transport = models.CharField(max_length=4)
    enabled = models.BooleanField(default=True)
    sealed = models.BinaryField(null=True)
    secrets = ArrayField(models.CharField(max_length=130), default=list, help_text="What is sealed, by name.")

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["harness", "name"], name="mcp_server_name_once")]

    def __str__(self) -> str:
        return self.name
