"""Who reaches a memory and why, what somebody reaches, and why or why not: now, or at an instant.

Every answer comes from the functions that enforce the rule (`memories.access`), or from its one SQL form. What is said
stays within what the one who asks may know: who holds what on a memory is the business of those who hold `delete`
there; about oneself one may ask wherever one sees. Where access comes from a memory that the asker does not see, that
is said, and not where.
"""

from __future__ import annotations

from .because import Because, why
from .chain import GROUP, Reason, Step, Where, at_instant, nodes_above, subject, with_holdings
from .reachable import Held, Reachable, what
from .reaching import Audience, Reaching, who

__all__ = [
    "GROUP",
    "Audience",
    "Because",
    "Held",
    "Reachable",
    "Reaching",
    "Reason",
    "Step",
    "Where",
    "at_instant",
    "nodes_above",
    "subject",
    "what",
    "who",
    "why",
    "with_holdings",
]
