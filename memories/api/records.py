"""Endpoints on the records of one memory."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import Privilege
from memories.content import read_changes, read_draft
from memories.providers.base import RecordVersion, View
from memories.services import records
from uhp_site.http import pagination
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from . import document, shapes
from .base import MemoryEndpoint, Needs

READ = (Privilege.READ,)
WRITE = (Privilege.WRITE,)
TAG = re.compile(r'(?:W/)?"(\d{1,9})"')


class RecordEndpoint(MemoryEndpoint):
    """An address that answers with records."""

    def shown(self, version: RecordVersion) -> dict[str, Any]:
        """One record with the caller's eyes."""
        return shapes.record(version, self.reader.resolve(version))

    def expected(self, request: Request) -> records.Expected | None:
        """The versions a change is based on, by `If-Match` and `expected_version`; None without either."""
        named = read_if_match(request.headers.get("If-Match"))
        number = self.body(request).integer("expected_version", least=1)
        if number is not None:
            named = frozenset({number}) if named is None else named & {number}
        return None if named is None else records.Expected(named)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        data = answer.data if isinstance(answer, Response) else None
        if isinstance(data, dict) and data.get("object") == "memory.record":
            answer.headers["ETag"] = f'"{data["version"]}"'
        return answer


class Records(RecordEndpoint):
    """The records of a memory."""

    needs: ClassVar[Needs] = {"GET": READ, "POST": WRITE}

    @document.list_records
    def get(self, request: Request, memory_id: str) -> dict[str, Any]:
        """List records in the order they were written, beside the memories around this one."""
        query = self.query(request)
        limit = pagination.read_limit(query, pagination.DEFAULT)
        page = records.page(self.place, read_view(query), limit, pagination.read_time_cursor(query))
        resolved = self.reader.resolved(page.versions)
        return shapes.listed(
            map(shapes.record, page.versions, resolved),
            pagination.make_time_cursor(page.next),
            **shapes.around(self.reader.neighbours(self.place.memory)),
        )

    @document.remember
    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Remember: write a record."""
        return self.shown(records.remember(self.place, read_draft(self.body(request).data)))


class RecordDetail(RecordEndpoint):
    """One record of a memory."""

    needs: ClassVar[Needs] = {"GET": READ, "PATCH": WRITE, "DELETE": WRITE}

    @document.read_record
    def get(self, request: Request, memory_id: str, record_id: str) -> dict[str, Any]:
        """Read a record, as it is or as it was at an instant."""
        return self.shown(records.get(self.place, record_id, self.query(request).instant("as_of")))

    @document.revise
    def patch(self, request: Request, memory_id: str, record_id: str) -> dict[str, Any]:
        """Revise: append a version."""
        changes = read_changes(self.body(request).data)
        return self.shown(records.revise(self.place, record_id, changes, self.expected(request)))

    @document.forget
    def delete(self, request: Request, memory_id: str, record_id: str) -> dict[str, Any]:
        """Forget: close the record in place and keep its history."""
        return self.shown(records.forget(self.place, record_id, self.expected(request)))


class RecordHistory(RecordEndpoint):
    """Every version of a record."""

    needs: ClassVar[Needs] = {"GET": READ}

    @document.read_history
    def get(self, request: Request, memory_id: str, record_id: str) -> dict[str, Any]:
        """List the versions of a record, oldest first."""
        paging = pagination.read(self.query(request), int, default=pagination.MOST)
        after = paging.after[0] if paging.after else None
        versions = records.history(self.place, record_id, after=after, limit=paging.limit + 1)
        page, following = pagination.cut(versions, paging.limit, lambda version: (version.number,))
        return shapes.listed(map(shapes.record, page, self.reader.resolved(page)), following)


def read_if_match(header: str | None) -> frozenset[int] | None:
    """The versions in an If-Match header; None without one, and for `*`. Raises MemoryInvalid for anything else."""
    if header is None or header.strip() == "*":
        return None
    tags = [TAG.fullmatch(tag.strip()) for tag in header.split(",")]
    if not all(tags):
        raise MemoryInvalid("If-Match holds the ETag of a record as it was read.", param="If-Match")
    return frozenset(int(tag[1]) for tag in tags if tag)


def read_view(query: Fields) -> View:
    """`type`, `include` and `as_of` of a listing."""
    kind = query.text("type", longest=80)
    return View(
        as_of=query.instant("as_of"),
        include_all=query.choice("include", ("active", "all"), "active") == "all",
        types=(kind,) if kind else (),
    )
