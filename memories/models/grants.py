"""Grants, what is held where, and how far it reaches: the facts behind the sharing rule, and its only SQL form."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Self, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import Exists, F, Func, OuterRef, Q, Value

from members.ids import PublicIdField
from members.models import annotated
from memories.access import Privilege

from . import ties

if TYPE_CHECKING:
    from .tree import Memory


def including(privilege: Privilege) -> list[int]:
    """Every set of privileges that contains all of these, as stored."""
    return [bits for bits in range(1, Privilege.ALL + 1) if bits & privilege == privilege]


class Grant(models.Model):
    """A set of privileges that one principal was given on one memory; giving again replaces the set."""

    id = PublicIdField("hgrt_")
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="grants")
    principal = models.CharField(max_length=180)
    privileges = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["memory", "principal"], name="grant_once_per_principal"),
            models.CheckConstraint(condition=Q(privileges__gte=1, privileges__lte=15), name="grant_not_empty"),
        ]
        indexes = [models.Index(fields=["principal", "memory"], name="grant_of_principal")]

    def __str__(self) -> str:
        return f"{self.principal} on {self.memory_id}"

    @property
    def held(self) -> Privilege:
        """The privileges as a set."""
        return Privilege(self.privileges)


class Holding(models.Model):
    """A view: who holds what on which memory, by a grant or by having made it (Memories §4.4: no row is written)."""

    key = models.UUIDField(primary_key=True)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.DO_NOTHING, related_name="+")
    memory = models.ForeignKey("memories.Memory", on_delete=models.DO_NOTHING, related_name="holdings")
    principal = models.CharField(max_length=180)
    privileges = models.PositiveSmallIntegerField()
    grant = models.ForeignKey(Grant, on_delete=models.DO_NOTHING, null=True, related_name="+")

    class Meta:
        managed = False
        db_table = "memories_holding"

    def __str__(self) -> str:
        return f"{self.principal} on {self.memory_id}"


class ReachQuerySet(models.QuerySet["Reach"]):
    """Which memory lies under which, and whether grants come through; kept true by the verbs on the tree."""

    def plant(self, memory: Memory) -> None:
        """Add a new memory's own row, and those from everything above it."""
        self.create(organisation_id=memory.organisation_id, ancestor=memory, descendant=memory, distance=0, open=True)
        self.attach(memory)

    def attach(self, memory: Memory) -> None:
        """Tie the subtree of a memory to everything above its parent; nothing comes through a restricted memory."""
        self._run(ties.ATTACH, memory)

    def detach(self, memory: Memory) -> None:
        """Cut the subtree of a memory from everything above it."""
        self._run(ties.DETACH, memory)

    def reopen(self, memory: Memory) -> None:
        """Decide anew what comes through a memory whose `restricted` was changed."""
        self._run(ties.REOPEN, memory)

    def held_below(
        self, memory: Memory, principals: Collection[str], privilege: Privilege, depth: int | None, limit: int | None
    ) -> list[str]:
        """The ids of the memories under one that the principals hold by some grant with all of `privilege`, nearest
        first; what it costs follows from how many there are. None is all levels, and all of them."""
        key = Reach._meta.get_field("ancestor").get_db_prep_value(memory.pk, connection)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT memory_id FROM memories_held_below(%s, %s::text[], %s::smallint)
                WHERE distance <= coalesce(%s, distance) ORDER BY distance, memory_id LIMIT %s
                """,
                [key, list(principals), int(privilege), depth, limit],
            )
            return [memory._meta.pk.to_python(found) for (found,) in cursor.fetchall()]

    def entries_below(
        self, memory: Memory, principals: Collection[str], privilege: Privilege, at_most: int
    ) -> list[tuple[str, int, int]]:
        """Where the principals come in at or under a memory, by some grant with all of `privilege`: the ids, how many
        levels below, and how many memories are open there, counted up to a number. What is open under these, and they
        themselves, is all that they hold there."""
        key = Reach._meta.get_field("ancestor").get_db_prep_value(memory.pk, connection)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT e.memory_id, e.distance, (
                    SELECT count(*) FROM (
                        SELECT FROM memories_reach r WHERE r.ancestor_id = e.memory_id AND r.open LIMIT %s
                    ) AS counted
                )
                FROM memories_entries_below(%s, %s::text[], %s::smallint) e ORDER BY e.distance, e.memory_id
                """,
                [at_most, key, list(principals), int(privilege)],
            )
            to_python = memory._meta.pk.to_python
            return [(to_python(found), distance, count) for found, distance, count in cursor.fetchall()]

    def _run(self, statement: str, memory: Memory) -> None:
        key = Reach._meta.get_field("ancestor").get_db_prep_value(memory.pk, connection)
        with connection.cursor() as cursor:
            cursor.execute(statement, [key])


class Reach(models.Model):
    """One memory over (or the same as) another; `open` when none on the way, the lower included, is restricted.

    The rows are derived from the tree by the statements above, under its lock, and go with the memories: foreign keys,
    checked row by row when a branch of thousands moves, would say nothing that is not so. The primary key is the index
    `reach_upward`, which has `open` and `distance` in it.
    """

    pk = models.CompositePrimaryKey("descendant", "ancestor")
    organisation = models.ForeignKey(
        "members.Organisation", on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    ancestor = models.ForeignKey(
        "memories.Memory", on_delete=models.CASCADE, related_name="downward", db_index=False, db_constraint=False
    )
    descendant = models.ForeignKey(
        "memories.Memory", on_delete=models.CASCADE, related_name="upward", db_index=False, db_constraint=False
    )
    distance = models.PositiveSmallIntegerField()
    open = models.BooleanField()

    objects = ReachQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["ancestor", "descendant"], include=["open", "distance"], name="reach_downward"),
        ]

    def __str__(self) -> str:
        return f"{self.ancestor_id} over {self.descendant_id}"


def holders(principals: Collection[str], privilege: Privilege = Privilege.NONE) -> Q:
    """The condition on Reach that some of these principals hold something (or all of `privilege` by one grant)
    on the upper memory, and that it comes through to the lower one."""
    condition = Q(open=True, ancestor__holdings__principal__in=list(principals))
    if privilege:
        condition &= Q(ancestor__holdings__privileges__in=including(privilege))
    return condition


M = TypeVar("M", bound=models.Model)


class Reachable(models.QuerySet[M]):
    """The sharing rule as a query; `memory_field` says where a model keeps its memory."""

    memory_field = "pk"

    def held_by(self, principals: Collection[str], privilege: Privilege = Privilege.NONE) -> Self:
        """Those on whose memory the principals hold the one privilege named, or anything at all."""
        return self.filter(self.held_q(principals, privilege))

    def held_q(self, principals: Collection[str], privilege: Privilege = Privilege.NONE, field: str = "") -> Q:
        """`held_by` as a condition, on this model's memory or another field that names one."""
        lower = OuterRef(field or self.memory_field)
        return Q(Exists(Reach.objects.filter(holders(principals, privilege), descendant=lower)))

    def with_privileges(self, principals: Collection[str], field: str = "", alias: str = "held") -> Self:
        """Annotate the set of privileges that the principals hold, as a number (`access.Privilege`)."""
        asked = (F(field or self.memory_field), Value(list(principals), ArrayField(models.TextField())))
        return annotated(self, **{alias: Func(*asked, function="memories_held", output_field=models.IntegerField())})
