"""Endpoints on what runs over a memory and what names its instants: erasure, jobs, snapshots."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import Privilege
from memories.models import Job
from memories.services import erasure, observing, snapshots
from uhp_site.http import pagination
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields
from uhp_site.http.views import Begun

from . import document, shapes
from .base import MemoryEndpoint, Needs

MOST_ERASED = 1000
NAME_LENGTH = 160
MESSAGE_LENGTH = 2000
ASYNC = "respond-async"


class Erase(MemoryEndpoint):
    """Erase records of a memory for good."""

    needs: ClassVar[Needs] = {"POST": (Privilege.DELETE,)}

    @document.erase
    def post(self, request: Request, memory_id: str) -> Begun:
        """Erase: remove every version and everything made from it, and say what could not be reached."""
        begun = erasure.begin(self.place, read_record_ids(self.body(request)), later=prefers_async(request))
        return Begun({"job": begun.id})

    def resume(self, begun: dict[str, Any]) -> Any:
        """The report once the job is done, or for `respond-async` the job as it is."""
        if prefers_async(self.request):
            job = shapes.job(erasure.find(self.place, begun["job"]))
            return Response(job, status=202, headers={"Preference-Applied": ASYNC})
        return shapes.erasure(erasure.finish(self.place, begun["job"]))


class JobDetail(MemoryEndpoint):
    """A job of a memory."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ, Privilege.DELETE)}

    @document.read_job
    def get(self, request: Request, memory_id: str, job_id: str) -> dict[str, Any]:
        """Read how a job stands; an observation comes with its records, a finished erasure with its report."""
        job = erasure.readable(self.place, job_id)
        shown = shapes.job(job)
        if job.kind == observing.KIND:
            kept = observing.kept_by(self.place, job)
            shown["data"] = list(map(shapes.record, kept, self.reader.resolved(kept)))
        if job.kind == erasure.KIND and job.state == Job.State.COMPLETED:
            shown["erasure"] = shapes.erasure(erasure.report(self.place, job))
        return shown


class Snapshots(MemoryEndpoint):
    """The named instants of a memory."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ,), "POST": (Privilege.WRITE,)}

    @document.list_snapshots
    def get(self, request: Request, memory_id: str) -> dict[str, Any]:
        """List snapshots, newest first."""
        query = self.query(request)
        limit = pagination.read_limit(query, pagination.DEFAULT)
        found = snapshots.listed(self.place, limit + 1, pagination.read_time_cursor(query))
        page, following = pagination.cut(found, limit, lambda one: (one.at.isoformat(), one.id))
        return shapes.listed(map(shapes.snapshot, page), following)

    @document.take_snapshot
    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Name this instant."""
        body = self.body(request)
        name = body.text("name", longest=NAME_LENGTH, required=True, one_line=True) or ""
        return shapes.snapshot(snapshots.take(self.place, name, body.text("message", longest=MESSAGE_LENGTH) or ""))


def read_record_ids(body: Fields) -> list[str]:
    """The records named: at least one. Raises MemoryInvalid."""
    ids = body.words("record_ids", longest=200, most=MOST_ERASED)
    if not ids:
        raise MemoryInvalid("Name at least one record.", param="record_ids")
    return ids


def prefers_async(request: Request) -> bool:
    """Whether the client would rather ask the job than wait (RFC 7240)."""
    wishes = request.headers.get("Prefer", "").lower().replace(";", ",").split(",")
    return ASYNC in {wish.strip() for wish in wishes}
