"""Proposals become records: each is checked here again, whatever the engine says, and then written and noted down.

An engine rests what it writes on episodes it was given; it writes no standing record, points out of its memory nowhere,
and does not touch what a member wrote: there it can only ask a person to decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction
from django.utils import timezone

from memories.consolidation.base import Kept, Kind, Proposal, Reason
from memories.content import MAX_REFERENCES, Draft, Reference, check_once, whole
from memories.models import Conflict, Memory, ReviewItem, Run, RunChange
from memories.providers import active
from memories.providers.base import Provider, RecordVersion, Writer
from uhp_site.http.errors import MemoryInvalid, MemoryUnsupported, RecordNotFound

from . import gate, refusals, types

PROVIDER = "provider"
EPISODE = "episode"
DERIVED = "derived_from"
MADE = RunChange.Kind


class NotTheirs(Exception):
    """A member wrote what a proposal is about."""


class Idle(Exception):
    """A proposal that has nothing to do."""


@dataclass
class Counts:
    """What a batch did, by kind."""

    created: int = 0
    superseded: int = 0
    forgotten: int = 0
    supported: int = 0
    conflicts: int = 0


@dataclass
class Writing:
    """Writes the proposals of one batch, in the caller's transaction. `given` are the episodes the engine was given."""

    run: Run
    memory: Memory
    provider: Provider
    given: Mapping[str, Kept]
    counts: Counts = field(default_factory=Counts)
    changes: list[RunChange] = field(default_factory=list)
    _named: dict[str, str] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _refused: set[str] = field(default_factory=set)

    def write(self, proposals: Sequence[Proposal]) -> None:
        """Write what can be written. What cannot, because it is gone or does not fit, is passed over."""
        self.provider.derive(self.memory.organisation_id)
        sources = {source for proposal in proposals for source in proposal.sources if source in self.given}
        found = self.provider.histories(self.memory.id, sources)
        self._open = {one for one, versions in found.items() if versions[-1].status == "active"}
        hashes = {self._hash(proposal.draft) for proposal in proposals if proposal.draft}
        self._refused = refusals.refused(self.memory.id, hashes)
        with active.together() as together:
            for proposal in proposals:
                try:
                    with together.attempt(), transaction.atomic():
                        self._one(proposal)
                except (RecordNotFound, MemoryInvalid, MemoryUnsupported, Idle):
                    continue
        RunChange.objects.bulk_create(self.changes)

    def _one(self, proposal: Proposal) -> None:
        sources = [one for one in dict.fromkeys(proposal.sources) if one in self._open]
        if not sources and proposal.kind != Kind.FORGET:
            raise Idle
        if proposal.draft and self._hash(proposal.draft) in self._refused:
            raise Idle
        record_id = self._named.get(proposal.record_id, proposal.record_id)
        if proposal.kind == Kind.CREATE:
            written = self._create(proposal, sources)
            if proposal.key:
                self._named[proposal.key] = written.id
        elif proposal.kind == Kind.SUPERSEDE:
            self._supersede(proposal, record_id, sources)
        elif proposal.kind == Kind.SUPPORT:
            self._support(proposal, record_id, sources)
        elif proposal.kind == Kind.FORGET:
            self._forget(proposal, record_id)
        else:
            self._conflict(proposal, record_id, sources)

    def _create(self, proposal: Proposal, sources: Sequence[str]) -> RecordVersion:
        draft = self._draft(proposal.draft, sources)
        written = gate.remember(self.memory, draft, self._writer(sources))
        if written.review:
            # It waits for a person, and is no change of the run until then.
            return written
        self.counts.created += 1
        self._note(MADE.CREATED, proposal, written.id, sources, after=written.number, draft=draft)
        return written

    def _supersede(self, proposal: Proposal, record_id: str, sources: Sequence[str]) -> None:
        wanted = self._draft(proposal.draft, sources)

        def change(head: RecordVersion) -> Draft:
            require_derived(head)
            if same(head.draft, wanted):
                raise Idle
            # What it rested on before, it rests on still: whoever erases that must find this.
            before = [one for one in head.draft.references if one.rel == DERIVED]
            references = joined([*(one for one in wanted.references if one.rel != DERIVED), *before], sources)
            return self._fitting(replace(wanted, type=head.draft.type, references=references))

        try:
            with transaction.atomic():
                written = gate.revise(self.memory, record_id, change, self._writer(sources))
        except NotTheirs:
            self._conflict(replace(proposal, reason=Reason.MEMBER_WROTE), record_id, sources)
            return
        except Idle:
            self._support(proposal, record_id, sources)
            return
        if written is None:
            raise Idle
        if written.review:
            return
        self.counts.superseded += 1
        self._note(
            MADE.SUPERSEDED, proposal, record_id, sources, written.number - 1, written.number, draft=written.draft
        )

    def _support(self, proposal: Proposal, record_id: str, sources: Sequence[str]) -> None:
        def change(head: RecordVersion) -> Draft:
            require_derived(head)
            known = {one.record_id for one in head.draft.references if one.rel == DERIVED}
            if known.issuperset(sources):
                raise Idle
            return self._fitting(replace(head.draft, references=joined(head.draft.references, sources)))

        before: int | None = None
        try:
            with transaction.atomic():
                written = gate.revise(self.memory, record_id, change, self._writer(sources))
        except NotTheirs:
            # What a member wrote is not touched, not even to say what else supports it: the run remembers that.
            written = None
            head = self._head(record_id)
            before = head.number if head else None
        if written is None and before is None:
            raise Idle
        if written is not None and written.review:
            return
        self.counts.supported += 1
        after = written.number if written else None
        self._note(MADE.SUPPORTED, proposal, record_id, sources, before or (after or 1) - 1, after)

    def _forget(self, proposal: Proposal, record_id: str) -> None:
        now = timezone.now()

        def check(head: RecordVersion) -> None:
            if head.draft.valid_to is None or head.draft.valid_to >= now:
                raise Idle
            require_derived(head)

        try:
            with transaction.atomic():
                closed = self.provider.forget(self.memory.id, record_id, check)
        except NotTheirs:
            self._ask(proposal.reason, record_id, None)
            return
        if closed is None:
            raise Idle
        self.counts.forgotten += 1
        self._note(MADE.FORGOTTEN, proposal, record_id, (), before=closed.number, draft=closed.draft)

    def _conflict(self, proposal: Proposal, record_id: str, sources: Sequence[str]) -> None:
        head = self._head(record_id)
        if head is None or head.draft.type == EPISODE:
            raise Idle
        if proposal.draft and same(head.draft, proposal.draft):
            raise Idle
        written = self._create(proposal, sources)
        if not written.review:
            self._ask(proposal.reason, record_id, written.id)

    def _ask(self, reason: Reason, this: str, that: str | None) -> None:
        asked, new = Conflict.objects.get_or_create(
            memory=self.memory,
            this_id=this,
            that_id=that,
            defaults={"organisation_id": self.memory.organisation_id, "run": self.run, "reason": reason.value},
        )
        self.counts.conflicts += new
        if new:
            gate.ask(self.memory, ReviewItem.Kind.CONFLICT, f"conflict:{asked.id}", record_id=this, subject=asked.id)

    def _head(self, record_id: str) -> RecordVersion | None:
        head = self.provider.get(self.memory.id, record_id)
        return head if head and head.status == "active" else None

    def _draft(self, draft: Draft | None, sources: Sequence[str]) -> Draft:
        if draft is None or draft.type == EPISODE:
            raise Idle
        attributes = {name: value for name, value in (draft.attributes or {}).items() if name != "standing"}
        references = [
            replace(one, record_id=self._named.get(one.record_id, one.record_id), memory_id="")
            for one in draft.references
            if one.rel != DERIVED and one.memory_id in ("", self.memory.id)
        ]
        named = self.provider.histories(self.memory.id, {one.record_id for one in references}) if references else {}
        there = {one for one, versions in named.items() if versions[-1].status == "active"}
        pointing = tuple(one for one in references if one.record_id in there)
        check_once(list(pointing))
        whole_draft = whole(replace(draft, attributes=attributes, references=joined(pointing, sources)))
        return self._fitting(whole_draft)

    def _fitting(self, draft: Draft) -> Draft:
        registered = types.find(self.memory.organisation_id, draft.type)
        if registered is None:
            return draft
        registered.check(draft.attributes or {})
        return replace(draft, projection=registered.text)

    def _writer(self, sources: Sequence[str]) -> Writer:
        author = self.given[sources[0]].writer
        return Writer(
            PROVIDER, self.run.engine, on_behalf_of=f"{author.kind}:{author.id}", consolidation_id=self.run.id
        )

    def _hash(self, draft: Draft | None) -> str:
        return refusals.content_hash(self.memory.id, draft) if draft else ""

    def _note(
        self,
        kind: RunChange.Kind,
        proposal: Proposal,
        record_id: str,
        sources: Sequence[str],
        before: int | None = None,
        after: int | None = None,
        *,
        draft: Draft | None = None,
    ) -> None:
        self.changes.append(
            RunChange(
                organisation_id=self.memory.organisation_id,
                memory=self.memory,
                run=self.run,
                position=self.run.changes + len(self.changes) + 1,
                kind=kind,
                record_id=record_id,
                before=before,
                after=after,
                sources=list(sources),
                reason=proposal.reason.value,
                content_hash=self._hash(draft),
            )
        )


def require_derived(head: RecordVersion) -> None:
    """Raise NotTheirs for what a member wrote or made standing, Idle for what follows an outside source or was said."""
    if head.follows or head.draft.type == EPISODE:
        raise Idle
    if head.writer.kind != PROVIDER or (head.draft.attributes or {}).get("standing") is True:
        raise NotTheirs


def joined(references: Sequence[Reference], sources: Sequence[str]) -> tuple[Reference, ...]:
    """The references, with these as sources beside those there are. When there are too many the oldest sources go.

    An erasure finds those too: the versions before still name them.
    """
    others = [one for one in references if one.rel != DERIVED]
    known = {one.record_id: one for one in references if one.rel == DERIVED}
    known |= {source: Reference(source, DERIVED) for source in sources if source not in known}
    room = max(0, MAX_REFERENCES - len(others))
    kept = list(known.values())
    return (*others, *kept[max(0, len(kept) - room) :])


def same(one: Draft, other: Draft) -> bool:
    """Whether two drafts say the same."""
    return (one.title, one.content, one.valid_from, one.valid_to, dict(one.attributes or {})) == (
        other.title,
        other.content,
        other.valid_from,
        other.valid_to,
        dict(other.attributes or {}),
    )
