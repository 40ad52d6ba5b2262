"""The built-in provider: records, versions, words and vectors on Postgres with pgvector."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.search import SearchVector
from django.db import transaction
from django.db.models import Count, F, Value
from django.utils import timezone

from memories.content import Draft, Reference
from memories.embedders.base import Embedder
from memories.models import Embedding, Memory, Record, Version

from . import search
from .base import Candidate, Change, Page, Question, RecordVersion, View, Writer

CLOCK_STEP = timedelta(microseconds=1)
# What of a long text is embedded, in characters; the model itself reads 256 word pieces.
EMBEDDED = 4_000
# How many candidates each signal brings, at least: enough that fusing can lift what both find middling.
DEPTH = 100


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
            "derivation": "none",
            "recall": {"signals": ["query", "text"], "abstain": False},
            "history": {"content": "versions", "structure": "none"},
            "revise": "native",
            "forget": "native",
            "prime": False,
            "consolidate": False,
            "holds": True,
            "queries": {"named": False, "free": None},
            "types": False,
            "graph": {"entities": "none"},
            "content": {"media": [], "describes": []},
        }

    @transaction.atomic
    def remember(self, memory_id: str, draft: Draft, writer: Writer) -> RecordVersion:
        """Write a record, its first version, its words and its vector in one transaction."""
        memory = Memory.objects.only("organisation_id").get(pk=memory_id)
        record = Record.objects.create(organisation_id=memory.organisation_id, memory=memory, type=draft.type)
        return self._append(record, draft, writer, timezone.now())

    @transaction.atomic
    def revise(self, memory_id: str, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
        """Close the head as superseded and append the next version; writers of one record queue on its row."""
        record, head = self._lock(memory_id, record_id)
        if record is None or head is None or head.status != Version.Status.ACTIVE:
            return None
        draft = change(_shown(head))
        moment = max(timezone.now(), head.written_at + CLOCK_STEP)
        self._close(head, Version.Status.SUPERSEDED, moment)
        record.head = head.number + 1
        record.save(update_fields=["head"])
        return self._append(record, draft, writer, moment)

    @transaction.atomic
    def forget(self, memory_id: str, record_id: str) -> RecordVersion | None:
        """Close the head in place: no version is added (Memories §4.10)."""
        record, head = self._lock(memory_id, record_id)
        if record is None or head is None or head.status != Version.Status.ACTIVE:
            return None
        self._close(head, Version.Status.FORGOTTEN, max(timezone.now(), head.written_at + CLOCK_STEP))
        return _shown(head)

    def get(self, memory_id: str, record_id: str, as_of: datetime | None = None) -> RecordVersion | None:
        """The newest version whatever its status, or the one that held at an instant, shown as active then."""
        versions = Version.objects.filter(memory_id=memory_id, record_id=record_id)
        if as_of is None:
            found = versions.order_by("-number").first()
            return _shown(found) if found else None
        found = versions.as_of(as_of).first()
        return _shown(found, as_of) if found else None

    def history(self, memory_id: str, record_id: str) -> Sequence[RecordVersion]:
        """Every version of one record, oldest first."""
        versions = Version.objects.filter(memory_id=memory_id, record_id=record_id).order_by("number")
        return [_shown(version) for version in versions]

    def page(self, memory_id: str, view: View, limit: int, after: tuple[datetime, str] | None) -> Page:
        """Records by the time their shown version was written, then by id; read by key, never by offset."""
        versions = _through(Version.objects.filter(memory_id=memory_id), view)
        if after:
            moment, record_id = after
            versions = versions.filter(written_at__gte=moment).exclude(written_at=moment, record_id__lte=record_id)
        rows = list(versions.order_by("written_at", "record_id")[: limit + 1])
        shown = tuple(_shown(version, view.as_of) for version in rows[:limit])
        return Page(shown, (shown[-1].written_at, shown[-1].id) if len(rows) > limit else None)

    def count(self, memory_ids: Collection[str]) -> Mapping[str, int]:
        """Current records by memory, in one query."""
        counted = Version.objects.current().in_memories(memory_ids).order_by().values("memory_id")
        return dict(counted.annotate(total=Count("pk")).values_list("memory_id", "total"))

    def existing(self, references: Iterable[Reference]) -> Mapping[tuple[str, str], str]:
        """The named records that exist where they are said to, in one query."""
        pairs = {(reference.memory_id, reference.record_id) for reference in references}
        if not pairs:
            return {}
        heads = Version.objects.filter(
            record_id__in={record_id for _, record_id in pairs}, number=F("record__head")
        ).in_memories({memory_id for memory_id, _ in pairs})
        found = {(head.memory_id, head.record_id): _shown(head).name for head in heads}
        return {pair: name for pair, name in found.items() if pair in pairs}

    def candidates(self, memory_ids: Sequence[str], question: Question) -> Sequence[Candidate]:
        """The best by meaning and by words of the query, and by words of the text; scores filled in for all of them."""
        depth = max(DEPTH, question.limit * 5)
        scores: dict[str, dict[int, float]] = {}
        vector = None
        if question.query:
            vector = self._embedder().embed_query(question.query[:EMBEDDED])
            model = self._embedder().name
            scores["meaning"] = search.by_meaning(vector, model, memory_ids, question.view, depth)
            scores["words"] = search.by_words(question.query, memory_ids, question.view, depth)
        if question.text:
            scores["text"] = search.by_words(question.text, memory_ids, question.view, depth)
        found = {key for by_key in scores.values() for key in by_key}
        if vector is not None and (missing := found - scores["meaning"].keys()):
            scores["meaning"] |= search.meaning_of(vector, self._embedder().name, missing)
        for signal, asked in (("words", question.query), ("text", question.text)):
            if signal in scores and (missing := found - scores[signal].keys()):
                scores[signal] |= search.words_of(asked, missing)
        return [
            Candidate(key, {signal: by_key[key] for signal, by_key in scores.items() if key in by_key}) for key in found
        ]

    def open(self, keys: Sequence[int], view: View) -> Mapping[int, RecordVersion]:
        """The versions behind keys, in one query."""
        return {key: _shown(version, view.as_of) for key, version in Version.objects.in_bulk(keys).items()}

    def drop(self, memory_ids: Collection[str]) -> None:
        """Remove vectors, versions and records of these memories, in that order."""
        Embedding.objects.filter(memory_id__in=memory_ids).delete()
        Version.objects.in_memories(memory_ids).delete()
        Record.objects.filter(memory_id__in=memory_ids).delete()

    def _lock(self, memory_id: str, record_id: str) -> tuple[Record | None, Version | None]:
        record = Record.objects.select_for_update(no_key=True).filter(pk=record_id, memory_id=memory_id).first()
        if record is None:
            return None, None
        return record, Version.objects.get(record=record, number=record.head)

    def _close(self, head: Version, status: Version.Status, moment: datetime) -> None:
        head.status, head.invalidated_at = status, moment
        head.save(update_fields=["status", "invalidated_at"])
        Embedding.objects.filter(version=head).update(current=False)

    def _append(self, record: Record, draft: Draft, writer: Writer, moment: datetime) -> RecordVersion:
        text = draft.text
        version = Version.objects.create(
            organisation_id=record.organisation_id,
            memory_id=record.memory_id,
            record=record,
            number=record.head,
            type=draft.type,
            title=draft.title,
            content=list(draft.content),
            attributes=dict(draft.attributes or {}),
            references=[_stored(reference) for reference in draft.references],
            valid_from=draft.valid_from,
            valid_to=draft.valid_to,
            written_at=moment,
            writer_kind=writer.kind,
            writer_id=writer.id,
            writer_type=writer.type,
            on_behalf_of=writer.on_behalf_of,
            consolidation_id=writer.consolidation_id,
            words=SearchVector(Value(text[: search.MAX_WORDS]), config=search.CONFIG),
        )
        Embedding.objects.create(
            organisation_id=record.organisation_id,
            memory_id=record.memory_id,
            version=version,
            model=self._embedder().name,
            vector=self._embedder().embed([text[:EMBEDDED]])[0],
        )
        return _shown(version)


def _through(versions: Any, view: View) -> Any:
    if view.as_of:
        versions = versions.as_of(view.as_of)
    elif not view.include_all:
        versions = versions.current()
    return versions.filter(type__in=view.types) if view.types else versions


def _stored(reference: Reference) -> dict[str, str]:
    return {"rel": reference.rel, "memory_id": reference.memory_id, "record_id": reference.record_id}


def _shown(version: Version, as_of: datetime | None = None) -> RecordVersion:
    # At an instant at which a version held, it was active, whatever became of it.
    return RecordVersion(
        id=version.record_id,
        memory_id=version.memory_id,
        number=version.number,
        status=Version.Status.ACTIVE.value if as_of else version.status,
        draft=Draft(
            type=version.type,
            title=version.title,
            content=tuple(version.content),
            attributes=version.attributes,
            references=tuple(Reference(**entry) for entry in version.references),
            valid_from=version.valid_from,
            valid_to=version.valid_to,
        ),
        written_at=version.written_at,
        invalidated_at=None if as_of else version.invalidated_at,
        writer=Writer(
            kind=version.writer_kind,
            id=version.writer_id,
            type=version.writer_type,
            on_behalf_of=version.on_behalf_of,
            consolidation_id=version.consolidation_id,
        ),
    )
