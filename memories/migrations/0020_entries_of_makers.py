"""Where somebody enters the tree, quickly for whoever made thousands of memories, too.

What sits right under something held is sorted out first; and under a memory with little below it, what is there is gone
through instead of all that is held.
"""

from django.db import migrations

REPLACE = """
CREATE OR REPLACE FUNCTION memories_entries(principals text[]) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    WITH direct AS MATERIALIZED (
        SELECT DISTINCT memory_id FROM memories_holding WHERE principal = ANY (principals)
    ), placed AS MATERIALIZED (
        SELECT m.id, m.parent_id FROM direct JOIN memories_memory m ON m.id = direct.memory_id
        WHERE (m.parent_id IN (SELECT memory_id FROM direct)) IS NOT TRUE
    )
    SELECT placed.id FROM placed WHERE NOT EXISTS (
        SELECT FROM memories_reach over WHERE over.descendant_id = placed.parent_id AND over.open
        -- The second half is never true; it keeps what is held in a hash table instead of a join per row.
        AND (over.ancestor_id IN (SELECT memory_id FROM direct) OR NOT over.open)
    );
END $$;

CREATE OR REPLACE FUNCTION memories_entries_below(asked uuid, principals text[], needed smallint)
RETURNS TABLE (memory_id uuid, distance smallint)
LANGUAGE plpgsql STABLE ROWS 10 AS $$
#variable_conflict use_column
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM memories_reach WHERE ancestor_id = asked LIMIT 101) AS few) <= 100 THEN
        RETURN QUERY
        WITH below AS MATERIALIZED (
            SELECT r.descendant_id, r.distance FROM memories_reach r WHERE r.ancestor_id = asked
        )
        SELECT top.descendant_id, top.distance FROM below top
        WHERE (top.distance = 0 OR EXISTS (
            SELECT FROM memories_holding held WHERE held.memory_id = top.descendant_id
            AND held.principal = ANY (principals) AND held.privileges & needed = needed
        ))
        AND (top.distance = 0) = EXISTS (
            SELECT FROM memories_reach over JOIN memories_holding held ON held.memory_id = over.ancestor_id
            WHERE over.descendant_id = top.descendant_id AND over.open AND (over.distance > 0 OR top.distance = 0)
            AND held.principal = ANY (principals) AND held.privileges & needed = needed
        );
        RETURN;
    END IF;
    RETURN QUERY
    WITH direct AS MATERIALIZED (
        SELECT DISTINCT held.memory_id FROM memories_holding held
        WHERE held.principal = ANY (principals) AND held.privileges & needed = needed
    ), placed AS MATERIALIZED (
        SELECT m.id FROM direct JOIN memories_memory m ON m.id = direct.memory_id
        WHERE m.restricted OR (m.parent_id IN (SELECT direct.memory_id FROM direct)) IS NOT TRUE
    )
    SELECT top.descendant_id, top.distance
    FROM (SELECT placed.id AS memory_id FROM placed UNION SELECT asked) one
    JOIN memories_reach top ON top.ancestor_id = asked AND top.descendant_id = one.memory_id
    -- The memory asked where anything comes through to it, and below it what nothing else comes through to.
    WHERE (top.distance = 0) = EXISTS (
        SELECT FROM memories_reach over
        WHERE over.descendant_id = top.descendant_id AND over.open AND (over.distance > 0 OR top.distance = 0)
        AND (over.ancestor_id IN (SELECT direct.memory_id FROM direct) OR NOT over.open)
    );
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0019_what_is_compared")]

    operations = [migrations.RunSQL(REPLACE, migrations.RunSQL.noop)]
