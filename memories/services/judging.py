"""What a reviewer decides about one item, each in one transaction, noted so that it can be taken back.

The decision is the review: what it writes is not screened again. Something that changed since it was shown is not
decided, but raises VersionConflict. Nobody decides about what they wrote, and an agent about nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from members import events
from members.callers import Caller
from members.events import Actor
from members.ids import to_uuid
from memories.access import Privilege
from memories.content import Changes, Draft, Reference, whole
from memories.models import File, Held, Memory, ReviewItem
from memories.providers import registry
from memories.providers.base import Provider, RecordVersion, Writer
from uhp_site.http.errors import MemoryInvalid, RecordNotFound, VersionConflict

from . import gate, held, looked_at, refusals, reviewing, telling
from .drafts import prepared
from .records import REASON, provider_of, without_reason, writer
from .reviewing import Looked
from .sight import Place, look

State = ReviewItem.State
CHANGED = "This has changed since it was shown; look at it again."
MAX_NOTE = 500


@dataclass(frozen=True)
class Step:
    """A version that a decision wrote or closed: `made` is the head it left, `to` what taking it back writes anew.

    Without `to` taking it back forgets the record.
    """

    memory_id: str
    record_id: str
    made: int
    to: int | None = None


@transaction.atomic
def keep(caller: Caller, item_id: str, fingerprint: str) -> ReviewItem:
    """Agree: what is live stays, what waits is written as its writer wrote it. Raises VersionConflict."""
    seen = begin(caller, item_id, fingerprint)
    if not seen.waits:
        return close(seen, State.KEPT, "review.kept")
    written = approve(seen.place.memory, seen.item, caller.member.principal)
    return close(seen, State.KEPT, "review.approved", [_made(seen.place, written)])


@transaction.atomic
def decline(caller: Caller, item_id: str, fingerprint: str, reason: str = "", *, tell: bool = False) -> ReviewItem:
    """Refuse: what is live is forgotten or as it was before, what waits is dropped, and no run writes it again.

    With `tell` the reason becomes a record beside, for the agent to find. Raises VersionConflict, MemoryInvalid.
    """
    seen = begin(caller, item_id, fingerprint)
    if seen.item.kind == ReviewItem.Kind.CONFLICT:
        raise MemoryInvalid("A conflict is decided between its records.", param="decision")
    if seen.item.kind == ReviewItem.Kind.RUN:
        raise MemoryInvalid("A run is undone on its page.", param="decision")
    if len(reason) > MAX_NOTE:
        raise MemoryInvalid(f"A reason has at most {MAX_NOTE} characters.", param="reason")
    steps = [] if seen.waits else drop(seen, reason)
    if reason and tell:
        steps.append(_made(seen.place, correct(seen, reason)))
    refusals.refuse(seen.place.memory, [seen.item.content_hash])
    return close(seen, State.DECLINED, "review.declined", steps, note=reason)


@transaction.atomic
def dismiss(caller: Caller, item_id: str, fingerprint: str) -> ReviewItem:
    """Close an item without doing anything; the same does not come again. What waits is kept or declined instead."""
    seen = begin(caller, item_id, fingerprint)
    if seen.waits:
        raise MemoryInvalid("What waits is kept or declined.", param="decision")
    return close(seen, State.DISMISSED, "review.dismissed")


@transaction.atomic
def edit(caller: Caller, item_id: str, fingerprint: str, changes: Changes) -> ReviewItem:
    """Keep it as the reviewer words it; the version is the reviewer's, on behalf of the one who wrote it."""
    seen = begin(caller, item_id, fingerprint)
    version = seen.version or gone()
    draft = prepared(seen.place, changes.apply(without_reason(version.draft)), version.draft)
    return close(seen, State.KEPT, "review.edited", [write(seen, draft)])


@transaction.atomic
def mark_standing(caller: Caller, item_id: str, fingerprint: str) -> ReviewItem:
    """Keep it as a standing record, one that goes into agents' instructions."""
    seen = begin(caller, item_id, fingerprint)
    version = seen.version or gone()
    if version.draft.type == "episode":
        raise MemoryInvalid("An episode is kept as it was said.", param="type")
    kept = without_reason(version.draft)
    draft = prepared(seen.place, replace(kept, attributes={**(kept.attributes or {}), "standing": True}), version.draft)
    return close(seen, State.KEPT, "review.marked_standing", [write(seen, draft)])


