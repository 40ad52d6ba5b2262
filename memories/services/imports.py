"""Reading an export into an organisation: all of it or nothing, with new ids, and otherwise as it was.

Times, versions, writers, grants, snapshots and holds are kept. People, agents and groups are found by their names.
What a record says is checked by the rules that everybody's records are checked by, and files are looked at again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import DataError, IntegrityError, connection, transaction

from members import events
from members import services as members
from members.events import Actor
from members.ids import mint
from members.models import Group, Member, Organisation
from memories.access import Privilege
from memories.content import Draft, FileFacts, Reference, complete, read_draft
from memories.media import Sniffer
from memories.models import Grant, Hold, Memory, Query, Reach, Record, Snapshot, Version
from memories.providers import registry
from memories.providers.base import Followed, RecordVersion, Writer
from memories.statements import DEFINITION, read_definition
from uhp_site.http.downloads import plain
from uhp_site.http.errors import UHPError

from . import files, types
from .archive import Broken, Progress, Reader, instant
from .queries import check_name
from .steady import lock_tree
from .tree import require_depth

# How many versions are written together, unless they are long; in characters of JSON, roughly.
TOGETHER = 64
TOGETHER_SIZE = 2_000_000


@dataclass
class Imported:
    """What an import made, and what it could not find here."""

    root: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Wish:
    """Where an export goes. `creator` stands in for creators that are not here; `create_missing` makes who is not."""

    organisation: Organisation
    parent: Memory | None = None
    creator: str = ""
    create_missing: bool = False
    actor: Actor = events.OPERATOR


def bring_in(source: Path, wish: Wish, progress: Progress = lambda what, count: None) -> Imported:
    """Import an export. Raises Broken, after which nothing of it is there. Nobody is asked for permission."""
    reader = Reader(source)
    try:
        with transaction.atomic():
            return _Import(reader, wish, progress).run()
    except (UHPError, members.Refused) as refusal:
        where = f" ({refusal.param})" if isinstance(refusal, UHPError) and refusal.param else ""
        raise Broken(f"The export holds something that this server does not keep{where}: {refusal}") from None
    except (KeyError, TypeError, AttributeError) as failure:
        raise Broken(f"The export lacks something, or has it in the wrong form: {failure}.") from None
    except (IntegrityError, DataError) as failure:
        reason = str(failure).splitlines()[0]
        raise Broken(f"The export contradicts itself: {reason}.") from None


class _Ids:
    """Old ids to new ones, in a table that lives as long as the transaction: there may be millions."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS pg_temp.import_ids")
            cursor.execute("CREATE TEMP TABLE import_ids (old text PRIMARY KEY, new text NOT NULL) ON COMMIT DROP")

    def add(self, pairs: Sequence[tuple[str, str]]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO import_ids SELECT * FROM unnest(%s::text[], %s::text[])",
                [[old for old, _ in pairs], [new for _, new in pairs]],
            )

    def of(self, olds: Collection[str]) -> dict[str, str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT old, new FROM import_ids WHERE old = ANY(%s::text[])", [list(olds)])
            return dict(cursor.fetchall())


@dataclass
class _Shelf:
    """The files of the export, for the parts that name them."""

    media: Collection[str]
    facts: Mapping[str, FileFacts]

    def find(self, file_ids: Collection[str]) -> Mapping[str, FileFacts]:
        return {one: self.facts[one] for one in file_ids if one in self.facts}


class _Import:
    def __init__(self, reader: Reader, wish: Wish, progress: Progress) -> None:
        self.reader, self.wish, self.progress = reader, wish, progress
        self.organisation_id = wish.organisation.id
        self.ids = _Ids()
        self.principals: dict[str, str] = {}
        self.memories: dict[str, Memory] = {}
        self.done = Imported(counts={})

    def run(self) -> Imported:
        self._principals()
        self._types()
        self._memories()
        self._files()
        self._records()
        self._versions()
        self._grants()
        self._snapshots()
        self._holds()
        self._queries()
        self._plant()
        self.done.counts = dict(self.reader.counts)
        return self.done

    def _lines(self, kind: str) -> Iterator[Mapping[str, Any]]:
        for line in self.reader.lines(kind):
            yield line
            self.progress(kind, 1)

    def _principals(self) -> None:
        taken: set[str] = set()
        for line in self._lines("principals"):
            principal, kind, type_, name = (str(line[key]) for key in ("principal", "kind", "type", "name"))
            if not kind:
                # Nobody stood behind it where it came from, either, or it is an engine.
                self.principals[principal] = principal
                continue
            found = self._find(principal, kind, type_, name, taken) or self._create(kind, type_, name)
            if found is None:
                self.done.missing.append(f"{kind} {name}")
                continue
            taken.add(found)
            self.principals[principal] = found

    def _find(self, principal: str, kind: str, type_: str, name: str, taken: set[str]) -> str | None:
        if kind == "member":
            candidates = [
                one.principal
                for one in Member.objects.of(self.organisation_id).filter(type=type_, name=name).order_by("pk")
            ]
        else:
            groups = Group.objects.filter(organisation_id=self.organisation_id)
            same = groups.filter(is_everyone=True) if type_ == "everyone" else groups.filter(name=name)
            candidates = [one.principal for one in same.order_by("pk")]
        if principal in candidates:
            return principal
        free = [one for one in candidates if one not in taken]
        # Of two with the same name nobody can say who is meant, unless both are in the export.
        return free[0] if len(free) == 1 else None

    def _create(self, kind: str, type_: str, name: str) -> str | None:
        if not self.wish.create_missing:
            return None
        self.done.created.append(f"{kind} {name}")
        if kind == "group":
            return members.create_group(self.wish.organisation, name).principal
        member = members.join(self.wish.organisation, name=name, type=type_)
        # Named in the history, and given nothing to sign in with until an owner says so.
        members.deactivate(member)
        return member.principal

    def _types(self) -> None:
        for line in self._lines("types"):
            definition = line["definition"]
            name = str(definition["type"])
            if types.find(self.organisation_id, name) is None:
                types.register(self.organisation_id, definition, self.wish.actor)
            else:
                self.done.notes.append(f"The type {name} is registered here already, and stays as it is.")

    def _memories(self) -> None:
        for line in self._lines("memories"):
            old, parent = str(line["id"]), line["parent"]
            if (parent is None) != (old == self.reader.root) or (parent is not None and parent not in self.memories):
                raise Broken("The memories of the export do not form a tree.")
            memory = Memory.objects.create(
                id=mint("hmem_"),
                organisation_id=self.organisation_id,
                parent=self.memories[parent] if parent is not None else None,
                name=str(line["name"]),
                description=str(line["description"]),
                restricted=bool(line["restricted"]),
                provider=self._provider(str(line["provider"])),
                creator=self.principals.get(str(line["creator"])) or self.wish.creator or str(line["creator"]),
            )
            Memory.objects.filter(pk=memory.pk).update(
                created_at=instant(line["created_at"]), updated_at=instant(line["updated_at"])
            )
            self.memories[old] = memory
        if self.reader.root not in self.memories:
            raise Broken("The export holds no memory.")

    def _provider(self, provider_id: str) -> str:
        if registry.find(provider_id) is not None:
            return provider_id
        self.done.notes.append(f"The provider {provider_id} is not here; its records go to the first one.")
        return registry.connected()[0].id

    def _files(self) -> None:
        self.facts: dict[str, FileFacts] = {}
        for line in self._lines("files"):
            path = self.reader.bytes(str(line["sha256"]))
            try:
                with path.open("rb") as content:
                    sniffer, digest, size = Sniffer(), hashlib.sha256(), 0
                    while piece := content.read(1024 * 1024):
                        sniffer.feed(piece)
                        digest.update(piece)
                        size += len(piece)
                    if digest.hexdigest() != line["sha256"]:
                        raise Broken(f"{path} is not what its hash says.")
                    content.seek(0)
                    upload = files.Upload(
                        bytes=content,
                        name=plain(str(line["name"]))[:255],
                        sha256=digest.hexdigest(),
                        size=size,
                        media_type=sniffer.media_type(),
                        purpose=str(line["purpose"])[:40],
                    )
                    file = files.keep_as(
                        self.organisation_id,
                        upload,
                        uploaded_by=self._principal(line["uploaded_by"]),
                        created_at=self._instant(line["created_at"]),
                    )
            except OSError as failure:
                raise Broken(f"{path} cannot be read: {failure.strerror}.") from None
            self.ids.add([(str(line["id"]), file.id)])
            self.facts[file.id] = FileFacts(file.name, file.media_type, file.size)

    def _records(self) -> None:
        batch: list[Record] = []
        pairs: list[tuple[str, str]] = []
        for line in self._lines("records"):
            memory = self.memories[str(line["memory"])]
            record = Record(organisation_id=self.organisation_id, memory=memory, type=str(line["type"]))
            batch.append(record)
            pairs.append((str(line["id"]), record.id))
            if len(batch) >= 1_000:
                self._keep_records(batch, pairs)
        self._keep_records(batch, pairs)

    def _keep_records(self, batch: list[Record], pairs: list[tuple[str, str]]) -> None:
        Record.objects.bulk_create(batch)
        self.ids.add(pairs)
        batch.clear()
        pairs.clear()

    def _versions(self) -> None:
        batch: list[Mapping[str, Any]] = []
        size = 0
        for line in self._lines("versions"):
            batch.append(line)
            size += len(str(line["content"])) + len(str(line["attributes"]))
            if len(batch) >= TOGETHER or size >= TOGETHER_SIZE:
                self._keep_versions(batch)
                batch, size = [], 0
        self._keep_versions(batch)
        incomplete = Record.objects.filter(memory__in=list(self.memories.values()), versions=None)
        if incomplete.exists():
            raise Broken("The export holds records without a version.")

    def _keep_versions(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if not lines:
            return
        olds = {str(line["record"]) for line in lines}
        olds |= {str(one["record_id"]) for line in lines for one in line["references"]}
        olds |= {str(part["file"]["id"]) for line in lines for part in line["content"] if part.get("type") == "file"}
        new = self.ids.of(olds)
        records = Record.objects.select_related("memory").in_bulk([new[str(line["record"])] for line in lines])
        by_provider: dict[str, list[RecordVersion]] = {}
        for line in lines:
            record = records[new[str(line["record"])]]
            by_provider.setdefault(record.memory.provider, []).append(self._version(line, record, new))
        for provider_id, versions in by_provider.items():
            registry.get(provider_id).restore(versions)

    def _version(self, line: Mapping[str, Any], record: Record, new: Mapping[str, str]) -> RecordVersion:
        writer = line["written_by"]
        by = f"{writer['kind']}:{writer['id']}"
        status = str(line["status"])
        if status not in Version.Status.values:
            raise Broken(f"A version cannot be {status}.")
        if type(line["number"]) is not int:
            raise Broken("A version has a number.")
        return RecordVersion(
            id=record.id,
            memory_id=record.memory_id,
            number=line["number"],
            status=status,
            draft=self._draft(line, record, new),
            written_at=self._instant(line["written_at"]),
            invalidated_at=instant(line["invalidated_at"]),
            writer=Writer(
                kind=str(writer["kind"]),
                id=self.principals.get(by, by).partition(":")[2],
                type=str(writer["type"]),
                on_behalf_of=self._principal(writer["on_behalf_of"]),
                consolidation_id=str(writer["consolidation_id"]),
            ),
            follows=followed(line.get("follows")),
        )

    def _draft(self, line: Mapping[str, Any], record: Record, new: Mapping[str, str]) -> Draft:
        content = [self._part(part, new) for part in line["content"]]
        body = {"type": record.type, "content": content, "attributes": line["attributes"]}
        body |= {"title": line["title"]} if line["title"] else {}
        media = (registry.get(record.memory.provider).capabilities().get("content") or {}).get("media", ())
        draft = complete(read_draft(body), _Shelf(media, self.facts))
        derived = {index for index, part in enumerate(line["content"]) if part.get("text_source") == "derived"}
        kind = types.find(self.organisation_id, record.type)
        return replace(
            draft,
            content=tuple(
                {**part, "text_source": "derived"} if index in derived and "text_source" in part else part
                for index, part in enumerate(draft.content)
            ),
            references=tuple(self._reference(one, new) for one in line["references"]),
            valid_from=instant(line["valid_from"]),
            valid_to=instant(line["valid_to"]),
            projection=kind.text if kind else draft.projection,
        )

    def _part(self, part: Any, new: Mapping[str, str]) -> Any:
        if part.get("type") != "file":
            return part
        return {**part, "file": {"id": new.get(str(part["file"]["id"]), "")}}

    def _reference(self, one: Mapping[str, Any], new: Mapping[str, str]) -> Reference:
        memory_id, record_id, rel = str(one["memory_id"]), str(one["record_id"]), str(one["rel"])
        if memory_id and memory_id not in self.memories:
            # It points out of what was exported, and keeps pointing there.
            return Reference(record_id, rel, memory_id)
        return Reference(new.get(record_id, record_id), rel, self.memories[memory_id].id if memory_id else "")

    def _instant(self, value: Any) -> datetime:
        found = instant(value)
        if found is None:
            raise Broken("An instant is missing.")
        return found

    def _principal(self, value: Any) -> str:
        return self.principals.get(str(value), str(value))

    def _grants(self) -> None:
        for line in self._lines("grants"):
            principal = self.principals.get(str(line["principal"]))
            if principal is None:
                continue
            grant = Grant.objects.create(
                organisation_id=self.organisation_id,
                memory=self.memories[str(line["memory"])],
                principal=principal,
                privileges=int(Privilege.from_words(line["privileges"])),
            )
            Grant.objects.filter(pk=grant.pk).update(
                created_at=instant(line["created_at"]), updated_at=instant(line["updated_at"])
            )

    def _snapshots(self) -> None:
        for line in self._lines("snapshots"):
            Snapshot.objects.create(
                organisation_id=self.organisation_id,
                memory=self.memories[str(line["memory"])],
                name=str(line["name"]),
                message=str(line["message"]),
                at=self._instant(line["at"]),
                taken_by=self._principal(line["taken_by"]),
            )

    def _holds(self) -> None:
        for line in self._lines("holds"):
            record = line["record"]
            Hold.objects.create(
                organisation_id=self.organisation_id,
                memory=self.memories[str(line["memory"])],
                # A lifted hold may outlive its record, whose id then stays what it was.
                record_id=None if record is None else self.ids.of([str(record)]).get(str(record), str(record)),
                reason=str(line["reason"]),
                placed_by=self._principal(line["placed_by"]),
                placed_at=self._instant(line["placed_at"]),
                lifted_by=self._principal(line["lifted_by"]),
                lifted_at=instant(line["lifted_at"]),
            )

    def _queries(self) -> None:
        # Exports from before there were queries have none.
        for line in self._lines("queries") if "queries" in self.reader.counts else ():
            definition = read_definition({name: line[name] for name in DEFINITION})
            made = Query.objects.create(
                organisation_id=self.organisation_id,
                memory=self.memories[str(line["memory"])],
                name=check_name(str(line["name"])),
                description=definition.description,
                params=dict(definition.params),
                requires=definition.requires.words[0],
                language=definition.language,
                body=definition.body,
                defined_by=self._principal(line["defined_by"]),
                defined_by_type=str(line["defined_by_type"]),
            )
            Query.objects.filter(pk=made.pk).update(
                created_at=self._instant(line["created_at"]), updated_at=self._instant(line["updated_at"])
            )

    def _plant(self) -> None:
        """Put the tree where it belongs, last: until here nobody had to wait for it."""
        lock_tree(self.organisation_id, shared=True)
        root, parent = self.memories[self.reader.root], self.wish.parent
        if parent is not None:
            parent = Memory.objects.select_for_update(no_key=True).filter(pk=parent.pk).first()
            if parent is None:
                raise Broken("The memory that was to hold the import is gone.")
            require_depth(parent, self._levels())
            root.parent = parent
            Memory.objects.filter(pk=root.pk).update(parent=parent)
        for memory in self.memories.values():
            Reach.objects.plant(memory)
        self.done.root = root.id
        events.record(
            self.organisation_id,
            self.wish.actor,
            "memory.imported",
            memory_id=root.id,
            memories=len(self.memories),
            records=int(self.reader.counts.get("records", 0)),
        )

    def _levels(self) -> int:
        levels: dict[str, int] = {}
        for memory in self.memories.values():
            levels[memory.id] = 1 + levels.get(memory.parent_id or "", 0)
        return max(levels.values())


def followed(line: object) -> Followed | None:
    """The outside source that a line names, if any."""
    if not isinstance(line, Mapping):
        return None
    return Followed(str(line.get("kind", "")), str(line.get("id", "")), str(line.get("name", "")))
