"""The tree of memories and the questions one can ask of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from django.db import connection, models
from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower

from members.ids import PublicIdField
from members.models import Organisation, annotated
from memories.access import Privilege

from .grants import Holding, Reachable, including

MAX_DEPTH = 32
ENTERED_ANEW = Q(parent=None) | Q(restricted=True)

# As `memories_entries` in the database asks, of one privilege. What sits right under something held is sorted out
# first: whoever made thousands of memories holds nearly all of them by that.
TOPS = """
WITH direct AS MATERIALIZED (
    SELECT DISTINCT memory_id FROM memories_holding WHERE principal = ANY (%s::text[]) AND privileges = ANY (%s)
), placed AS MATERIALIZED (
    SELECT m.id, m.parent_id, m.restricted FROM direct JOIN memories_memory m ON m.id = direct.memory_id
    WHERE m.restricted OR (m.parent_id IN (SELECT memory_id FROM direct)) IS NOT TRUE
)
SELECT placed.id FROM placed
WHERE placed.restricted OR NOT EXISTS (
    SELECT FROM memories_reach over WHERE over.descendant_id = placed.parent_id AND over.open
    AND (over.ancestor_id IN (SELECT memory_id FROM direct) OR NOT over.open)
)
"""
OPEN_UNDER_TOPS = f"SELECT descendant_id FROM memories_reach WHERE open AND ancestor_id IN ({TOPS})"  # noqa: S608


class MemoryQuerySet(Reachable["Memory"]):
    """Conditions on memories; `held_by` and `with_privileges` come with the sharing rule."""

    def of(self, organisation_id: str) -> MemoryQuerySet:
        """Those of one organisation: the first condition of every lookup."""
        return self.filter(organisation_id=organisation_id)

    def seen(self, organisation_id: str, memory_id: str, principals: Collection[str]) -> Memory | None:
        """A memory that the principals hold something on, with `held`, or None. Every request begins here."""
        field = self.model._meta.pk
        keys = (
            field.get_db_prep_value(memory_id, connection),
            Organisation._meta.pk.get_db_prep_value(organisation_id, connection),
        )
        found = self.raw(
            """
            SELECT * FROM (
                SELECT *, memories_held(id, %s::text[]) AS held FROM memories_memory
                WHERE id = %s AND organisation_id = %s AND deletion IS NULL
            ) looked WHERE held > 0
            """,
            [list(principals), *keys],
        )
        return next(iter(found), None)

    def children_of(self, memory: Memory) -> MemoryQuerySet:
        """The direct children of a memory."""
        return self.filter(parent=memory)

    def seen_below(self, parents: Collection[str], principals: Collection[str]) -> MemoryQuerySet:
        """The direct children, of memories on which the principals hold something, where they do so too.

        What is held on a memory comes through to its children unless they are restricted: those alone are looked at.
        """
        return self.filter(Q(restricted=False) | self.held_q(principals), parent__in=list(parents))

    def below(self, memory: Memory) -> MemoryQuerySet:
        """Everything under a memory, with `distance` in levels; the memory itself is not among them."""
        under = self.filter(upward__ancestor=memory, upward__distance__gt=0)
        return annotated(under, distance=F("upward__distance"))

    def at_or_below(self, memory: Memory) -> MemoryQuerySet:
        """The memory and everything under it, with `distance` in levels."""
        return annotated(self.filter(upward__ancestor=memory), distance=F("upward__distance"))

    def upward_from(self, memory: Memory) -> MemoryQuerySet:
        """The memory, its parent, and so on to the root, with `distance` in levels."""
        over = annotated(self.filter(downward__descendant=memory), distance=F("downward__distance"))
        return over.order_by(F("distance"))

    def within(self, levels: int | None) -> MemoryQuerySet:
        """Those at most so many levels down, after `below` or `at_or_below`; None is all."""
        return self if levels is None else self.filter(Q(distance__lte=levels))

    def nearest_first(self) -> MemoryQuerySet:
        """Level by level, after `below` or `at_or_below`."""
        return self.order_by(F("distance"), "id")

    def directly_held_by(self, principals: Collection[str]) -> MemoryQuerySet:
        """Those on which a principal was granted something right there, or which it made."""
        return self.filter(pk__in=Holding.objects.filter(principal__in=list(principals)).values("memory_id"))

    def entry_points(self, principals: Collection[str]) -> MemoryQuerySet:
        """Where the principals enter the tree: seen, with no parent or one they do not see (Memories §4.2).

        What reaches a memory from above reaches its parent too, so an entry point is always held directly.
        """
        return self.filter(pk__in=RawSQL("SELECT memories_entries(%s::text[])", [list(principals)]))

    def entered_anew(self) -> MemoryQuerySet:
        """Those that nothing comes through to from above: roots, and restricted ones."""
        return self.filter(ENTERED_ANEW)

    def tops(self, principals: Collection[str], privilege: Privilege) -> MemoryQuerySet:
        """The highest memories that the principals hold by a grant with all of `privilege`: what is open under these,
        and they themselves, is all that they hold so."""
        return self.filter(pk__in=RawSQL(TOPS, [list(principals), including(privilege)]))  # noqa: S611 - a constant

    def covered_by(self, principals: Collection[str], privilege: Privilege = Privilege.NONE, field: str = "pk") -> Q:
        """`held_q`, asked once for a whole statement instead of row by row: for conditions that many rows meet."""
        held = RawSQL(OPEN_UNDER_TOPS, [list(principals), including(privilege)])  # noqa: S611 - a constant
        return Q(**{f"{field}__in": held})

    def granted_to(self, principals: Collection[str]) -> MemoryQuerySet:
        """Readable entry points, and memories below them where the privileges differ from the parent's (§4.2)."""
        compared = (
            self.directly_held_by(principals)
            .with_privileges(principals)
            .with_privileges(principals, field="parent", alias="held_above")
        )
        differs = ~Q(held=F("held_above"))
        return compared.filter(differs, Q(held_above__gt=0) | self.held_q(principals, Privilege.READ))

    def by_name(self) -> MemoryQuerySet:
        """In the order of plain listings: by name whatever its case, then by id."""
        return annotated(self, sort_name=Lower("name")).order_by(F("sort_name"), "id")


