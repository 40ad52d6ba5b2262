"""Who reaches a memory, quicker: groups are looked into one by one, and only for the page is it told why."""

from django.db import migrations

REPLACE = """
CREATE OR REPLACE FUNCTION memories_audience(
    asked uuid, of_organisation uuid, called text, kind text, after_name text, after_id text, most integer
) RETURNS TABLE (
    member_id text, name text, sort_name text, type text, keyed boolean, total bigint,
    memory_id uuid, principal text, group_name text, privileges smallint, grant_id uuid
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH held AS MATERIALIZED (
        SELECT over.distance, h.key, h.memory_id, h.principal::text, h.privileges, h.grant_id
        FROM memories_reach over JOIN memories_holding h ON h.memory_id = over.ancestor_id
        WHERE over.descendant_id = asked AND over.open
    ), holder AS MATERIALIZED (
        SELECT DISTINCT principal FROM held
    ), of_group AS MATERIALIZED (
        SELECT g.id, g.name::text, g.is_everyone, holder.principal
        FROM members_group g JOIN holder ON holder.principal = 'group:grp_' || encode(uuid_send(g.id), 'hex')
        WHERE g.organisation_id = of_organisation
    ), reaching AS NOT MATERIALIZED (
        -- Looked into twice: for the page, which comes in the order of an index, and to be counted.
        SELECT m.id, m.name, m.type, m.user_id, lower(m.name) AS sort_name FROM members_member m
        WHERE m.organisation_id = of_organisation AND m.deactivated_at IS NULL
          AND (
              EXISTS (SELECT FROM of_group WHERE is_everyone)
              OR m.id IN (
                  SELECT inside.member_id FROM of_group g CROSS JOIN LATERAL (
                      SELECT s.member_id FROM members_membership s WHERE s.group_id = g.id OFFSET 0
                  ) inside
              )
              OR m.id IN (SELECT substr(principal, 8) FROM holder WHERE principal LIKE 'member:%')
          )
          AND (called = '' OR position(upper(called) IN upper(m.name)) > 0)
          AND (kind = '' OR m.type = kind)
    ), page AS MATERIALIZED (
        SELECT * FROM reaching
        WHERE after_name IS NULL OR (sort_name, id) > (after_name, after_id)
        ORDER BY sort_name, id LIMIT most
    ), counted AS (
        SELECT page.*, 'member:' || id AS principal, '' AS group_name FROM page
        UNION ALL
        SELECT page.*, g.principal, g.name FROM page CROSS JOIN LATERAL (
            SELECT s.group_id FROM members_membership s WHERE s.member_id = page.id OFFSET 0
        ) s JOIN of_group g ON g.id = s.group_id
        UNION ALL
        SELECT page.*, g.principal, g.name FROM page JOIN of_group g ON g.is_everyone
    )
    SELECT one.id::text, one.name::text, one.sort_name, one.type::text,
           one.user_id IS NOT NULL OR EXISTS (
               SELECT FROM members_credential c WHERE c.member_id = one.id AND c.revoked_at IS NULL
               AND (c.expires_at IS NULL OR c.expires_at > now())
           ),
           (SELECT count(*) FROM reaching),
           held.memory_id, held.principal, one.group_name, held.privileges, held.grant_id
    FROM counted one JOIN held ON held.principal = one.principal
    ORDER BY one.sort_name, one.id, held.distance, held.key;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0020_entries_of_makers")]

    operations = [migrations.RunSQL(REPLACE, migrations.RunSQL.noop)]
