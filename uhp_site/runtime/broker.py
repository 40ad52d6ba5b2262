"""The queue inside the database: its tables and functions, installed from the SQL that the client ships."""

from __future__ import annotations

import os
from typing import Any

import psycopg
from pgmq.install import get_embedded_install_sql, get_embedded_sql_version
from psycopg import sql

from uhp_site import data

# Two servers that are prepared at the same moment take turns.
INSTALL_LOCK = 0x48575051

DEFAULT_QUEUE = "heartwood"
HEARTBEAT_QUEUE = "heartwood_heartbeat"


def is_database() -> bool:
    """Tell whether the queue lives in the database rather than in the broker that $CELERY_BROKER_URL names."""
    return not os.environ.get("CELERY_BROKER_URL")


def install(connection: psycopg.Connection[Any]) -> None:
    """Install the queues, or renew one that we installed from another version; anybody else's is left alone.

    Renewing drops the messages of the old one, which the sweep over the rows they point to makes good.
    """
    mark = f"heartwood: pgmq {get_embedded_sql_version()}"
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
        found = connection.execute("SELECT obj_description(to_regnamespace('pgmq'), 'pg_namespace')").fetchone()
        comment = found[0] if found else None
        exists = connection.execute("SELECT to_regclass('pgmq.meta') IS NOT NULL").fetchone()
        outdated = str(comment).startswith("heartwood: ") and comment != mark
        if exists == (True,) and outdated:
            connection.execute("DROP SCHEMA pgmq CASCADE")
        if exists == (False,) or outdated:
            connection.execute(get_embedded_install_sql().encode())
            connection.execute(sql.SQL("COMMENT ON SCHEMA pgmq IS {}").format(sql.Literal(mark)))
        for queue in (DEFAULT_QUEUE, HEARTBEAT_QUEUE):
            _set_up(connection, queue)


def _set_up(connection: psycopg.Connection[Any], queue: str) -> None:
    """Create a queue and let it notify, while nobody uses it. What notifies is forgotten when the server crashes."""
    if not connection.execute("SELECT 1 FROM pgmq.list_queues() WHERE queue_name = %s", [queue]).fetchone():
        connection.execute("SELECT pgmq.create(%s)", [queue])
    if not connection.execute(
        "SELECT 1 FROM pgmq.list_notify_insert_throttles() WHERE queue_name = %s", [queue]
    ).fetchone():
        connection.execute("SELECT pgmq.enable_notify_insert(%s, 0)", [queue])


def release() -> None:
    """Make messages visible that were taken and not acknowledged.

    Only where `up` runs the database itself, and with it the only worker: elsewhere another worker may hold them, and
    they come back by themselves when their time is over.
    """
    if not (is_database() and data.uses_embedded_database()):
        return
    with psycopg.connect(data.conninfo(), autocommit=True) as connection:
        for (queue,) in connection.execute("SELECT queue_name FROM pgmq.list_queues()").fetchall():
            table = sql.Identifier("pgmq", f"q_{queue}")
            connection.execute(
                sql.SQL("UPDATE {} SET vt = clock_timestamp() WHERE read_ct > 0 AND vt > clock_timestamp()").format(
                    table
                )
            )
