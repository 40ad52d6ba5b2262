"""Why somebody may do something on a memory, or why not: a verdict, and the one cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memories.access import Cause, Person, Privilege, Verdict, judge
from memories.services.sight import Place

from .chain import GROUP, Reason, Step, at_instant, chain_now, chain_then, groups_of, subject, subject_then


@dataclass(frozen=True)
class Because:
    """Why somebody may or may not do one thing. The reasons of a no are what would have given it.

    `cutoffs` are the closed memories in between that the asker sees; `hidden` says that there is more than is named.
    """

    person: Person
    privilege: Privilege
    yes: bool
    cause: Cause | None
    reasons: tuple[Reason, ...]
    cutoffs: tuple[Step, ...]
    hidden: bool


def why(place: Place, principal: str, privilege: Privilege, at: datetime | None = None) -> Because:
    """Whether a member or group holds a privilege on a memory, and the one cause. Raises MemoryForbidden without
    delete on it, and MemoryNotFound for a principal that the organisation does not have."""
    place.require(Privilege.DELETE)
    organisation_id = place.caller.organisation_id
    if at is not None:
        then = at_instant(organisation_id, at)
        chain, person = chain_then(place, then), subject_then(then, principal)
        groups: Mapping[str, str] = then.groups
    else:
        chain, person = chain_now(place), subject(organisation_id, principal)
        groups, _ = groups_of(chain, organisation_id)
    verdict: Verdict = judge(person.principals, chain.nodes, privilege, person.hindered)
    cause, sources = verdict.cause, verdict.sources
    if cause is Cause.NOT_IN_GROUP:
        # A grant to a group that is no more gives nobody anything, and a group is in no group.
        sources = tuple(one for one in sources if one.holding.principal in groups and person.type != GROUP)
        cause = cause if sources else Cause.NO_GRANT
    reasons, hidden = chain.reasons(sources, groups)
    cutoffs = tuple(chain.seen[one] for one in verdict.cutoffs if one in chain.seen)
    hidden = hidden or len(cutoffs) < len(verdict.cutoffs)
    return Because(person, privilege, verdict.yes, cause, reasons, cutoffs, hidden)
