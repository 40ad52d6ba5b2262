"""Looking at an agent's world through its eyes: what the viewer looks after and may read themself, and nothing else.

The rule is that of viewing as somebody (`memories.services.viewing`): whoever looks learns nothing that they could not
read without the agent. Memories that are left out take no part in any count, neighbour, pointer or ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from members.callers import Caller
from memories.access import Privilege
from memories.models import LastUse, Memory, Version
from memories.models.tree import MemoryQuerySet
from memories.reader import Reader
from memories.services.sight import Place
from memories.services.viewing import Eyes, Seen
from uhp_site.http.errors import MemoryNotFound

LATELY = 8
# Records are looked for in the memories where the agent wrote last, so far back from its last write there.
LOOKED_IN = 5
LOOKED_BACK = timedelta(days=30)


class Seer(Reader):
    """A reader with the agent's eyes that knows only memories which the viewer administers and reads."""

    def __init__(self, eyes: Eyes) -> None:
        super().__init__(eyes.member)
        self.eyes = eyes

    @property
    def tree(self) -> MemoryQuerySet:
        """The memories that the viewer could look at without the agent."""
        viewer = self.eyes.viewer.principals
        return super().tree.held_by(viewer, Privilege.DELETE).held_by(viewer, Privilege.READ)


def look(eyes: Eyes, memory_id: str) -> Place:
    """A memory as the agent holds it. Raises MemoryNotFound for one that is not shown."""
    principals = eyes.member.principals
    found = Seer(eyes).tree.held_by(principals).filter(pk=memory_id).with_privileges(principals).first()
    if found is None:
        raise MemoryNotFound()
    return Seen(eyes.member, found, Privilege(found.held))


@dataclass(frozen=True)
class Use:
    """When an agent last read and last wrote in a memory, as far as it was noted."""

    memory: Memory
    read_at: datetime | None
    written_at: datetime | None


@dataclass(frozen=True)
class Written:
    """A record that an agent wrote, in its words."""

    memory: Memory
    record_id: str
    title: str
    type: str
    number: int
    written_at: datetime


@dataclass(frozen=True)
class Lately:
    """What an agent did last: where it recalled, and what it wrote."""

    reads: Sequence[Use]
    writes: Sequence[Written]


def lately(viewer: Caller, agent_id: str) -> Lately:
    """What an agent did last, the newest first; constant queries.

    Where it read is for those who administer that memory; what it wrote, for whoever may read it.
    """
    tree = Memory.objects.of(viewer.organisation_id)
    uses = LastUse.objects.filter(organisation_id=viewer.organisation_id, member_id=agent_id)
    administered = tree.held_by(viewer.principals, Privilege.DELETE).values("pk")
    read = uses.filter(memory__in=administered).exclude(read_at=None).select_related("memory").order_by("-read_at")
    readable = tree.held_by(viewer.principals, Privilege.READ).values("pk")
    wrote = uses.filter(memory__in=readable).exclude(written_at=None).select_related("memory").order_by("-written_at")
    return Lately(
        [Use(one.memory, one.read_at, one.written_at) for one in read[:LATELY]],
        _written(list(wrote[:LOOKED_IN]), agent_id),
    )


def _written(uses: Sequence[Any], agent_id: str) -> Sequence[Written]:
    if not uses:
        return []
    memories = {one.memory_id: one.memory for one in uses}
    spans = Q()
    for one in uses:
        spans |= Q(memory_id=one.memory_id, written_at__gte=one.written_at - LOOKED_BACK)
    rows = Version.objects.current().filter(spans, writer_kind="member", writer_id=agent_id)
    fields = rows.order_by("-written_at", "-pk").values_list(
        "memory_id", "record_id", "title", "content", "type", "number", "written_at"
    )[:LATELY]
    return [
        Written(memories[memory_id], record_id, title or _beginning(content), type, number, at)
        for memory_id, record_id, title, content, type, number, at in fields
    ]


def _beginning(content: Sequence[Any]) -> str:
    words = " ".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return " ".join(words.split())[:120]
