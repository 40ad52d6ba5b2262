"""What consolidation makes of two conversations in the demo: new records, one replaced, and a conflict to decide."""

from __future__ import annotations

from members.callers import caller_for
from members.models import Member
from memories.consolidation.registry import default
from memories.models import Job, Memory
from memories.services import consolidating, jobs, runs
from memories.services.sight import look
from memories.services.tree import CONSOLIDATION

from .pen import Cast, Pen

ENGINE = default().name


def consolidated(pen: Pen, cast: Cast, customer: Memory) -> None:
    """Two conversations with a customer, each followed by a run."""
    pen.write(cast.sofia, customer, "fact", "", "The budget for the doors is 14,000 euros.")
    pen.write(
        cast.support,
        customer,
        "episode",
        "Doors at Mill Lane",
        [
            ("user", "We decided on brushed brass handles for all the doors."),
            ("assistant", "Noted. I will tell the workshop."),
            ("user", "The site manager is Petra Holm, petra@mill-lane.example."),
            ("user", "Nils prefers drawings by Thursday noon."),
        ],
    )
    run(cast.support, customer)
    pen.write(
        cast.support,
        customer,
        "episode",
        "Changes at Mill Lane",
        [
            ("user", "Actually, the site manager is Petra Holm, holm@mill-lane.example."),
            ("user", "The budget for the doors is 16,500 euros."),
            ("user", "Nils prefers drawings by Thursday noon."),
            ("assistant", "Thank you, I will pass that on."),
        ],
    )
    run(cast.sofia, customer)


def run(by: Member, memory: Memory) -> None:
    """A run, done at once."""
    started = runs.start(look(caller_for(by), memory.id))
    jobs.run(started.job_id, {CONSOLIDATION: consolidating.work})
    assert Job.objects.get(pk=started.job_id).state == Job.State.COMPLETED
