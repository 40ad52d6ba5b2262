"""The real settings with the three things that make tests fast, and a place of their own for files."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from uhp_site.settings import *  # noqa: F403
from uhp_site.settings import STORAGES

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMBEDDER = "hashing"
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True

_FILES = Path(tempfile.mkdtemp(prefix="heartwood-files-"))
atexit.register(shutil.rmtree, _FILES, ignore_errors=True)
FILES_INCOMING = _FILES / "incoming"
STORAGES["files"]["OPTIONS"] = {**STORAGES["files"]["OPTIONS"], "location": str(_FILES / "files")}
