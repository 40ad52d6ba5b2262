"""Who holds what on which memory: by a grant, or by having made it."""

from django.db import migrations

CREATE = """
CREATE VIEW memories_holding AS
    SELECT id AS key, organisation_id, memory_id, principal, privileges, id AS grant_id
    FROM memories_grant
    UNION ALL
    SELECT id, organisation_id, id, creator, 15::smallint, NULL::uuid
    FROM memories_memory
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]

    operations = [migrations.RunSQL(CREATE, "DROP VIEW memories_holding")]
