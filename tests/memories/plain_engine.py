"""A small engine for tests: it does what an episode says, so that a test can say what a run will propose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from members.models import Member
from memories.consolidation.base import Batch, Engine, Kept, Kind, Known, Proposal, Reason
from memories.content import Draft, Reference
from memories.models import Memory, Run, Version
from memories.services import jobs, runs
from memories.tasks import KINDS
from tests import factories
from tests.factories import at


class PlainEngine:
    """Understands `fact: X`, `now: OLD => NEW`, `again: X`, `against: OLD => NEW`, `standing: X`, `named: X`, `end: X`.

    Everything else that an episode says is not worth keeping. A token is a word.
    """

    name = "plain"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.between: Callable[[], object] = lambda: None

    def declare(self) -> Mapping[str, Any]:
        """Nothing that a page would show."""
        return {"name": self.name}

    def propose(
        self, episodes: Sequence[Kept], before: Sequence[Kept], known: Known, budget: int | None = None
    ) -> Batch:
        """One proposal for each episode that says what to do."""
        proposals: list[Proposal] = []
        tokens = read = 0
        for episode in episodes:
            cost = len(episode.draft.said.split())
            if budget is not None and tokens + cost > budget:
                break
            tokens, read = tokens + cost, read + 1
            self.seen.append(episode.draft.said)
            proposals.extend(self._proposals(episode, known))
        self.between()
        return Batch(tuple(proposals), input_tokens=tokens, read=read)

    def _proposals(self, episode: Kept, known: Known) -> Iterator[Proposal]:
        words, _, rest = episode.draft.said.partition(": ")
        old, _, new = rest.partition(" => ")
        sources = (episode.id,)
        if words in ("fact", "standing"):
            draft = _fact(rest, {"standing": True} if words == "standing" else {})
            yield Proposal(Kind.CREATE, Reason.STATED, sources, draft)
        elif words == "named":
            yield Proposal(Kind.CREATE, Reason.NAMED, sources, Draft("entity", title=rest), key="one")
            about = (Reference("one", "about"), Reference("hrec_" + "0" * 32, "about"))
            yield Proposal(
                Kind.CREATE, Reason.STATED, sources, Draft(content=_text(f"About {rest}."), references=about)
            )
        elif words in ("now", "against", "again", "end"):
            found = [one for one in known.near([old], 20)[0] if one.draft.said == old]
            kinds = {"now": Kind.SUPERSEDE, "against": Kind.CONFLICT, "again": Kind.SUPPORT, "end": Kind.FORGET}
            new_draft = _fact(new) if words in ("now", "against") else None
            reason = {"now": Reason.CORRECTED, "against": Reason.DIFFERS, "again": Reason.REPEATED}
            for one in found[:1]:
                why = reason.get(words, Reason.EXPIRED)
                yield Proposal(kinds[words], why, sources, new_draft, record_id=one.id)


def checked(engine: Engine) -> Engine:
    """The engine, as the type checker sees that it is one."""
    return engine


def done(run: Run) -> Run:
    """Let a worker do a run, and give it back as it is then."""
    jobs.run(run.job_id, KINDS)
    run.refresh_from_db()
    return run


def consolidate(who: Member, memory: Memory, *said: str) -> Run:
    """Have so much said to a memory, and a run done over it."""
    for one in said:
        factories.record(who, memory, one, type="episode")
    return done(runs.start(at(who, memory)))


def derived(memory: Memory) -> set[str]:
    """What the current records of a memory say, without the turns."""
    versions = Version.objects.current().filter(memory=memory).exclude(type="episode")
    return {version.content[0]["text"] for version in versions}


def _fact(text: str, attributes: Mapping[str, Any] | None = None) -> Draft:
    return Draft(content=_text(text), attributes=attributes or {})


def _text(text: str) -> tuple[Mapping[str, Any], ...]:
    return ({"type": "text", "text": text},)
