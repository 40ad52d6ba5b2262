"""The data directory and what is read from it before Django has settings: secret key, database, broker.

Nothing here creates anything except :func:`create_directory` and :func:`create_secret_key`, which only `up` calls:
looking at the settings (a check, a type checker, an editor) must leave no trace.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import MutableSequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TypedDict

from psycopg import Error
from psycopg.conninfo import conninfo_to_dict, make_conninfo

DEFAULT_DIRECTORY = ".heartwood"
SECRET_KEY_FILE = "secret_key"  # noqa: S105 - the name of a file
CONNECTION_FILE = "postgres.json"

# How long a message that a worker took stays invisible to the others; a worker that dies gives its messages back then.
VISIBILITY_TIMEOUT = 600


class Connection(TypedDict):
    """How to reach the embedded server, as its start wrote it down."""

    host: str
    port: int
    dbname: str
    user: str
    password: str


def fail(sentence: str) -> NoReturn:
    """Stop the process with one sentence on standard error and exit status 2."""
    print(sentence, file=sys.stderr, flush=True)
    raise SystemExit(2)


def choose_directory(argv: MutableSequence[str]) -> None:
    """Move `--data` out of a command line into the environment, so that every command takes it, Django's own too."""
    position = 0
    while position < len(argv) and argv[position] != "--":
        name, equals, value = argv[position].partition("=")
        if name != "--data":
            position += 1
            continue
        used = 1 if equals else 2
        value = value if equals else "".join(argv[position + 1 : position + 2])
        if not value:
            fail("--data needs the name of a directory.")
        os.environ["HEARTWOOD_DATA"] = os.path.abspath(value)
        del argv[position : position + used]


def directory() -> Path:
    """Return the data directory: $HEARTWOOD_DATA, else `.heartwood` in the working directory. It need not exist."""
    return Path(os.path.abspath(os.environ.get("HEARTWOOD_DATA") or DEFAULT_DIRECTORY))


def create_directory() -> Path:
    """Create the data directory for its owner alone, unless it is there; stop with a sentence when that fails.

    Root's may be passed through, though not read: its database runs as somebody else.
    """
    path = directory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_dir():
            path.mkdir(mode=0o700)
            path.chmod(0o711 if os.geteuid() == 0 else 0o700)
        probe = path / f".probe-{secrets.token_hex(4)}"
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
    except FileExistsError:
        fail(f"The data directory {path} is not a directory.")
    except OSError as error:
        fail(f"The data directory {path} cannot be written: {error.strerror}.")
    return path


def secret_key() -> str:
    """Return $HEARTWOOD_SECRET_KEY, else the key in the data directory, else one that lasts as long as this process."""
    given = os.environ.get("HEARTWOOD_SECRET_KEY")
    if given:
        return given
    path = directory() / SECRET_KEY_FILE
    try:
        key = path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return secrets.token_urlsafe(50)
    except OSError as error:
        fail(f"The secret key {path} cannot be read: {error.strerror}.")
    except UnicodeDecodeError:
        key = ""
    if len(key) < 32:
        fail(f"The secret key {path} is damaged; put the old file back, or remove it, which signs everybody out.")
    return key


def create_secret_key() -> None:
    """Write the secret key of a new data directory, readable by its owner only; an existing one is kept."""
    path = directory() / SECRET_KEY_FILE
    if path.exists():
        return
    draft = path.with_name(f".{SECRET_KEY_FILE}-{secrets.token_hex(4)}")
    write_private(draft, secrets.token_urlsafe(50) + "\n")
    try:
        # A hard link is created whole or not at all, and never replaces the key that somebody else just wrote.
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:
        draft.rename(path)
        return
    draft.unlink()


def write_private(path: Path, text: str) -> None:
    """Create or replace a file that only its owner may read; the content is on disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def uses_embedded_database() -> bool:
    """Tell whether the database is the one in the data directory rather than the one $DATABASE_URL names."""
    return not os.environ.get("DATABASE_URL")


def embedded_connection() -> Connection | None:
    """Read how to reach the embedded server, or None when none was ever started on this data directory."""
    path = directory() / CONNECTION_FILE
    try:
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Connection(
            host=str(read["host"]),
            port=int(read["port"]),
            dbname=str(read["dbname"]),
            user=str(read["user"]),
            password=str(read["password"]),
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        fail(f"The connection file {path} cannot be read: {error.strerror}.")
    except (ValueError, KeyError, TypeError):
        fail(f"The connection file {path} is damaged; put it back from a backup.")


def connection_parameters() -> dict[str, str]:
    """Return the libpq parameters of the database; a server that was never started has an address nobody answers."""
    url = os.environ.get("DATABASE_URL")
    if url:
        if not url.startswith(("postgres://", "postgresql://")):
            fail("DATABASE_URL must start with postgresql://.")
        try:
            read = conninfo_to_dict(url)
        except Error:
            # libpq's own message would repeat the password.
            fail("DATABASE_URL is not a valid Postgres connection URI.")
        return {name: str(value) for name, value in read.items() if value is not None}
    known = embedded_connection()
    if known is None:
        known = Connection(
            host=str(directory() / "postgres" / "socket"), port=5432, dbname="heartwood", user="heartwood", password=""
        )
    return {name: str(value) for name, value in known.items()}


def conninfo() -> str:
    """Return the database's libpq connection string, password included: never print it."""
    return make_conninfo("", **connection_parameters())


