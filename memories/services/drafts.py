"""What a service adds to a draft before it is written: the facts about its files, and what its type asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from members.callers import Caller
from members.ids import to_uuid
from memories.access import Privilege
from memories.content import Draft, FileFacts, complete
from memories.models import File, Reach
from memories.models.grants import holders
from memories.providers import registry

from . import types
from .sight import Place


def prepared(place: Place, draft: Draft, head: Draft | None = None) -> Draft:
    """The draft as it is written. Must run in the transaction that writes it; a revision gives the head it is based on.

    Raises MemoryInvalid for a file that may not be named and for attributes that do not fit a registered type, and
    MemoryUnsupported for a file of a media type that the memory does not keep.
    """
    if head is None or draft.content is not head.content:
        draft = complete(draft, Shelf(place))
    registered = types.find(place.caller.organisation_id, draft.type)
    if registered is None:
        return draft
    if head is None or draft.attributes != head.attributes:
        registered.check(draft.attributes or {})
    return replace(draft, projection=registered.text)


@dataclass(frozen=True)
class Shelf:
    """The files that a caller may name in a record of a place: their own, and those of records they read."""

    place: Place

    @property
    def media(self) -> Collection[str]:
        """The media types that the memory's provider keeps, as globs."""
        declared = registry.get(self.place.memory.provider).capabilities().get("content") or {}
        return tuple(declared.get("media", ()))

    def find(self, file_ids: Collection[str]) -> Mapping[str, FileFacts]:
        """The facts by id. The files cannot go away before the transaction ends that names them."""
        caller = self.place.caller
        files = File.objects.of(caller.organisation_id).filter(pk__in=list(file_ids))
        own = set(files.filter(uploaded_by=caller.member.principal).values_list("id", flat=True))
        allowed = own
        if len(own) < len(file_ids):
            allowed = own | set(files.exclude(pk__in=own).named(readable_by(caller)).values_list("id", flat=True))
        share(self.place, allowed)
        return {
            file.id: FileFacts(file.name, file.media_type, file.size)
            for file in File.objects.filter(pk__in=allowed).select_related("blob")
        }


def readable_by(caller: Caller) -> Q:
    """The condition on versions that they lie in a memory the caller reads."""
    reaching = Reach.objects.filter(holders(caller.principals, Privilege.READ), descendant=OuterRef("memory_id"))
    return Q(Exists(reaching))


def share(place: Place, file_ids: Collection[str]) -> None:
    """Keep files from being removed until the transaction ends; any number of writers may at once.

    The memory comes first, as it does for everybody who removes something, so that nobody waits in a circle.
    """
    if not file_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM memories_memory WHERE id = %s FOR KEY SHARE", [to_uuid(place.memory.id, "hmem_")]
        )
        cursor.execute(
            "SELECT id FROM memories_file WHERE id = ANY(%s::uuid[]) ORDER BY id FOR KEY SHARE",
            [[to_uuid(one, "file_") for one in sorted(file_ids)]],
        )
