"""Where in the database something is still named: every table there is, the queue's included."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db import connection
from psycopg import sql

from members.ids import to_uuid

# Columns of text, JSON and lists in every table, as the database knows them.
TEXTS = """
SELECT c.table_schema, c.table_name, array_agg(c.column_name::text ORDER BY c.ordinal_position)
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
  AND c.data_type IN ('text', 'character varying', 'character', 'json', 'jsonb', 'ARRAY')
GROUP BY 1, 2 ORDER BY 1, 2
"""
# Columns of ids, but for those that can only name something else: primary keys and foreign keys of other tables.
IDS = """
SELECT c.table_schema, c.table_name, c.column_name
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
  AND c.data_type = 'uuid'
  AND NOT EXISTS (
    SELECT FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey)
    WHERE k.conrelid = format('%I.%I', c.table_schema, c.table_name)::regclass AND a.attname = c.column_name
      AND array_length(k.conkey, 1) = 1
      AND (k.contype = 'f' AND k.confrelid <> 'memories_record'::regclass
           OR k.contype = 'p' AND k.conrelid <> 'memories_record'::regclass))
ORDER BY 1, 2, 3
"""
RECORD_ID = "hrec_[0-9a-f]{32}"


def naming(record_ids: Collection[str]) -> Mapping[str, int]:
    """Rows that name one of these records, by `table.column`; only columns with some. Reads every table once."""
    found: dict[str, int] = {}
    uuids = [to_uuid(record_id, "hrec_") for record_id in record_ids]
    with connection.cursor() as cursor:
        cursor.execute(IDS)
        for schema, table, column in cursor.fetchall():
            query = sql.SQL("SELECT count(*) FROM {} WHERE {} = ANY(%s)")
            cursor.execute(query.format(sql.Identifier(schema, table), sql.Identifier(column)), [uuids])
            found[f"{table}.{column}"] = cursor.fetchone()[0]
        cursor.execute(TEXTS)
        for schema, table, columns in cursor.fetchall():
            counted = sql.SQL(", ").join(map(_count, columns))
            every = sql.SQL("SELECT {} FROM {}").format(counted, sql.Identifier(schema, table))
            cursor.execute(every, {"ids": list(record_ids), "shape": RECORD_ID})
            found |= {f"{table}.{column}": count for column, count in zip(columns, cursor.fetchone(), strict=True)}
    return {place: count for place, count in found.items() if count}


def _count(column: str) -> sql.Composable:
    # The cheap question first: few rows name any record at all.
    return sql.SQL(
        "count(*) FILTER (WHERE {0}::text LIKE '%%hrec_%%' AND EXISTS ("
        "SELECT FROM regexp_matches({0}::text, %(shape)s, 'g') AS named WHERE named[1] = ANY(%(ids)s)))"
    ).format(sql.Identifier(column))
