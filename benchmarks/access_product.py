"""The product itself: its own services and querysets, as its views call them."""

from __future__ import annotations

from collections.abc import Collection

from benchmarks.access_load import public
from benchmarks.access_methods import Asking, Audience, Reaching
from memories.access import Privilege
from memories.models import Memory, Reach
from memories.recall.scope import CAP
from memories.services import asking as asking_services
from memories.services import tree
from memories.services.sight import look
from uhp_site.http.errors import MemoryNotFound


class Product:
    """Reach, and the sharing rule on it."""

    name = "Heartwood"

    def decide(self, asking: Asking, memory: int) -> int:
        """The privileges that the caller holds on a memory."""
        try:
            return int(look(asking.caller, public("hmem", memory)).privileges)
        except MemoryNotFound:
            return 0

    def entry_points(self, asking: Asking) -> Collection[str]:
        """The ids of the memories where the caller enters the tree."""
        memories = Memory.objects.of(asking.caller.organisation_id).entry_points(asking.caller.principals)
        return list(memories.values_list("id", flat=True))

    def readable(self, asking: Asking, memory: int) -> Collection[str]:
        """The ids of what is read below, as the product lists it; a recall by itself joins it instead."""
        asked = Memory(id=public("hmem", memory), organisation_id=asking.caller.organisation_id, name="asked")
        return Reach.objects.held_below(asked, asking.caller.principals, Privilege.READ, None, CAP - 1)

    def audience(self, asking: Asking, memory: int, limit: int) -> Audience:
        """Who reaches a memory and why, as the page and the endpoint show it."""
        found = asking_services.who(look(asking.caller, public("hmem", memory)), limit)
        page = {
            one.person.principal.removeprefix("member:"): Reaching(
                int(one.privileges),
                frozenset((why.memory.id, why.principal, why.group_name) for why in one.reasons),
            )
            for one in found.people
        }
        return Audience(found.total, page)

    def restrict(self, asking: Asking, memory: int) -> None:
        """Close a branch."""
        tree.change(look(asking.caller, public("hmem", memory)), restricted=True)

    def move(self, asking: Asking, memory: int, under: int) -> None:
        """Move a branch."""
        tree.change(look(asking.caller, public("hmem", memory)), parent_id=public("hmem", under))
