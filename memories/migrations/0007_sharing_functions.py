"""The sharing rule as functions: the database keeps their plans, and making one takes longer than a decision does."""

from django.db import migrations, models

CREATE = """
CREATE FUNCTION memories_held(asked uuid, principals text[]) RETURNS smallint
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (
        SELECT coalesce(bit_or(held.privileges), 0::smallint)
        FROM memories_reach over JOIN memories_holding held ON held.memory_id = over.ancestor_id
        WHERE over.descendant_id = asked AND over.open AND held.principal = ANY (principals)
    );
END $$;

CREATE FUNCTION memories_entries(principals text[]) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    WITH direct AS MATERIALIZED (
        SELECT DISTINCT memory_id FROM memories_holding WHERE principal = ANY (principals)
    ), placed AS MATERIALIZED (
        SELECT m.id, m.parent_id FROM direct JOIN memories_memory m ON m.id = direct.memory_id
    )
    SELECT placed.id FROM placed WHERE NOT EXISTS (
        SELECT FROM memories_reach over WHERE over.descendant_id = placed.parent_id AND over.open
        -- The second half is never true; it keeps what is held in a hash table instead of a join per row.
        AND (over.ancestor_id IN (SELECT memory_id FROM direct) OR NOT over.open)
    );
END $$;

CREATE FUNCTION memories_held_below(asked uuid, principals text[], needed smallint)
RETURNS TABLE (memory_id uuid, distance smallint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH direct AS MATERIALIZED (
        SELECT DISTINCT held.memory_id FROM memories_holding held
        WHERE held.principal = ANY (principals) AND held.privileges & needed = needed
    ), entry AS MATERIALIZED (
        SELECT top.descendant_id, top.distance
        FROM (SELECT direct.memory_id FROM direct UNION SELECT asked) one
        JOIN memories_reach top ON top.ancestor_id = asked AND top.descendant_id = one.memory_id
        -- The memory asked where anything comes through to it, and below it what nothing else comes through to.
        WHERE (top.distance = 0) = EXISTS (
            SELECT FROM memories_reach over
            WHERE over.descendant_id = top.descendant_id AND over.open AND (over.distance > 0 OR top.distance = 0)
            AND (over.ancestor_id IN (SELECT direct.memory_id FROM direct) OR NOT over.open)
        )
    )
    SELECT reached.descendant_id, entry.distance + reached.distance
    FROM entry JOIN memories_reach reached ON reached.ancestor_id = entry.descendant_id
    WHERE reached.open AND entry.distance + reached.distance > 0;
END $$;
"""

DROP = """
DROP FUNCTION memories_held_below;
DROP FUNCTION memories_entries;
DROP FUNCTION memories_held;
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0006_files_and_types")]

    operations = [
        migrations.RemoveIndex("grant", "grant_of_principal"),
        migrations.AddIndex("grant", models.Index(fields=["principal", "memory"], name="grant_of_principal")),
        migrations.RemoveIndex("memory", "memory_of_creator"),
        migrations.AddIndex("memory", models.Index(fields=["creator"], name="memory_of_creator")),
        migrations.RunSQL(CREATE, DROP),
    ]
