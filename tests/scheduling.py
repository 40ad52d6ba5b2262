"""Which tests run in one process, one after another: those of a file; of some folders all, which share a server."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("tests/conformance/", "tests/harnesses/")


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out files in the order they were collected in, so that the longest do not come last."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def scheduler(config: Any, log: Any) -> ByFile:
    """The scheduler that a run with several processes asks for."""
    config.option.loadscopereorder = False
    return ByFile(config, log)
