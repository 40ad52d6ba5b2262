"""Endpoints on harnesses: the configuration of an agent, its skills, and what it could run."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request

from harnesses import bases
from harnesses.services import configuration, keys, skills
from uhp_site.http.views import Endpoint

from . import document, reading, shapes
from .base import HarnessEndpoint, caller_of, in_own_code


class Harnesses(Endpoint):
    """The harnesses a caller can see, and the door for new ones."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method == "POST":
            configuration.require_creator(caller_of(request))

    @document.list_harnesses
    def get(self, request: Request) -> dict[str, Any]:
        """List the harnesses of the caller: its own, and for an owner those of the organisation."""
        found = configuration.listed(caller_of(request))
        return {"object": "list", "harnesses": [shapes.harness(one) for one in found]}

    @document.create_harness
    def post(self, request: Request) -> dict[str, Any]:
        """Create a harness, and with it its agent: a member whose id is the harness's."""
        draft = reading.read(self.body(request).data)
        return shapes.harness(configuration.create(caller_of(request), draft))


class HarnessDetail(HarnessEndpoint):
    """One harness."""

    @document.read_harness
    def get(self, request: Request, harness_id: str) -> dict[str, Any]:
        """Read a harness."""
        return shapes.harness(self.desk.harness)

    @document.change_harness
    def put(self, request: Request, harness_id: str) -> dict[str, Any]:
        """Replace the configuration; a field that is left out returns to its default."""
        return shapes.harness(configuration.change(self.desk, reading.read(self.body(request).data)))

    @document.delete_harness
    def delete(self, request: Request, harness_id: str) -> dict[str, Any]:
        """Delete a harness and retire its agent; what the agent wrote stays."""
        configuration.retire(self.desk)
        return {"id": harness_id, "object": "harness", "deleted": True, "sessions": 0, "restorableUntil": None}


class SkillFiles(HarnessEndpoint):
    """The files of one skill."""

    @document.read_skill
    def get(self, request: Request, harness_id: str, skill: str) -> dict[str, Any]:
        """Read every file of a skill, byte for byte as it was sent."""
        return {"files": [file.shown() for file in skills.files_of(skills.find(self.desk.harness, skill))]}


class Models(Endpoint):
    """What the bases run."""

    @document.list_models
    def get(self, request: Request) -> dict[str, Any]:
        """List the models of every base."""
        declared = bases.declared().values()
        return {"backends": {base.name: {"default": base.default, "models": base.catalogue()} for base in declared}}


class HarnessModels(HarnessEndpoint):
    """What one harness could run."""

    @document.list_models_of_harness
    def get(self, request: Request, harness_id: str) -> dict[str, Any]:
        """List the models of a harness's base, and which one it takes."""
        harness = self.desk.harness
        base = bases.declared().get(harness.base) or bases.Base(harness.base, harness.base, ())
        return {
            "harness_id": harness.id,
            "backend": base.name,
            "default": harness.default_model or base.default,
            "fallback": base.default,
            "models": base.catalogue(),
        }


class Keys(HarnessEndpoint):
    """The keys of a harness's agent."""

    # A key is shown once: no answer that holds one may be kept for a repeat.
    asks_only: ClassVar[bool] = True

    @document.list_keys
    def get(self, request: Request, harness_id: str) -> dict[str, Any]:
        """List the keys that are accepted now, the newest first."""
        return {"object": "list", "data": [shapes.key(one) for one in keys.live(self.desk)], "next": None}

    @document.issue_key
    def post(self, request: Request, harness_id: str) -> dict[str, Any]:
        """Make a key for the agent; `token` is in this answer and nowhere else."""
        body = self.body(request)
        with in_own_code():
            name = body.text("name", longest=120, one_line=True) or "API key"
            expires_at = body.instant("expires_at")
        issued = keys.issue(self.desk, name, expires_at)
        return {**shapes.key(issued.credential), "token": issued.token}


class KeyDetail(HarnessEndpoint):
    """One key of a harness's agent."""

    @document.revoke_key
    def delete(self, request: Request, harness_id: str, key_id: str) -> dict[str, Any]:
        """End a key, from the next request on."""
        keys.revoke(self.desk, key_id)
        return {"id": key_id, "object": "x-key", "deleted": True}
