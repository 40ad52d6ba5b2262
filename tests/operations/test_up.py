from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.operations.server import Server, manage, wait_for

Run = Callable[..., Server]


def connect(directory: Path, **instead: str) -> psycopg.Connection[tuple[object, ...]]:
    known = json.loads((directory / "postgres.json").read_text())
    wanted = {name: known[name] for name in ("host", "port", "dbname", "user", "password")} | instead
    return psycopg.connect(**wanted)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_first_start_serves_and_a_stop_leaves_nothing_running(run: Run, place: Path) -> None:
    server = run("first", "--no-demo")
    server.wait_until_ready()

    assert httpx.get(server.url + "/healthz").status_code == 200
    assert httpx.get(server.url + "/readyz").json() == {"ready": True}
    assert server.named("worker")
    assert server.named("beat")
    assert server.named("gunicorn")
    assert server.database()
    assert mode(place / "first" / "secret_key") == 0o600
    assert mode(place / "first" / "postgres.json") == 0o600

    second = run("first")
    assert second.process.wait(60) == 2
    assert second.complained.strip().splitlines() == [f"Another `manage.py up` already runs on {place / 'first'}."]
    assert server.status() == 200

    if os.geteuid() == 0:
        # Other services run as nobody too; what keeps them out is the group that only the database has.
        looked = subprocess.run(
            ["ls", str(place / "first" / "postgres" / "run")],
            user=65534,
            group=65534,
            extra_groups=[],
            capture_output=True,
            check=False,
        )
        assert b"Permission denied" in looked.stderr
    for password in ("", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            connect(place / "first", password=password)
    with connect(place / "first") as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute(
            "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method <> 'scram-sha-256'"
        ).fetchone() == (0,)
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
        connection.execute("CREATE TABLE kept AS SELECT 1 AS id")
    key = (place / "first" / "secret_key").read_text()

    assert server.stop(signal.SIGINT) == 0
    assert "Traceback" not in server.complained, server.complained
    assert server.running() == []
    assert server.database() == []

    again = run("first")
    again.wait_until_ready()
    assert again.said.splitlines() == [f"Heartwood is ready at {again.url}"]
    assert (place / "first" / "secret_key").read_text() == key
    with connect(place / "first") as connection:
        assert connection.execute("SELECT id FROM kept").fetchone() == (1,)
        queues = connection.execute("SELECT queue_name FROM pgmq.list_queues()").fetchall()
    assert {name for (name,) in queues} == {"heartwood", "heartwood_heartbeat"}
    assert again.stop(signal.SIGTERM) == 0
    assert again.running() == again.database() == []


def test_what_dies_is_started_again_and_a_killed_server_recovers(run: Run, place: Path) -> None:
    server = run("killed", "--no-demo")
    server.wait_until_ready()
    (worker,) = server.named("worker")
    os.kill(worker, signal.SIGKILL)
    master = min(server.named("gunicorn"))
    os.kill(master, signal.SIGKILL)
    wait_for(lambda: worker not in server.running() and server.named("worker"), "another worker")
    wait_for(lambda: master not in server.running() and server.status() == 200, "another web server")
    assert "The worker was killed by SIGKILL; it is started again in 0.5 s." in server.complained
    assert "The web server was killed by SIGKILL; it is started again in 0.5 s." in server.complained

    with connect(place / "killed") as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS id")
    postmaster = int((place / "killed/postgres/run/cluster/postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGKILL)
    wait_for(lambda: "The database was killed by SIGKILL; it is started again." in server.complained, "the sentence")
    wait_for(lambda: server.status() == 200, "the database to be back")

    with connect(place / "killed") as connection:
        connection.execute("INSERT INTO kept VALUES (2)")
    server.process.kill()
    server.process.wait()
    again = run("killed")
    again.wait_until_ready()
    with connect(place / "killed") as connection:
        assert connection.execute("SELECT id FROM kept ORDER BY id").fetchall() == [(1,), (2,)]
    assert len(again.named("worker")) == len(again.named("beat")) == 1
    assert again.stop() == 0
    assert again.running() == again.database() == []


def test_a_taken_port_is_one_sentence_and_leaves_nothing_behind(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = manage("up", "--data", str(place / "port"), "--port", port)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [f"Port {port} on 127.0.0.1 cannot be used: Address already in use."]
    assert not (place / "port").exists()


@pytest.mark.parametrize(
    ("arguments", "more", "sentence"),
    [
        (["--port", "70000"], {}, "--port must be a number from 0 to 65535, not '70000'."),
        (["--port", "eight"], {}, "--port must be a number from 0 to 65535, not 'eight'."),
        (["--host", "no.such.host.invalid", "--port", "0"], {}, "--host must be an address of this machine"),
        (["--data", "/dev/null", "--port", "0"], {}, "The data directory /dev/null is not a directory."),
        (["--data", "/proc/heartwood", "--port", "0"], {}, "The data directory /proc/heartwood cannot be written"),
        (["--port", "0"], {"DATABASE_URL": "mysql://localhost/x"}, "DATABASE_URL must start with postgresql://."),
        (
            ["--port", "0"],
            {"DATABASE_URL": "postgresql://127.0.0.1:1/x"},
            "The database that DATABASE_URL names does not",
        ),
    ],
)
def test_a_wrong_start_is_one_sentence(place: Path, arguments: list[str], more: dict[str, str], sentence: str) -> None:
    refused = manage("up", "--data", str(place / "wrong"), *arguments, **more)
    assert refused.returncode == 2
    assert refused.stderr.startswith(sentence)
    assert len(refused.stderr.splitlines()) == 1
    assert not (place / "wrong").exists()


def test_a_database_of_a_newer_version_is_refused_and_left_alone(place: Path) -> None:
    url = os.environ["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE newer")
        try:
            newer = make_conninfo(url, dbname="newer")
            with psycopg.connect(newer) as inside:
                inside.execute("CREATE TABLE django_migrations (id serial, app text, name text, applied timestamptz)")
                inside.execute("INSERT INTO django_migrations (app, name) VALUES ('memories', '9999_tomorrow')")
            parts = conninfo_to_dict(newer)
            refused = manage(
                *("up", "--data", str(place / "newer"), "--port", "0"),
                DATABASE_URL=f"postgresql://{parts['user']}:{parts['password']}@/newer?host={parts['host']}",
            )
            with psycopg.connect(newer) as inside:
                tables = inside.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        finally:
            connection.execute("DROP DATABASE newer WITH (FORCE)")
    assert refused.returncode == 2
    assert refused.stderr == (
        "The database was made by a newer version of Heartwood (it has memories.9999_tomorrow); run that version.\n"
    )
    assert tables == (1,)


def test_commands_say_that_there_is_no_database(place: Path) -> None:
    refused = manage("create_organisation", "Acme", "--owner-email", "a@acme.example", "--data", str(place / "none"))
    assert refused.returncode != 0
    assert refused.stderr == f"There is no database in {place / 'none'}; start the server with `manage.py up` first.\n"
    assert not (place / "none").exists()


def test_looking_at_the_settings_leaves_no_trace(place: Path) -> None:
    assert manage("diffsettings", "--data", str(place / "nothing")).returncode == 0
    assert not (place / "nothing").exists()