@transaction.atomic
def merge(caller: Caller, item_id: str, fingerprint: str, into: str) -> ReviewItem:
    """Add what it says to another record of the memory, and drop it there where it was. Raises RecordNotFound."""
    seen = begin(caller, item_id, fingerprint)
    version = seen.version or gone()
    if into == seen.item.record_id:
        raise MemoryInvalid("A record is not merged into itself.", param="into")

    def joined(head: RecordVersion) -> Draft:
        if head.follows or head.draft.type == "episode":
            raise MemoryInvalid("That record is not changed here.", param="into")
        mine, theirs = version.draft, head.draft
        known = {(one.record_id, one.rel) for one in theirs.references}
        fresh = [one for one in mine.references if (one.record_id, one.rel) not in known]
        fresh = [one for one in fresh if one.rel not in ("subject", "object")]
        merged = replace(
            theirs,
            content=(*theirs.content, *(part for part in mine.content if part not in theirs.content)),
            attributes={**(mine.attributes or {}), **(without_reason(theirs).attributes or {})},
            references=(*theirs.references, *fresh),
        )
        return prepared(seen.place, whole(merged), theirs)

    target = provider_of(seen.place).revise(seen.place.memory.id, into, joined, author(seen)) or gone()
    steps = [_made(seen.place, target, target.number - 1), *([] if seen.waits else drop(seen, "merged"))]
    return close(seen, State.KEPT, "review.merged", steps, into=into)


@transaction.atomic
def move(caller: Caller, item_id: str, fingerprint: str, memory_id: str) -> ReviewItem:
    """Write it into another memory, where the reviewer writes, and drop it here; what that memory asks for holds.

    Raises MemoryNotFound and MemoryForbidden for the other memory.
    """
    seen = begin(caller, item_id, fingerprint)
    version = seen.version or gone()
    other = look(caller, memory_id)
    other.require(Privilege.WRITE)
    if other.memory.id == seen.place.memory.id:
        raise MemoryInvalid("It is there already.", param="memory_id")
    references = tuple(
        one if one.memory_id else Reference(one.record_id, one.rel, seen.place.memory.id)
        for one in version.draft.references
    )
    draft = prepared(other, replace(without_reason(version.draft), references=references))
    written = gate.remember(other.memory, draft, author(seen))
    steps = [] if written.review else [_made(other, written)]
    steps += [] if seen.waits else drop(seen, "moved")
    return close(seen, State.KEPT, "review.moved", steps, to=other.memory.id)


def begin(caller: Caller, item_id: str, fingerprint: str) -> Looked:
    """The item, locked, as it was shown to somebody who may decide about it.

    Raises MemoryNotFound, MemoryForbidden for one's own, VersionConflict when it is not as it was shown any more.
    """
    ReviewItem.objects.select_for_update().filter(organisation_id=caller.organisation_id, pk=item_id).first()
    seen = reviewing.find(caller, item_id)
    reviewing.require_theirs(caller, seen.item)
    if seen.item.held_id:
        Held.objects.select_for_update().get(pk=seen.item.held_id)
        seen = reviewing.find(caller, item_id)
    if seen.item.state != State.OPEN or seen.fingerprint != fingerprint:
        raise VersionConflict(CHANGED)
    return seen


def close(
    seen: Looked, state: str, action: str, steps: Sequence[Step] = (), *, note: str = "", **detail: Any
) -> ReviewItem:
    """Note a decision, with what taking it back needs."""
    return settle(seen.item, seen.place.caller, state, action, timezone.now(), steps, note=note, **detail)


def settle(
    item: ReviewItem,
    caller: Caller,
    state: str,
    action: str,
    now: datetime,
    steps: Sequence[Step] = (),
    *,
    note: str = "",
    **detail: Any,
) -> ReviewItem:
    """The same for an item that is not looked at by itself; a run that wrote the record is told, too."""
    item.state, item.reviewer, item.decided_at, item.note = state, caller.member.principal, now, note
    item.undo = {"steps": [vars(step) for step in steps], "refused": state == State.DECLINED}
    item.save(update_fields=["state", "reviewer", "decided_at", "note", "undo", "version"])
    looked_at.follow(item)
    if item.held_id:
        became = Held.State.DECLINED if state == State.DECLINED else Held.State.APPROVED
        Held.objects.filter(pk=item.held_id).update(
            state=became, reviewer=item.reviewer, decided_at=now, note=note[:MAX_NOTE]
        )
    if state == State.KEPT and item.content_hash:
        refusals.accept(item.memory_id, [item.content_hash])
    happened(item, caller.actor, action, **detail)
    return item


def happened(item: ReviewItem, actor: Actor, action: str, **detail: Any) -> None:
    """Append an event about an item."""
    events.record(
        item.organisation_id, actor, action, memory_id=item.memory_id, subject=item.record_id, item=item.id, **detail
    )
    if item.state == State.OPEN:
        telling.opened(item, again=True)
    else:
        telling.decided([item])