def database() -> dict[str, Any]:
    """Return Django's description of the database.

    Long-running processes pool connections: $HEARTWOOD_DATABASE_POOL is the most that one process opens. Commands do
    not, because waiting for a pool would hide why the database does not answer.
    """
    parameters = connection_parameters()
    entry: dict[str, Any] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parameters.pop("dbname", ""),
        "USER": parameters.pop("user", ""),
        "PASSWORD": parameters.pop("password", ""),
        "HOST": parameters.pop("host", ""),
        "PORT": parameters.pop("port", ""),
        "CONN_HEALTH_CHECKS": True,
    }
    options: dict[str, Any] = dict(parameters)
    options.setdefault("application_name", "heartwood")
    options.setdefault("connect_timeout", "10")
    pool = os.environ.get("HEARTWOOD_DATABASE_POOL", "0").strip()
    if not pool.isdecimal():
        fail("HEARTWOOD_DATABASE_POOL must be a whole number; 0 means no pool.")
    if int(pool):
        options["pool"] = {"min_size": 1, "max_size": int(pool), "timeout": 5, "max_idle": 300}
    entry["OPTIONS"] = options
    return entry


def broker() -> tuple[str, dict[str, Any]]:
    """Return Celery's broker URL and transport options: $CELERY_BROKER_URL, else queues inside the database."""
    url = os.environ.get("CELERY_BROKER_URL")
    if url:
        return url, {"visibility_timeout": VISIBILITY_TIMEOUT} if url.startswith(("redis", "sqs")) else {}
    return "pgmq://database/", {
        "conn_string": _twice_quoted(connection_parameters()),
        # The queues are created from SQL, without the extension, when the server is prepared.
        "init_extension": False,
        "pool_size": 4,
        "pool_timeout": 10,
        "visibility_timeout": VISIBILITY_TIMEOUT,
        # Sleep on a notification instead of asking the server again and again; ask once a second in any case.
        "use_notify": True,
        "notify_throttle_interval_ms": 0,
        "wait_time_seconds": 0,
        "polling_interval": 1.0,
    }


def file_store() -> dict[str, Any]:
    """Return Django's description of where uploaded files are kept: the bucket that is named, else a directory.

    Keys to the bucket are the usual AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what the machine was given.
    """
    bucket = os.environ.get("HEARTWOOD_S3_BUCKET", "").strip()
    if not bucket:
        return {
            "BACKEND": "uhp_site.store.PrivateStorage",
            "OPTIONS": {
                "location": str(directory() / "files"),
                "directory_permissions_mode": 0o700,
                "file_permissions_mode": 0o600,
            },
        }
    if find_spec("storages") is None or find_spec("boto3") is None:
        fail("HEARTWOOD_S3_BUCKET needs the extra package set heartwood[s3]: pip install 'django-storages[s3]'.")
    options = {
        "bucket_name": bucket,
        "location": os.environ.get("HEARTWOOD_S3_PREFIX", "").strip(),
        "endpoint_url": os.environ.get("HEARTWOOD_S3_ENDPOINT", "").strip() or None,
        "region_name": os.environ.get("HEARTWOOD_S3_REGION", "").strip() or None,
        "default_acl": None,
        "querystring_auth": True,
        "file_overwrite": False,
        # What is read goes through a file on disk above this size, in bytes; without it, through memory.
        "max_memory_size": 1024 * 1024,
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def _twice_quoted(parameters: dict[str, str]) -> str:
    """Write a connection string for a client that takes it apart and puts five of the values together unquoted.

    What it takes out must therefore be quoted still, and everything it does not know (sslmode and its like) rides
    along in the last value.
    """
    rest = dict(parameters)
    quoted = {
        name: _quote(rest.pop(name, default))
        for name, default in {"host": "", "port": "5432", "dbname": "postgres", "user": ""}.items()
    }
    password = _quote(rest.pop("password", ""))
    rest.setdefault("application_name", "heartwood queue")
    rest.setdefault("connect_timeout", "10")
    quoted["password"] = " ".join([password, *(f"{name}={_quote(value)}" for name, value in rest.items())])
    return make_conninfo("", **quoted)


def _quote(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
