"""The protocol's closed list of error codes and the exceptions that carry them (Errors §1); no Django here."""

from __future__ import annotations

from typing import Any, ClassVar

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    405: "invalid_request_error",
    409: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    416: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}


def type_for(status: int) -> str:
    """The error type that the protocol gives to an HTTP status."""
    if status >= 500:
        return "server_error"
    return TYPES.get(status, "invalid_request_error")


class UHPError(Exception):
    """A request that is refused. Subclasses set the code; their docstring is the default message, safe to show."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "invalid_input"

    def __init__(self, message: str = "", *, param: str | None = None, detail: dict[str, Any] | None = None) -> None:
        self.message = message or (type(self).__doc__ or "The request was refused.").strip()
        self.param = param
        self.detail = detail
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        """The one error envelope, all five keys present."""
        return envelope(self.status, self.code, self.message, self.param, self.detail)


def envelope(
    status: int, code: str, message: str, param: str | None = None, detail: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Build the error envelope for a status and code."""
    return {"error": {"type": type_for(status), "code": code, "message": message, "param": param, "detail": detail}}


class UnsupportedVersion(UHPError):
    """This server does not speak the requested protocol version."""

    code = "unsupported_protocol_version"


class InvalidInput(UHPError):
    """The request body could not be read as a JSON object."""

    code = "invalid_input"


class MissingCredential(UHPError):
    """A credential is required: send it as a Bearer token."""

    status = 401
    code = "missing_credential"


class InvalidCredential(UHPError):
    """The credential is not valid."""

    status = 401
    code = "invalid_credential"


class MemoryNotFound(UHPError):
    """There is no such memory."""

    status = 404
    code = "memory_not_found"


class MemoryForbidden(UHPError):
    """You do not hold the privilege this needs on the memory."""

    status = 403
    code = "memory_forbidden"


class RecordNotFound(UHPError):
    """There is no such record in this memory."""

    status = 404
    code = "memory_record_not_found"


class MemoryInvalid(UHPError):
    """The request does not fit what this operation takes."""

    status = 422
    code = "memory_invalid"


class MemoryUnsupported(UHPError):
    """The memory's provider does not do this."""

    status = 422
    code = "memory_unsupported"


class MemoryBusy(UHPError):
    """The memory is busy with other changes; try again shortly."""

    status = 409
    code = "memory_busy"


class MemoryUnavailable(UHPError):
    """The memory's provider is not available."""

    status = 503
    code = "memory_unavailable"


class FileTooLarge(UHPError):
    """The request body is larger than this server takes."""

    status = 413
    code = "file_too_large"


class RouteNotFound(UHPError):
    """There is nothing at this address."""

    status = 404
    code = "heartwood_route_not_found"


class MethodNotAllowed(UHPError):
    """This address does not take that method."""

    status = 405
    code = "heartwood_method_not_allowed"


class VersionConflict(UHPError):
    """The record has changed since the version this was based on; read it again."""

    status = 409
    code = "heartwood_version_conflict"


class OnHold(UHPError):
    """This is on hold, and is kept until the hold is lifted."""

    status = 409
    code = "heartwood_on_hold"


class RangeNotSatisfiable(UHPError):
    """The file has no such bytes."""

    status = 416
    code = "heartwood_range_not_satisfiable"


class ServerError(UHPError):
    """Something went wrong on the server; the failure was logged."""

    status = 500
    code = "heartwood_server_error"
