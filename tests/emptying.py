"""Emptying the database after a test that commits: only of what is in it, and with nothing to be made anew."""

from __future__ import annotations

from django.db import connection
from django.test import TransactionTestCase

# Truncating gives every table and index a new file, and Django then fills in its permissions, which nobody asks for:
# together more than most tests take. Nothing is triggered by what goes, as nothing of it stays.
STATEMENT = """
DO $$
DECLARE
    one regclass;
    filled boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR one IN
        SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
        AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', one) INTO filled;
        IF filled THEN
            EXECUTE format('DELETE FROM %s', one);
        END IF;
    END LOOP;
END $$
"""


def empty(case: TransactionTestCase) -> None:
    """Take the place of Django's own flush; `case` is the test that ended."""
    with connection.cursor() as cursor:
        cursor.execute(STATEMENT)
