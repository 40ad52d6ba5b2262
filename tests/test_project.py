"""What holds for the project as a whole."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.models import Model

PROJECT = Path(__file__).resolve().parent.parent
# Where requests are translated; what they do is done by the verbs in `services`.
SURFACES = ["memories/api", "memories/console", "members/console.py"]
WRITES = {"save", "create", "update", "delete", "get_or_create", "update_or_create", "bulk_create", "bulk_update"}

# Everything else belongs to exactly one organisation.
BELONG_TO_NO_ORGANISATION = {"User", "Organisation"}


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_the_collector_leaves_the_loaded_application_alone() -> None:
    asked = "import gc; from uhp_site import gunicorn; gunicorn.when_ready(None); print(gc.get_freeze_count())"
    done = subprocess.run([sys.executable, "-c", asked], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 10_000


def test_the_deployment_checks_are_clean_behind_tls() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=PROJECT,
        env={**os.environ, "HEARTWOOD_TLS": "true", "DJANGO_SETTINGS_MODULE": "uhp_site.settings"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def surfaces() -> Iterator[Path]:
    for surface in SURFACES:
        path = PROJECT / surface
        yield from path.rglob("*.py") if path.is_dir() else [path]


def writes_in(source: str) -> Iterator[str]:
    """Calls that write through the ORM: by a writing method, of anything but a module of verbs."""
    nodes = list(ast.walk(ast.parse(source)))
    verbs = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module or "").endswith("services") or alias.name == "services"
    }
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            owner = node.func.value
            if not (isinstance(owner, ast.Name) and owner.id in verbs):
                yield ast.unparse(node)


@pytest.mark.parametrize("path", list(surfaces()), ids=lambda path: str(path.relative_to(PROJECT)))
def test_a_surface_calls_verbs_and_writes_nothing_itself(path: Path) -> None:
    assert list(writes_in(path.read_text())) == []


@pytest.mark.parametrize(
    "planted",
    ["Memory.objects.create(name='x')", "memory.save()", "grants.filter(pk=1).delete()", "form.instance.save()"],
)
def test_a_write_in_a_surface_would_be_seen(planted: str) -> None:
    assert list(writes_in(f"from memories.services import tree\ntree.delete(1)\n{planted}")) == [planted]


def models() -> list[type[Model]]:
    return [model for app in ("members", "memories", "harnesses") for model in apps.get_app_config(app).get_models()]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_everything_belongs_to_exactly_one_organisation(model: type[Model]) -> None:
    if model.__name__ not in BELONG_TO_NO_ORGANISATION:
        assert not model._meta.get_field("organisation").null


def test_the_models_were_looked_at() -> None:
    assert len(models()) > 10
