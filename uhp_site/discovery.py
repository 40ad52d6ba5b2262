"""GET /v1/uhp: what this server can do (Lifecycle §2). Only what exists is declared."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from .http.version import DEFAULT_VERSION, VERSIONS
from .http.views import Endpoint

CAPABILITIES = {
    "streaming": False,
    "sessions": False,
    "cancellation": False,
    "files_input": False,
    "files_output": False,
    "session_listing": False,
    "harness_management": True,
    "session_sharing": False,
    "idempotency": True,
    "plugins": False,
    "environments": False,
    "memories": True,
    "harness_retirement": False,
}


def product_version() -> str:
    """The version of the product, as its metadata or, in a checkout that was not installed, its project file says."""
    try:
        return version("heartwood")
    except PackageNotFoundError:
        import tomllib
        from pathlib import Path

        project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project["project"]["version"])


class Discovery(Endpoint):
    """Unauthenticated, the same for everyone, and indifferent to a credential that is presented."""

    authentication_classes = []
    permission_classes = []

    @extend_schema(operation_id="discovery", responses={200: dict}, tags=["discovery"])
    def get(self, request: Request) -> dict[str, Any]:
        """Say which versions and capabilities this server has."""
        return {
            "object": "uhp.discovery",
            "protocol": "uhp",
            "versions": list(VERSIONS),
            "default_version": DEFAULT_VERSION,
            "conformance_class": "core",
            "capabilities": CAPABILITIES,
            "implementation": {"name": "heartwood", "version": product_version()},
        }
