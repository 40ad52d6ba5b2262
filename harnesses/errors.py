"""The error codes of the Harnesses chapter (Errors §1), and the one of an agent that holds nothing. Pure."""

from __future__ import annotations

from uhp_site.http.errors import UHPError


class HarnessNotFound(UHPError):
    """There is no such harness."""

    status = 404
    code = "harness_not_found"


class SkillNotFound(UHPError):
    """There is no such skill in this harness."""

    status = 404
    code = "heartwood_skill_not_found"


class KeyNotFound(UHPError):
    """There is no such key of this agent."""

    status = 404
    code = "heartwood_key_not_found"


class EnvironmentNotFound(UHPError):
    """There is no such environment."""

    status = 404
    code = "environment_not_found"


class InsufficientScope(UHPError):
    """Only an owner of the organisation, or whoever made the harness, may do this."""

    status = 403
    code = "insufficient_scope"


class HarnessInvalid(UHPError):
    """The harness cannot be stored like this."""

    status = 422
    code = "invalid_input"


class UnsupportedBase(UHPError):
    """This server does not know that base."""

    status = 422
    code = "unsupported_base"


class ModelUnavailable(UHPError):
    """The base does not run that model."""

    status = 422
    code = "model_unavailable"


class UnsupportedTransport(UHPError):
    """An MCP server of a harness is reached over http or sse."""

    status = 422
    code = "unsupported_transport"


class HarnessMismatch(UHPError):
    """The base of a harness does not change; create another harness."""

    status = 409
    code = "harness_mismatch"


class MemoriesNotAttached(UHPError):
    """You hold no memory yet: whoever runs you has to grant you one."""

    status = 404
    code = "memories_not_attached"
