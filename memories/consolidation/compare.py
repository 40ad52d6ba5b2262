"""The fourth step: what a statement is to what the memory says already, and to what the same batch says.

Nothing is merged but the same words. What says of itself that something changed replaces the older sentence, if an
engine wrote it. What differs in a number, name, date, unit or negation, and what would change the words of a person,
is a conflict for a person to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memories.consolidation.base import Kept, Kind, Proposal, Reason
from memories.consolidation.claims import Relation, Said, agree, changed, relate
from memories.consolidation.gather import Claim, Statement
from memories.consolidation.records import Line, draft_of, lines_of, replaced, said_by, with_sources
from memories.content import Draft, Reference


@dataclass(frozen=True)
class Fresh:
    """A statement to compare: what it would be as a record, and whose episode it was said in."""

    statement: Statement
    references: tuple[Reference, ...]
    by: str


Beside = Sequence[tuple[Kept, Sequence[Line]]]


class Comparison:
    """Compares the statements of one batch in order, and remembers what it proposed for the ones that follow."""

    def __init__(self) -> None:
        self.proposals: list[Proposal] = []
        self._said: list[tuple[int, Said, str]] = []  # of what this batch creates: where, what, and as it stands
        self._heads: dict[str, Draft] = {}  # of records that this batch changes

    def take(self, fresh: Fresh, near: Sequence[Kept]) -> None:
        """Propose what to make of one statement, beside the records nearest to it."""
        beside = self._beside(near)
        if self._repeats(fresh, beside):
            return
        left: list[Claim] = []
        for claim in fresh.statement.claims:
            if not self._changes(fresh, claim, beside):
                left.append(claim)
        if left:
            self._create(fresh, left)

    def judged(self, fresh: Fresh, near: Sequence[Kept], kept: Kept, relation: Relation) -> bool:
        """Propose what somebody else's judgement of a statement and a record comes to; false when it comes to nothing.

        Judgement does not outweigh the rules: what differs in a number or a name is not the same, and replaces
        nothing unless it says of itself that something changed.
        """
        if relation is Relation.OTHER:
            return False
        if self._repeats(fresh, self._beside(near)):
            return True
        kept = replace(kept, draft=self._heads.get(kept.id, kept.draft))
        sources, draft = fresh.statement.sources, draft_of(fresh.statement, fresh.references, fresh.by)
        new = [said_by(claim, fresh.by) for claim in fresh.statement.claims]
        old = [line.said for line in lines_of(kept)]
        ours = kept.writer.kind == "provider" and (kept.draft.attributes or {}).get("standing") is not True
        if relation is Relation.SAME and agree(new, old):
            if ours and (supported := with_sources(kept.draft, sources)):
                self._change(Proposal(Kind.SUPPORT, Reason.REPEATED, sources, supported, kept.id))
        elif not ours:
            self.proposals.append(Proposal(Kind.CONFLICT, Reason.MEMBER_WROTE, sources, draft, kept.id))
        elif relation is Relation.NEWER and (changed(new) or agree(new, old)):
            rested = [one.record_id for one in kept.draft.references if one.rel == "derived_from"]
            self._change(
                Proposal(Kind.SUPERSEDE, Reason.CORRECTED, sources, with_sources(draft, rested) or draft, kept.id)
            )
        else:
            self.proposals.append(Proposal(Kind.CONFLICT, Reason.DIFFERS, sources, draft, kept.id))
        return True

    def _beside(self, near: Sequence[Kept]) -> Beside:
        heads = (replace(kept, draft=self._heads.get(kept.id, kept.draft)) for kept in near)
        return [(kept, lines_of(kept)) for kept in heads]

    def _repeats(self, fresh: Fresh, beside: Beside) -> bool:
        said = [said_by(claim, fresh.by) for claim in fresh.statement.claims]
        for kept, lines in beside:
            if not all(any(relate(one, line.said) is Relation.SAME for line in lines) for one in said):
                continue
            if _only_shown(said) and not _only_shown([line.said for line in lines]):
                continue
            if kept.writer.kind == "provider" and (draft := with_sources(kept.draft, fresh.statement.sources)):
                self._change(Proposal(Kind.SUPPORT, Reason.REPEATED, fresh.statement.sources, draft, kept.id))
            return True
        return self._repeats_here(fresh, said)

    def _repeats_here(self, fresh: Fresh, said: Sequence[Said]) -> bool:
        places = [{place for place, here, _ in self._said if relate(one, here) is Relation.SAME} for one in said]
        common = set.intersection(*places) if places and not _only_shown(said) else set()
        if not common:
            return False
        place = min(common)
        held = self.proposals[place]
        sources = tuple(dict.fromkeys((*held.sources, *fresh.statement.sources)))
        self.proposals[place] = replace(held, sources=sources)
        return True

    def _changes(self, fresh: Fresh, claim: Claim, beside: Beside) -> bool:
        """Whether one sentence replaces or contradicts another; if so, that is proposed."""
        new, sources = said_by(claim, fresh.by), _sources(fresh.statement, claim)
        alone = draft_of(replace(fresh.statement, claims=(claim,), questions=()), fresh.references, fresh.by)
        for kept, lines in beside:
            line, relation = _first(new, lines)
            if line is None:
                continue
            if kept.writer.kind != "provider" or (kept.draft.attributes or {}).get("standing") is True:
                self.proposals.append(Proposal(Kind.CONFLICT, Reason.MEMBER_WROTE, sources, alone, kept.id))
            elif relation is Relation.NEWER:
                draft = replaced(kept.draft, line.text, alone, claim)
                self._change(Proposal(Kind.SUPERSEDE, Reason.CORRECTED, sources, draft, kept.id))
            else:
                self.proposals.append(Proposal(Kind.CONFLICT, Reason.DIFFERS, sources, alone, kept.id))
            return True
        return self._changes_here(new, claim, sources, alone)

    def _changes_here(self, new: Said, claim: Claim, sources: tuple[str, ...], alone: Draft) -> bool:
        for index, (place, said, text) in enumerate(self._said):
            relation = relate(new, said)
            held = self.proposals[place]
            if relation not in (Relation.NEWER, Relation.DIFFERS) or held.draft is None:
                continue
            if relation is Relation.NEWER:
                # Nothing was written yet: the newer words are the record, and it rests on both.
                draft = replaced(held.draft, text, alone, claim)
                both = tuple(dict.fromkeys((*held.sources, *sources)))
                self.proposals[place] = replace(held, draft=draft, sources=both, reason=Reason.CORRECTED)
                self._said[index] = (place, new, claim.text)
            else:
                key = held.key or f"statement:{place}"
                self.proposals[place] = replace(held, key=key)
                self.proposals.append(Proposal(Kind.CONFLICT, Reason.DIFFERS, sources, alone, key))
            return True
        return False

    def _create(self, fresh: Fresh, claims: Sequence[Claim]) -> None:
        statement = fresh.statement
        if len(claims) < len(statement.claims):
            statement = replace(statement, claims=tuple(claims), questions=())
        draft = draft_of(statement, fresh.references, fresh.by)
        place = len(self.proposals)
        self.proposals.append(Proposal(Kind.CREATE, Reason.STATED, statement.sources, draft))
        self._said.extend((place, said_by(claim, fresh.by), claim.text) for claim in claims)

    def _change(self, proposal: Proposal) -> None:
        """Add a change of a record, or make it one with the change of the same record that this batch made before."""
        assert proposal.draft is not None
        self._heads[proposal.record_id] = proposal.draft
        for place, held in enumerate(self.proposals):
            if held.record_id == proposal.record_id and held.kind in (Kind.SUPPORT, Kind.SUPERSEDE):
                kind = Kind.SUPERSEDE if Kind.SUPERSEDE in (held.kind, proposal.kind) else Kind.SUPPORT
                reason = Reason.CORRECTED if kind is Kind.SUPERSEDE else Reason.REPEATED
                sources = tuple(dict.fromkeys((*held.sources, *proposal.sources)))
                self.proposals[place] = Proposal(kind, reason, sources, proposal.draft, proposal.record_id)
                return
        self.proposals.append(proposal)


def _only_shown(said: Sequence[Said]) -> bool:
    """Whether there are only pictures: the same one beside other words is not the same statement."""
    return all(one.shown for one in said)


def _first(new: Said, lines: Sequence[Line]) -> tuple[Line | None, Relation]:
    for line in lines:
        if (relation := relate(new, line.said)) in (Relation.NEWER, Relation.DIFFERS):
            return line, relation
    return None, Relation.OTHER


def _sources(statement: Statement, claim: Claim) -> tuple[str, ...]:
    return statement.resting or (claim.turn.episode,)
