"""Golden questions: what a memory should be able to answer, and with which record."""

from __future__ import annotations

from collections.abc import Collection

from django.db import models
from django.db.models.functions import MD5

from members.ids import PublicIdField


class GoldenQuestionQuerySet(models.QuerySet["GoldenQuestion"]):
    """The questions one can ask of golden questions."""

    def of(self, organisation_id: str) -> GoldenQuestionQuerySet:
        """Those of one organisation."""
        return self.filter(organisation_id=organisation_id)

    def expecting(self, record_ids: Collection[str]) -> GoldenQuestionQuerySet:
        """Those that expect one of these records."""
        return self.filter(expected_record_id__in=list(record_ids))


class GoldenQuestion(models.Model):
    """A question asked of a memory, in a person's words, and where the record is that should answer it."""

    id = PublicIdField("hgld_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+", db_index=False)
    question = models.TextField()
    # By id, as references are: the record may be another provider's.
    expected_memory_id = models.CharField(max_length=80)
    expected_record_id = models.CharField(max_length=80)
    saved_by = models.CharField(max_length=180, help_text="The principal that saved it.")
    saved_at = models.DateTimeField(auto_now_add=True)

    objects = GoldenQuestionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "memory", MD5("question"), "expected_memory_id", "expected_record_id", name="golden_question_once"
            )
        ]
        indexes = [models.Index(fields=["expected_record_id"], name="golden_expecting")]

    def __str__(self) -> str:
        return self.id
