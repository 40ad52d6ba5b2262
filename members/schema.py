"""How the OpenAPI document names our authentication."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An API key, sent as a Bearer token."""

    target_class = "members.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """The security scheme."""
        return {"type": "http", "scheme": "bearer"}
