"""Endpoints on the tree: memories, their grants, and the providers and types there are."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request

from memories.access import Privilege
from memories.providers import registry
from memories.reader import Reader
from memories.services import grants, listing, tree
from uhp_site.http import pagination
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields
from uhp_site.http.views import Endpoint

from . import document, shapes
from .base import MemoryEndpoint, Needs, caller_of

NAME_LENGTH = 120
DESCRIPTION_LENGTH = 2000
TRUE = {"true", "1"}


class Memories(Endpoint):
    """The memories a caller can list, one level at a time, and the door for new ones."""

    parent_id: str | None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method == "POST":
            self.parent_id = parent_to_create_in(self.body(request), caller_of(request))

    @document.list_memories
    def get(self, request: Request) -> dict[str, Any]:
        """List entry points, the children of `parent`, all below `ancestor`, or (`granted`) where access changes."""
        query, caller = self.query(request), caller_of(request)
        paging = pagination.read(query, int, str, str, default=pagination.MOST)
        page = listing.memories(caller, which(query), paging.limit, paging.after)
        shown = Reader(caller).memories(page.memories)
        return shapes.listed(
            (shapes.memory(view) for view in shown), pagination.make_cursor(*page.next) if page.next else None
        )

    @document.create_memory
    def post(self, request: Request) -> dict[str, Any]:
        """Create a memory under a parent or at the top."""
        body, caller = self.body(request), caller_of(request)
        created = tree.create(
            caller,
            parent_id=self.parent_id,
            name=body.text("name", longest=NAME_LENGTH, required=True, one_line=True) or "",
            description=body.text("description", longest=DESCRIPTION_LENGTH) or "",
            restricted=body.flag("restricted") or False,
            provider=body.text("provider", longest=80),
        )
        return shapes.memory(Reader(caller).memory(created))


def parent_to_create_in(body: Fields, caller: Any) -> str | None:
    """The parent named, seen and open for creating before the rest of the body is looked at."""
    parent_id = body.identifier("parent_id")
    if not isinstance(parent_id, str):
        return None
    listing.look(caller, parent_id).require(Privilege.CREATE)
    return parent_id


def which(query: Fields) -> listing.Which:
    """The listing that the query asks for; two at once are refused."""
    asked = {name: str(query.data[name]) for name in ("parent", "ancestor", "granted") if query.has(name)}
    if asked.get("granted", "true") not in TRUE | {"false", "0"}:
        raise query.refuse("granted", "This must be true or false.")
    if asked.get("granted") in {"false", "0"}:
        del asked["granted"]
    if len(asked) > 1:
        raise MemoryInvalid("Ask for one of parent, ancestor and granted.", param=list(asked)[-1])
    return listing.Which(
        parent=asked.get("parent"), ancestor=asked.get("ancestor"), granted=asked.get("granted") in TRUE
    )


class MemoryDetail(MemoryEndpoint):
    """One memory."""

    needs: ClassVar[Needs] = {
        "GET": (Privilege.READ,),
        "PUT": (Privilege.WRITE, Privilege.DELETE),
        "DELETE": (Privilege.DELETE,),
    }
    removes_memory: ClassVar[bool] = True

    @document.read_memory
    def get(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Read a memory as the caller holds it."""
        return shapes.memory(self.reader.memories([self.place.memory])[0])

    @document.change_memory
    def put(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Change what the body names: name, description, restricted, parent_id."""
        body = self.body(request)
        if body.has("name") or body.has("description"):
            self.place.require(Privilege.WRITE)
        changed = tree.change(
            self.place,
            name=body.text("name", longest=NAME_LENGTH, required=body.has("name"), one_line=True),
            description=body.text("description", longest=DESCRIPTION_LENGTH),
            restricted=body.flag("restricted"),
            parent_id=body.identifier("parent_id"),
            provider=body.text("provider", longest=80),
        )
        return shapes.memory(self.reader.memory(changed))

    @document.delete_memory
    def delete(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Delete a memory and everything below it."""
        deleted = tree.delete(self.place)
        return {"id": deleted.id, "object": "memory", "deleted": True, "memories": list(deleted.memories)}


class Grants(MemoryEndpoint):
    """The grants on a memory, and those it inherits."""

    needs: ClassVar[Needs] = {"GET": (Privilege.DELETE,), "POST": (Privilege.DELETE,)}

    @document.list_grants
    def get(self, request: Request, memory_id: str) -> dict[str, Any]:
        """List grants on this memory and those that come down to it from memories the caller sees."""
        paging = pagination.read(self.query(request), int, str, default=pagination.MOST)
        ordered = self.reader.grants(self.place.memory)
        keyed = [((distance, one.id), one) for distance, one in ordered if (distance, one.id) > (paging.after or (-1,))]
        page, following = pagination.cut(keyed, paging.limit, lambda pair: pair[0])
        return shapes.listed((shapes.grant(one, self.place.memory) for _, one in page), following)

    @document.give_grant
    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Grant privileges to a principal, in place of those it was granted here before."""
        body = self.body(request)
        principal = grants.read_principal(body.data.get("principal"))
        given = grants.give(self.place, principal, grants.read_privileges(body.data.get("privileges")))
        return shapes.grant(given, self.place.memory)


class GrantDetail(MemoryEndpoint):
    """One grant that sits on a memory."""

    needs: ClassVar[Needs] = {"DELETE": (Privilege.DELETE,)}

    @document.take_back_grant
    def delete(self, request: Request, memory_id: str, grant_id: str) -> dict[str, Any]:
        """Take a grant back."""
        grants.take_back(self.place, grant_id)
        return {"id": grant_id, "object": "memory.grant", "deleted": True}


class Providers(Endpoint):
    """What keeps the records, and what it declares."""

    @document.list_providers
    def get(self, request: Request) -> dict[str, Any]:
        """List the capability documents of the connected providers."""
        return shapes.listed(dict(provider.capabilities()) for provider in registry.connected())
