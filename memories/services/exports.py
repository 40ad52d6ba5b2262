"""Writing a memory with everything below it to a directory, as it is at one instant, without holding it in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import Q

from members.models import Group, Member
from memories.access import Privilege
from memories.models import File, Grant, Hold, Memory, Query, Snapshot, TypeDefinition, Version
from memories.providers import registry
from memories.providers.base import RecordVersion, Writer
from memories.record_types import BUILT_IN

from .archive import Broken, Progress, moment
from .archive import Writer as Archive


def export(root: Memory, directory: Path, progress: Progress = lambda what, count: None) -> Mapping[str, int]:
    """Export a memory and everything below it into a new or empty directory; how much of each kind there was.

    Raises Broken when the directory cannot be written or the store has lost bytes. Nobody is asked for permission:
    this is for whoever runs the server.
    """
    with Archive(directory) as archive, transaction.atomic():
        _steady()
        memories = list(Memory.objects.at_or_below(root).nearest_first())
        ids = [memory.id for memory in memories]
        named: set[str] = set()
        for memory in memories:
            named |= _memory(archive, memory, is_root=memory.id == root.id)
            progress("memories", 1)
        for memory in memories:
            named |= _records(archive, memory, progress)
        named |= _files(archive, root, ids, progress)
        _types(archive, root.organisation_id, ids)
        for name in sorted_principals(root.organisation_id, named):
            archive.add("principals", name)
        for grant in _grants(root.organisation_id, ids):
            archive.add("grants", grant)
        archive.finish(root.id)
        return archive.counts


def _steady() -> None:
    # What is read later belongs to the same instant as what was read first. Inside another transaction it is too late.
    if len(connection.savepoint_ids) == 0 and connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _memory(archive: Archive, memory: Memory, *, is_root: bool) -> set[str]:
    archive.add(
        "memories",
        {
            "id": memory.id,
            "parent": None if is_root else memory.parent_id,
            "name": memory.name,
            "description": memory.description,
            "restricted": memory.restricted,
            "provider": memory.provider,
            "creator": memory.creator,
            "created_at": moment(memory.created_at),
            "updated_at": moment(memory.updated_at),
        },
    )
    named = {memory.creator, *Grant.objects.filter(memory=memory).values_list("principal", flat=True)}
    for snapshot in Snapshot.objects.filter(memory=memory).order_by("at"):
        named.add(snapshot.taken_by)
        archive.add(
            "snapshots",
            {
                "memory": memory.id,
                "name": snapshot.name,
                "message": snapshot.message,
                "at": moment(snapshot.at),
                "taken_by": snapshot.taken_by,
            },
        )
    for query in Query.objects.filter(memory=memory).order_by("name"):
        named.add(query.defined_by)
        archive.add(
            "queries",
            {
                "memory": memory.id,
                "name": query.name,
                "description": query.description,
                "params": query.params,
                "requires": query.requires,
                "language": query.language,
                "body": query.body,
                "defined_by": query.defined_by,
                "defined_by_type": query.defined_by_type,
                "created_at": moment(query.created_at),
                "updated_at": moment(query.updated_at),
            },
        )
    for hold in Hold.objects.filter(memory=memory).order_by("placed_at", "pk"):
        named |= {hold.placed_by, hold.lifted_by}
        archive.add(
            "holds",
            {
                "memory": memory.id,
                "record": hold.record_id,
                "reason": hold.reason,
                "placed_by": hold.placed_by,
                "placed_at": moment(hold.placed_at),
                "lifted_by": hold.lifted_by,
                "lifted_at": moment(hold.lifted_at),
            },
        )
    return named


def _records(archive: Archive, memory: Memory, progress: Progress) -> set[str]:
    named: set[str] = set()
    before = ""
    for version in registry.get(memory.provider).versions(memory.id):
        if version.id != before:
            archive.add("records", {"id": version.id, "memory": memory.id, "type": version.draft.type})
            progress("records", 1)
            before = version.id
        archive.add("versions", version_line(version))
        named |= {f"{version.writer.kind}:{version.writer.id}", version.writer.on_behalf_of}
    return named


def version_line(version: RecordVersion) -> dict[str, Any]:
    """A version as a line of an export."""
    draft = version.draft
    return {
        "record": version.id,
        "number": version.number,
        "status": version.status,
        "title": draft.title,
        "content": [dict(part) for part in draft.content],
        "attributes": dict(draft.attributes or {}),
        "references": [
            {"rel": one.rel, "memory_id": one.memory_id, "record_id": one.record_id} for one in draft.references
        ],
        "valid_from": moment(draft.valid_from),
        "valid_to": moment(draft.valid_to),
        "written_at": moment(version.written_at),
        "invalidated_at": moment(version.invalidated_at),
        "written_by": writer_line(version.writer),
        **({"follows": asdict(version.follows)} if version.follows else {}),
    }


def writer_line(writer: Writer) -> dict[str, str]:
    """Who wrote a version, as part of its line."""
    return {
        "kind": writer.kind,
        "id": writer.id,
        "type": writer.type,
        "on_behalf_of": writer.on_behalf_of,
        "consolidation_id": writer.consolidation_id,
    }


def _files(archive: Archive, root: Memory, ids: list[str], progress: Progress) -> set[str]:
    named: set[str] = set()
    files = File.objects.of(root.organisation_id).named(Q(memory__in=ids)).select_related("blob").order_by("pk")
    for file in files.iterator(chunk_size=200):
        named.add(file.uploaded_by)
        archive.add(
            "files",
            {
                "id": file.id,
                "name": file.name,
                "sha256": file.blob.sha256,
                "bytes": file.size,
                "purpose": file.purpose,
                "uploaded_by": file.uploaded_by,
                "created_at": moment(file.created_at),
            },
        )
        try:
            with file.blob.open() as content:
                archive.add_bytes(file.blob.sha256, content)
        except FileNotFoundError:
            raise Broken(f"The store has lost the bytes of {file.id}.") from None
        progress("files", 1)
    return named


def _types(archive: Archive, organisation_id: str, ids: list[str]) -> None:
    used = Version.objects.filter(memory__in=ids, type__startswith="x.").order_by().values("type").distinct()
    own = TypeDefinition.objects.filter(organisation_id=organisation_id, type__in=used).exclude(type__in=BUILT_IN)
    for one in own.order_by("type"):
        archive.add("types", {"definition": one.definition})


def _grants(organisation_id: str, ids: list[str]) -> Iterable[dict[str, Any]]:
    for memory_id in ids:
        grants = {one.principal: one for one in Grant.objects.filter(memory_id=memory_id)}
        for principal in sorted_principals(organisation_id, grants):
            grant = grants[principal["principal"]]
            yield {
                "memory": memory_id,
                "principal": grant.principal,
                "privileges": Privilege(grant.privileges).words,
                "created_at": moment(grant.created_at),
                "updated_at": moment(grant.updated_at),
            }


def sorted_principals(organisation_id: str, principals: Iterable[str]) -> list[dict[str, Any]]:
    """Principals with what stands behind them, by kind and name, so that other ids would not change the order."""
    asked = {one for one in principals if one}
    kinds = {
        kind: [one.partition(":")[2] for one in asked if one.startswith(f"{kind}:")] for kind in ("member", "group")
    }
    members = Member.objects.of(organisation_id).filter(pk__in=kinds["member"])
    groups = Group.objects.filter(organisation_id=organisation_id, pk__in=kinds["group"])
    known: dict[str, dict[str, Any]] = {
        one.principal: {"kind": "member", "type": str(one.type), "name": one.name} for one in members
    } | {
        one.principal: {"kind": "group", "type": "everyone" if one.is_everyone else "", "name": one.name}
        for one in groups
    }
    found = [{"principal": one, **known.get(one, {"kind": "", "type": "", "name": ""})} for one in asked]
    return sorted(found, key=lambda one: (one["kind"], one["type"], one["name"], one["principal"]))
