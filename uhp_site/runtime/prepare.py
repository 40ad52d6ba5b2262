"""Make the database ready to serve: check it, install the queue, migrate, and fill an empty one.

`up` runs this as a process of its own, so that the supervisor never holds a database connection. Exit status 2 means
that the one sentence on standard error says why the server cannot start.
"""

from __future__ import annotations

import os
import sys

import psycopg

from uhp_site import data
from uhp_site.runtime import broker

OLDEST_POSTGRES = 150000
OLDEST_PGVECTOR = (0, 8)


def check_server(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Stop with a sentence unless this is Postgres 15 or newer with pgvector 0.8 or newer, and create the extension."""
    if connection.info.server_version < OLDEST_POSTGRES:
        version = connection.info.parameter_status("server_version")
        data.fail(f"Heartwood needs Postgres 15 or newer; DATABASE_URL names a server of version {version}.")
    found = connection.execute(
        "SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'),"
        " (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'))"
    ).fetchone()
    version = str(found[0]) if found and found[0] else ""
    if not version:
        data.fail("Heartwood needs pgvector 0.8 or newer, which the database server does not have.")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST_PGVECTOR:
        data.fail(f"Heartwood needs pgvector 0.8 or newer; this database has {version}.")
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.InsufficientPrivilege:
        data.fail("The database user may not create the extension vector; have an administrator create it.")


def check_not_newer() -> None:
    """Stop with a sentence when the database has migrations that this version does not have."""
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader

    loader = MigrationLoader(connection)
    known = set(loader.disk_migrations)
    for migration in loader.disk_migrations.values():
        known.update(migration.replaces)
    unknown = sorted(set(loader.applied_migrations) - known)
    if unknown:
        app, name = unknown[0]
        data.fail(f"The database was made by a newer version of Heartwood (it has {app}.{name}); run that version.")


def fill(demo: bool | None) -> None:
    """Create the first organisation of an empty database, and print what its owner must keep."""
    from members.models import Organisation
    from uhp_site.first_start import first_organisation

    if Organisation.objects.exists():
        if demo:
            print("The database already has an organisation, so no demo is loaded.", flush=True)
        return
    for line in first_organisation(demo=demo is not False):
        print(line, flush=True)


def main() -> None:
    """Do it all, with `--demo` or `--no-demo` as the only argument if there is one."""
    import django

    try:
        with psycopg.connect(data.conninfo(), autocommit=True, connect_timeout=10) as connection:
            check_server(connection)
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "uhp_site.settings")
            django.setup()
            check_not_newer()
            if broker.is_database():
                broker.install(connection)
    except psycopg.OperationalError:
        data.fail("The database that DATABASE_URL names does not answer, or refuses the name or password.")
    from django.core.management import call_command

    from uhp_site.models import Heartbeat

    call_command("migrate", interactive=False, verbosity=0)
    # A worker that was here a moment ago does not prove that the one to be started is.
    Heartbeat.objects.all().delete()
    fill({"--demo": True, "--no-demo": False}.get("".join(sys.argv[1:2])))


if __name__ == "__main__":
    main()
