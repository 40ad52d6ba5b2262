"""The directory that uploaded files are kept in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.core.files.storage import FileSystemStorage


class PrivateStorage(FileSystemStorage):
    """Files for their owner alone, which are still there after a power failure once they were saved."""

    def _save(self, name: str, content: Any) -> str:
        saved = str(super()._save(name, content))  # type: ignore[misc]
        file = Path(self.path(saved))
        _sync(file)
        # A new name, or a new folder, is on disk when the folder that lists it is.
        for folder in file.relative_to(self.location).parents:
            _sync(Path(self.location) / folder)
        return saved


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
