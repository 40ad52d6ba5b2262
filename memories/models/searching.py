"""What is kept so that large organisations are searched quickly: which vector index is ready, and which words are
common. Nothing here says what a record says: a word is listed only where very many records have it."""

from __future__ import annotations

from django.db import models


class VectorIndex(models.Model):
    """An approximate index over the vectors of one organisation by one model; a row means that it is complete."""

    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    model = models.CharField(max_length=80)
    aspect = models.CharField(max_length=7)
    name = models.CharField(max_length=63, unique=True, help_text="What the database calls it.")
    built_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "model", "aspect"], name="vector_index_once"),
        ]

    def __str__(self) -> str:
        return self.name


class CommonWord(models.Model):
    """A word, as the text search keeps it, that a good part of an organisation's records have."""

    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    lexeme = models.CharField(max_length=200)
    records = models.PositiveIntegerField(help_text="How many current records have it, by the last count.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "lexeme"], name="common_word_once")]

    def __str__(self) -> str:
        return self.lexeme
