"""The observe endpoint: turns of a conversation, kept at once as they were said (Memories §4.9)."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import Privilege
from memories.content import Draft, read_attributes, read_content, read_time
from memories.services import observing
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from . import document_runs, shapes
from .base import MemoryEndpoint, Needs
from .runs import ASYNC, prefers_async

MOST_EPISODES = 200


class Observe(MemoryEndpoint):
    """What was said, for a memory to keep."""

    needs: ClassVar[Needs] = {"POST": (Privilege.WRITE,)}

    @document_runs.observe
    def post(self, request: Request, memory_id: str) -> Any:
        """Observe: keep each episode as a record, all of them or none; what follows from them is derived later."""
        episodes = read_episodes(self.body(request))
        if prefers_async(request):
            job = observing.observe_later(self.place, episodes)
            body = {**shapes.listed([]), "job": {"id": job.id, "status": shapes.job(job)["status"]}}
            return Response(body, status=202, headers={"Preference-Applied": ASYNC})
        kept = observing.observe(self.place, episodes)
        return shapes.listed(map(shapes.record, kept, self.reader.resolved(kept)))


def read_episodes(body: Fields) -> list[Draft]:
    """The episodes of a body: at least one, each with content. Raises MemoryInvalid, naming the field."""
    value = body.data.get("episodes")
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_EPISODES:
        raise body.refuse("episodes", f"Episodes are a list of 1 to {MOST_EPISODES}.")
    return [read_episode(one, body.at(f"episodes.{index}")) for index, one in enumerate(value)]


def read_episode(value: Any, path: str) -> Draft:
    """One episode: what was said, and attributes such as `session_id`. Raises MemoryInvalid."""
    if not isinstance(value, dict):
        raise MemoryInvalid("An episode is an object.", param=path)
    fields = Fields(value, path)
    if not fields.has("content"):
        raise fields.refuse("content", "This field is required.")
    try:
        content = read_content(fields)
    except MemoryInvalid as refusal:
        # Content given as a bare string has no part to point at.
        raise refusal if isinstance(value["content"], list) else fields.refuse("content", refusal.message) from None
    if not content:
        raise fields.refuse("content", "An episode says something.")
    attributes = read_attributes(fields) if fields.has("attributes") else {}
    time = read_time(fields)
    since, until = time.get("valid_from"), time.get("valid_to")
    if since and until and until < since:
        raise fields.refuse("time.valid_to", "The end of validity is before its beginning.")
    return Draft(observing.EPISODE, content=content, attributes=attributes, valid_from=since, valid_to=until)