def approve(memory: Memory, item: ReviewItem, reviewer: str = "") -> RecordVersion:
    """Write what waits, in the name of its writer. Raises VersionConflict when the record is another by now."""
    kept = Held.objects.get(pk=item.held_id)
    draft = held.draft_of(kept)
    require_files(memory, draft)
    written = _write(registry.get(memory.provider), kept, draft, held.writer_of(kept))
    looked_at.written(kept, written, reviewer)
    return written


def write(seen: Looked, draft: Draft) -> Step:
    """Write what the reviewer made of an item, as a new version or in place of what waits."""
    provider = provider_of(seen.place)
    if seen.waits:
        return _made(seen.place, _write(provider, Held.objects.get(pk=seen.item.held_id), draft, author(seen)))
    version = seen.version or gone()

    def unchanged(head: RecordVersion) -> Draft:
        if head.number != version.number or head.follows:
            raise VersionConflict(CHANGED)
        return draft

    written = provider.revise(seen.place.memory.id, version.id, unchanged, author(seen)) or gone()
    return _made(seen.place, written, version.number)


def drop(seen: Looked, reason: str) -> list[Step]:
    """Forget what is live, with other records that say the same; a revision is taken back to what was before it."""
    version = seen.version or gone()
    provider, memory_id = provider_of(seen.place), seen.place.memory.id

    if seen.head is not None and seen.head.number != version.number:
        raise MemoryInvalid("Somebody has changed it since; change the record itself.", param="decision")

    def unchanged(head: RecordVersion) -> None:
        if head.number != version.number:
            raise VersionConflict(CHANGED)

    if seen.before is not None and seen.item.kind == ReviewItem.Kind.REVISED:
        former = seen.before.draft

        def as_before(head: RecordVersion) -> Draft:
            unchanged(head)
            kept = dict(without_reason(former).attributes or {})
            return replace(former, attributes={**kept, REASON: reason} if reason else kept)

        written = provider.revise(memory_id, version.id, as_before, writer(seen.place)) or gone()
        return [_made(seen.place, written, version.number)]
    forgotten = provider.forget(memory_id, version.id, unchanged) or gone()
    steps = [_made(seen.place, forgotten, forgotten.number)]
    for record_id, history in provider.histories(memory_id, seen.item.also).items():
        head = history[-1]
        same = refusals.content_hash(memory_id, head.draft) == seen.item.content_hash
        if same and head.status == "active" and provider.forget(memory_id, record_id):
            steps.append(_made(seen.place, head, head.number))
    return steps


def correct(seen: Looked, reason: str) -> RecordVersion:
    """Write the reason of a decision as a record, pointing at what it is about when that was a record."""
    about = () if seen.waits and seen.item.version is None else (Reference(seen.item.record_id, "corrects"),)
    draft = Draft(
        type="note",
        title="Correction",
        content=({"type": "text", "text": reason},),
        attributes={"correction": True, "to": seen.item.writer},
        references=tuple(replace(one, memory_id=seen.place.memory.id) for one in about),
    )
    return provider_of(seen.place).remember(seen.place.memory.id, draft, writer(seen.place))


def author(seen: Looked) -> Writer:
    """The reviewer as a writer, on behalf of the one who wrote what is decided about."""
    return replace(writer(seen.place), on_behalf_of=seen.item.writer)


def require_files(memory: Memory, draft: Draft) -> None:
    """Keep the files of a draft until the transaction ends. Raises MemoryInvalid when one is gone."""
    wanted = sorted(draft.file_ids)
    if not wanted:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM memories_memory WHERE id = %s FOR KEY SHARE", [to_uuid(memory.id, "hmem_")])
        cursor.execute(
            "SELECT id FROM memories_file WHERE id = ANY(%s::uuid[]) ORDER BY id FOR KEY SHARE",
            [[to_uuid(one, "file_") for one in wanted]],
        )
    if File.objects.of(memory.organisation_id).filter(pk__in=wanted).count() < len(wanted):
        raise MemoryInvalid("A file of it is gone.", param="content")


def gone() -> Any:
    """Raise RecordNotFound."""
    raise RecordNotFound()


def _write(provider: Provider, kept: Held, draft: Draft, by: Writer) -> RecordVersion:
    follows = held.version_of(kept).follows
    if kept.base is None:
        return provider.remember(kept.memory_id, draft, by, follows, kept.record_id)

    def unchanged(head: RecordVersion) -> Draft:
        if head.number != kept.base:
            raise VersionConflict(CHANGED, detail={"version": head.number})
        return draft

    # A record whose approval was taken back is there, and forgotten.
    first = provider.revise(kept.memory_id, kept.record_id, unchanged, by)
    written = first or (provider.reopen(kept.memory_id, kept.record_id, unchanged, by) if kept.reopens else None)
    if written is None:
        raise VersionConflict(CHANGED)
    return written


def _made(place: Place, version: RecordVersion, to: int | None = None) -> Step:
    return Step(place.memory.id, version.id, version.number, to)
