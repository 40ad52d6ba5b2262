"""The base endpoint: authenticate first, then whatever a subclass looks at before it reads a body (Memories §4.5)."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from .fields import Fields


class Endpoint(APIView):
    """An address of the protocol. Handlers return what the answer's JSON is; every success is 200 with a body."""

    def query(self, request: Request) -> Fields:
        """The query string, read like a body."""
        return Fields(request.query_params.dict())

    def body(self, request: Request) -> Fields:
        """The JSON object that was sent. Raises InvalidInput for anything else."""
        data = request.data
        assert isinstance(data, dict)
        return Fields(data)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        if isinstance(response, dict):
            response = Response(response)
        return super().finalize_response(request, response, *args, **kwargs)
