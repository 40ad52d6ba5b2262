"""The built-in provider: records, versions, words and vectors on Postgres with pgvector."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, F, Max, Q
from django.db.models.expressions import RawSQL

from members.ids import digits
from memories.content import Draft, Reference
from memories.embedders.base import Embedder
from memories.models import Embedding, Memory, Record, Snapshot, Version
from uhp_site.http.errors import RecordNotFound

from . import active, alike, candidates, fields, filtering, links, locks, newest, rows, vectors, words
from .base import (
    Awaiting,
    Change,
    Check,
    Followed,
    Found,
    Holder,
    Instant,
    Named,
    Nearby,
    Page,
    Question,
    RecordVersion,
    Removed,
    View,
    Writer,
)
from .graph import Links
from .nearby import NativeNearby

# How many records one query looks for the derivatives of.
TOGETHER = 50
DERIVED = "derived_from"
PROVIDER = "provider"


class NativeProvider:
    """The provider with the id `native`; it is given its embedder and reads no settings."""

    id = "native"

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder

    def capabilities(self) -> Mapping[str, Any]:
        """The capability document: only what is there."""
        return {
            "id": self.id,
            "isolation": "enforced_filter",
            "derivation": "background",
            "observe": {"keeps_episodes": True, "answers": "records"},
            "recall": {"signals": ["query", "text", "filters"], "abstain": True},
            "history": {"content": "versions", "structure": "none"},
            "revise": "native",
            "forget": "native",
            "erase": {"unreachable": "reported"},
            "prime": True,
            "consolidate": "runs",
            "holds": True,
            "queries": {"named": True, "free": {"languages": ["filter"], "write": False}},
            "types": True,
            "graph": {"entities": "stated"},
            "content": {"media": ["*/*"], "bytes": "kept", "describes": []},
        }

    @transaction.atomic
    def remember(
        self,
        memory_id: str,
        draft: Draft,
        writer: Writer,
        follows: Followed | None = None,
        record_id: str | None = None,
    ) -> RecordVersion:
        """Write a record, its first version and its words in one transaction; its vector is awaited."""
        organisation_id = self._enter(memory_id, writer)
        named = {"id": record_id} if record_id else {}
        record = Record.objects.create(organisation_id=organisation_id, memory_id=memory_id, type=draft.type, **named)
        return self._append(record, draft, writer, locks.moment(memory_id), follows)

    @transaction.atomic
    def revise(self, memory_id: str, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
        """Close the head as superseded and append the next version; writers of one record queue on its row."""
        self._enter(memory_id, writer)
        record, head = self._lock(memory_id, record_id)
        if record is None or head is None or head.status != Version.Status.ACTIVE:
            return None
        draft = change(rows.shown(head))
        moment = locks.moment(memory_id, head.written_at)
        self._close(head, Version.Status.SUPERSEDED, moment)
        record.head = head.number + 1
        record.save(update_fields=["head"])
        return self._append(record, draft, writer, moment)

    @transaction.atomic
    def forget(self, memory_id: str, record_id: str, check: Check | None = None) -> RecordVersion | None:
        """Close the head in place: no version is added (Memories §4.10)."""
        locks.enter(memory_id)
        record, head = self._lock(memory_id, record_id)
        if record is None or head is None or head.status != Version.Status.ACTIVE:
            return None
        if check:
            check(rows.shown(head))
        self._close(head, Version.Status.FORGOTTEN, locks.moment(memory_id, head.written_at))
        return rows.shown(head)

    def get(self, memory_id: str, record_id: str, as_of: datetime | None = None) -> RecordVersion | None:
        """The newest version whatever its status, or the one that held at an instant, shown as active then."""
        versions = Version.objects.filter(memory_id=memory_id, record_id=record_id)
        if as_of is None:
            found = versions.order_by("-number").first()
            return rows.shown(found) if found else None
        found = versions.as_of(as_of).first()
        return rows.shown(found, as_of) if found else None

    def history(
        self,
        memory_id: str,
        record_id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> Sequence[RecordVersion]:
        """Read along the numbers of one record, in one query."""
        versions = Version.objects.filter(memory_id=memory_id, record_id=record_id)
        if after is not None:
            versions = versions.filter(number__lt=after) if newest_first else versions.filter(number__gt=after)
        return [rows.shown(version) for version in versions.order_by("-number" if newest_first else "number")[:limit]]

    def numbered(self, memory_id: str, record_id: str, numbers: Collection[int]) -> Mapping[int, RecordVersion]:
        """In one query."""
        versions = Version.objects.filter(memory_id=memory_id, record_id=record_id, number__in=set(numbers))
        return {version.number: rows.shown(version) for version in versions}

    def page(self, memory_id: str, view: View, limit: int, after: tuple[datetime, str] | None) -> Page:
        """Records by the time their shown version was written, then by id; read by key, never by offset."""
        return _page(_through(Version.objects.filter(memory_id=memory_id), view), limit, after, view.as_of)

    def count(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        """Current records by memory, in one query."""
        # One text, which is sent and read much quicker than a list of ten thousand.
        inside = RawSQL("SELECT unnest(string_to_array(%s, ',')::uuid[])", [",".join(digits(memory_ids, "hmem_"))])
        counted = Version.objects.current().filter(memory_id__in=inside).order_by().values("memory_id")
        # Rows and not keys: those are counted from an index alone.
        return dict(counted.annotate(total=Count("*")).values_list("memory_id", "total"))

    def existing(self, references: Iterable[Reference]) -> Mapping[tuple[str, str], str]:
        """The named records that exist where they are said to, in one query."""
        return {pair: head.name for pair, head in self.heads(references).items()}

    def heads(self, references: Iterable[Reference]) -> Mapping[tuple[str, str], RecordVersion]:
        """In one query."""
        pairs = {(reference.memory_id, reference.record_id) for reference in references}
        if not pairs:
            return {}
        heads = Version.objects.filter(
            record_id__in={record_id for _, record_id in pairs}, number=F("record__head")
        ).in_memories({memory_id for memory_id, _ in pairs})
        found = {(head.memory_id, head.record_id): rows.shown(head) for head in heads}
        return {pair: version for pair, version in found.items() if pair in pairs}

    def candidates(self, memory_ids: Sequence[str], question: Question) -> Found:
        """By meaning, alone and in context, by words, and by whom it names."""
        return candidates.find(memory_ids, question, lambda: active.embedder_for(memory_ids, self._embedder))

    def alike(self, memory_id: str, text: str, limit: int) -> Sequence[RecordVersion]:
        """By the words as they are indexed."""
        return [rows.shown(version) for version in alike.found(memory_id, text, limit)]

    def named(self, memory_ids: Sequence[str], phrases: Collection[str], view: View) -> Named:
        """Speakers of episodes, and the titles of entity records."""
        return fields.known(memory_ids, phrases, view)

    def newest(self, memory_ids: Sequence[str], view: View, limit: int) -> Sequence[int]:
        """By the time of writing."""
        return newest.newest(memory_ids, view, limit)

    def links(self) -> Links:
        """Pointers are indexed, both ways."""
        return links.NativeLinks()

    def open(self, keys: Sequence[int], view: View) -> Mapping[int, RecordVersion]:
        """The versions behind keys, in one query."""
        return {key: rows.shown(version, view.as_of) for key, version in Version.objects.in_bulk(keys).items()}

    def versions(self, memory_id: str) -> Iterator[RecordVersion]:
        """In the order of the records' ids, which is that of their making."""
        versions = Version.objects.filter(memory_id=memory_id).order_by("record_id", "number")
        for version in versions.iterator(chunk_size=100):
            yield rows.shown(version)

    @transaction.atomic
    def restore(self, versions: Sequence[RecordVersion]) -> None:
        """Write versions, their words and their vectors, many at a time; a record's head is its newest version."""
        memories = {version.memory_id for version in versions}
        homes = dict(Memory.deleted_too.filter(pk__in=memories).values_list("id", "organisation_id"))
        heads = {version.id: version for version in versions}
        Record.objects.bulk_create(
            [
                Record(
                    id=record_id,
                    organisation_id=homes[newest.memory_id],
                    memory_id=newest.memory_id,
                    type=newest.draft.type,
                    head=newest.number,
                )
                for record_id, newest in heads.items()
            ],
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=["head"],
        )
        spoken = words.languages(set(homes.values()))
        made = [rows.row(one, homes[one.memory_id], spoken[homes[one.memory_id]]) for one in versions]
        active.write(_inserted(made, [version.draft for version in versions]), self._embedder)

    def drop(self, memory_ids: Collection[str]) -> None:
        """Remove snapshots, vectors, versions and records of these memories, in that order."""
        Snapshot.objects.filter(memory_id__in=memory_ids).delete()
        Embedding.objects.filter(memory_id__in=memory_ids).delete()
        Version.objects.in_memories(memory_ids).delete()
        Record.objects.filter(memory_id__in=memory_ids).delete()

    def holders(self, organisation_id: str, record_ids: Collection[str]) -> Sequence[Holder]:
        """Records of which some version says so; the references of all versions are indexed."""
        ids, found = sorted(record_ids), set[tuple[str, str]]()
        for start in range(0, len(ids), TOGETHER):
            named = Q()
            for record_id in ids[start : start + TOGETHER]:
                named |= Q(references__contains=[{"rel": DERIVED, "record_id": record_id}])
            versions = Version.objects.filter(named, organisation_id=organisation_id)
            found |= set(versions.values_list("memory_id", "record_id"))
        touched = set(
            Version.objects.filter(record_id__in={record_id for _, record_id in found})
            .exclude(writer_kind=PROVIDER)
            .values_list("record_id", flat=True)
        )
        return [Holder(memory_id, record_id, record_id not in touched) for memory_id, record_id in sorted(found)]

    def settle(self, organisation_id: str) -> None:
        """Take the organisation's erasure lock."""
        locks.erase(organisation_id)

    def erase(self, record_ids: Collection[str]) -> Removed:
        """Remove vectors, versions with their words, and records; whoever revises one meanwhile finds it gone."""
        records = Record.objects.filter(pk__in=record_ids)
        list(records.order_by("pk").select_for_update().values_list("pk"))
        versions = Version.objects.filter(record_id__in=record_ids)
        counts = self.left(record_ids)
        files = {
            str(part["file"]["id"])
            for content in versions.values_list("content", flat=True).iterator()
            for part in content
            if part.get("type") == "file"
        }
        using = connection.alias
        # Whoever makes vectors of them is waited for, so that none comes after the others are gone.
        list(versions.order_by("pk").select_for_update().values_list("pk"))
        _vectors_of(versions)._raw_delete(using)
        versions._raw_delete(using)
        records._raw_delete(using)
        return Removed(counts, tuple(sorted(files)))

    def left(self, record_ids: Collection[str]) -> Mapping[str, int]:
        """Counted afresh, table by table."""
        versions = Version.objects.filter(record_id__in=record_ids)
        return {
            "records": Record.objects.filter(pk__in=record_ids).count(),
            "versions": versions.count(),
            "vectors": _vectors_of(versions).count(),
        }

    @transaction.atomic
    def take_snapshot(self, memory_id: str, name: str, message: str, by: str) -> Instant:
        """Name an instant, alone with the clock of the memory."""
        at = locks.instant(memory_id)
        memory = Memory.objects.only("organisation_id").get(pk=memory_id)
        taken = Snapshot.objects.create(
            organisation_id=memory.organisation_id, memory=memory, name=name, message=message, taken_by=by, at=at
        )
        return rows.instant(taken)

    def snapshots(self, memory_id: str, limit: int, before: tuple[datetime, str] | None) -> Sequence[Instant]:
        """Newest first; no two share an instant."""
        found = Snapshot.objects.filter(memory_id=memory_id)
        if before:
            found = found.filter(at__lt=before[0])
        return [rows.instant(one) for one in found.order_by("-at")[:limit]]

    def standing(self, memory_id: str, limit: int, after: tuple[datetime, str] | None) -> Page:
        """As `page`, of those alone; a string or a number that looks like true is not it."""
        versions = Version.objects.filter(memory_id=memory_id, attributes__contains={"standing": True}).current()
        return _page(versions, limit, after)

    @transaction.atomic
    def horizon(self, memory_id: str) -> datetime:
        """Alone with the clock of the memory for a moment: who writes now is waited for."""
        return locks.instant(memory_id)

    def awaiting(self, memory_id: str, types: Sequence[str], after: tuple[datetime, str] | None) -> Awaiting:
        """Counted along the index of the current versions."""
        versions = Version.objects.filter(memory_id=memory_id, type__in=types).current()
        found = _beyond(versions, after).aggregate(count=Count("pk"), newest=Max("written_at"))
        return Awaiting(found["count"], found["newest"])

    def earlier(self, memory_id: str, view: View, limit: int, until: tuple[datetime, str]) -> Sequence[RecordVersion]:
        """Read backwards from the position."""
        moment, record_id = until
        versions = _through(Version.objects.filter(memory_id=memory_id, written_at__lte=moment), view)
        versions = versions.exclude(written_at=moment, record_id__gt=record_id)
        return [rows.shown(version) for version in versions.order_by("-written_at", "-record_id")[:limit]][::-1]

    def ended(self, memory_id: str, before: datetime, limit: int) -> Sequence[RecordVersion]:
        """Those whose end is known and past."""
        versions = Version.objects.filter(memory_id=memory_id, valid_to__lt=before).current()
        return [rows.shown(version) for version in versions.order_by("valid_to", "record_id")[:limit]]

    def histories(self, memory_id: str, record_ids: Collection[str]) -> Mapping[str, Sequence[RecordVersion]]:
        """In one query."""
        found: dict[str, list[RecordVersion]] = {}
        versions = Version.objects.filter(memory_id=memory_id, record_id__in=set(record_ids))
        for version in versions.order_by("record_id", "number"):
            found.setdefault(version.record_id, []).append(rows.shown(version))
        return found

    @transaction.atomic
    def reopen(self, memory_id: str, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
        """The closed version stays as it is; the next one begins now."""
        self._enter(memory_id, writer)
        record, head = self._lock(memory_id, record_id)
        if record is None or head is None or head.status != Version.Status.FORGOTTEN:
            return None
        draft = change(rows.shown(head))
        record.head = head.number + 1
        record.save(update_fields=["head"])
        return self._append(record, draft, writer, locks.moment(memory_id, head.invalidated_at))

    def derive(self, organisation_id: str) -> None:
        """Share the organisation's erasure lock."""
        locks.derive(organisation_id)

    def nearby(self, memory_id: str) -> Nearby:
        """Compared in memory, exactly."""
        return NativeNearby(memory_id, active.embedder_for([memory_id], self._embedder), self.open, vectors.EMBEDDED)

    def _enter(self, memory_id: str, writer: Writer) -> str:
        organisation_id = locks.enter(memory_id)
        if writer.kind == PROVIDER:
            locks.derive(organisation_id)
        return organisation_id

    def _lock(self, memory_id: str, record_id: str) -> tuple[Record | None, Version | None]:
        record = Record.objects.select_for_update(no_key=True).filter(pk=record_id, memory_id=memory_id).first()
        if record is None:
            return None, None
        return record, Version.objects.get(record=record, number=record.head)

    def _close(self, head: Version, status: Version.Status, moment: datetime) -> None:
        head.status, head.invalidated_at = status, moment
        head.save(update_fields=["status", "invalidated_at"])
        Embedding.objects.filter(version=head).update(current=False)

    def _append(
        self, record: Record, draft: Draft, writer: Writer, moment: datetime, follows: Followed | None = None
    ) -> RecordVersion:
        _require_sources(record, draft, writer)
        written = RecordVersion(
            id=record.id,
            memory_id=record.memory_id,
            number=record.head,
            status=Version.Status.ACTIVE.value,
            draft=draft,
            written_at=moment,
            invalidated_at=None,
            writer=writer,
            follows=follows,
        )
        language = words.languages([record.organisation_id])[record.organisation_id]
        active.soon(_inserted([rows.row(written, record.organisation_id, language)], [draft]), self._embedder)
        return written


def _inserted(versions: Sequence[Version], drafts: Sequence[Draft]) -> list[vectors.Written]:
    Version.objects.bulk_create(versions)
    return [vectors.Written(version, draft) for version, draft in zip(versions, drafts, strict=True)]


def _vectors_of(versions: Any) -> Any:
    # Those of a version, and those of the turn after it, in which its words are, too.
    keys = versions.values("pk")
    return Embedding.objects.filter(Q(version_id__in=keys) | Q(preceding__in=keys))


def _through(versions: Any, view: View) -> Any:
    if view.as_of:
        versions = versions.as_of(view.as_of)
    elif not view.include_all:
        versions = versions.current()
    if view.filters is not None:
        versions = versions.filter(filtering.expression(view.filters, at_instant=view.as_of is not None))
    return versions.filter(type__in=view.types) if view.types else versions


def _page(versions: Any, limit: int, after: tuple[datetime, str] | None, as_of: datetime | None = None) -> Page:
    found = list(_beyond(versions, after).order_by("written_at", "record_id")[: limit + 1])
    shown = tuple(rows.shown(version, as_of) for version in found[:limit])
    return Page(shown, (shown[-1].written_at, shown[-1].id) if len(found) > limit else None)


def _beyond(versions: Any, after: tuple[datetime, str] | None) -> Any:
    if after is None:
        return versions
    moment, record_id = after
    return versions.filter(written_at__gte=moment).exclude(written_at=moment, record_id__lte=record_id)


def _require_sources(record: Record, draft: Draft, writer: Writer) -> None:
    # What was erased while something was being derived from it does not come back in other words.
    sources = {reference.record_id for reference in draft.references if reference.rel == DERIVED}
    if writer.kind == PROVIDER and sources:
        there = Record.objects.filter(pk__in=sources, organisation_id=record.organisation_id).count()
        if there < len(sources):
            raise RecordNotFound("A record that this is derived from is gone.")