_FromQuerySet = models.Manager.from_queryset(MemoryQuerySet)


class StandingMemories(_FromQuerySet["Memory"]):
    """The memories there are. One that is deleted is not among them, though what it held may not all be gone yet."""

    def get_queryset(self) -> MemoryQuerySet:
        return MemoryQuerySet(self.model, using=self._db).filter(deletion=None)


class Memory(models.Model):
    """A place in the tree: it holds records and has child memories; a node exists where access differs.

    A deleted memory stands nowhere: no parent, no reach, no grant. The row waits for the job that removes what it held.
    """

    id = PublicIdField("hmem_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="memories")
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="children")
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True, default="")
    restricted = models.BooleanField(default=False)
    provider = models.CharField(max_length=80)
    creator = models.CharField(max_length=180, help_text="The principal that made it, and holds everything on it.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deletion = models.UUIDField(
        null=True, editable=False, help_text="The deletion that took it; empty while it stands."
    )

    objects = StandingMemories()
    deleted_too = MemoryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(parent=F("id")), name="memory_not_its_own_parent"),
        ]
        indexes = [
            models.Index("parent", Lower("name"), "id", name="memory_children_by_name"),
            models.Index(fields=["creator"], name="memory_of_creator"),
            models.Index(fields=["deletion"], condition=~Q(deletion=None), name="memory_deleted"),
            # Where nothing comes through from above: few, and what has nobody left to administer it is among them.
            models.Index(
                fields=["organisation", "id"], condition=ENTERED_ANEW & Q(deletion=None), name="memory_entered_anew"
            ),
        ]

    if TYPE_CHECKING:
        parent_id: str | None
        held: int
        distance: int
        level: int
        sort_name: str

    def __str__(self) -> str:
        return self.name
