"""The statements that keep reach true when a branch moves, closes or opens; each is given the memory that changed."""

from __future__ import annotations

# The rows that tie what is under a memory, itself included, to what is above. Each is looked up by both its ends: from
# above alone it would be looked for among everything that is under the root.
TIES = """
    WITH changed AS MATERIALIZED (SELECT id, parent_id, restricted FROM memories_memory WHERE id = %s),
    below AS MATERIALIZED (SELECT descendant_id FROM memories_reach WHERE {below}),
    tie AS MATERIALIZED (
        SELECT found.place FROM below CROSS JOIN LATERAL (
            SELECT r.ctid AS place FROM memories_reach r WHERE r.descendant_id = below.descendant_id
            AND r.ancestor_id = ANY (ARRAY (SELECT ancestor_id FROM memories_reach WHERE {above})) OFFSET 0
        ) found
    )
    {then}
"""

# The subtree tied to everything above the parent; nothing comes through a restricted memory.
ATTACH = """
    INSERT INTO memories_reach (organisation_id, ancestor_id, descendant_id, distance, open)
    SELECT m.organisation_id, above.ancestor_id, below.descendant_id, above.distance + 1 + below.distance,
           above.open AND NOT m.restricted AND below.open
    FROM memories_memory m
    JOIN memories_reach above ON above.descendant_id = m.parent_id
    JOIN memories_reach below ON below.ancestor_id = m.id
    WHERE m.id = %s
"""

# The subtree cut from everything above the memory, wherever its parent is by now.
DETACH = TIES.format(
    below="ancestor_id = (SELECT id FROM changed)",
    above="descendant_id = (SELECT id FROM changed) AND distance > 0",
    then="DELETE FROM memories_reach cut USING tie WHERE cut.ctid = tie.place",
)

# Closed or opened: only where something comes through to the parent, and from the memory down, is that a difference.
REOPEN = TIES.format(
    below="ancestor_id = (SELECT id FROM changed) AND open",
    above="descendant_id = (SELECT parent_id FROM changed) AND open",
    then="UPDATE memories_reach reached SET open = NOT changed.restricted FROM tie, changed"
    " WHERE reached.ctid = tie.place AND reached.open = changed.restricted",
)
