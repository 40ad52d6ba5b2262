"""Every route of the chapter that names a memory, with the privilege it needs there."""

from __future__ import annotations

from dataclasses import dataclass

from .client import NO_BODY


@dataclass(frozen=True)
class Route:
    """One method on one path. `{id}` stands for the memory; the other names in a path are made up.

    No privilege means that it takes more than one, in more than one place, and has its own test.
    """

    method: str
    path: str
    privilege: str
    body: object = NO_BODY
    # The same request with a body that is wrong, to see that nobody validates before looking who asks.
    wrong: object = NO_BODY

    def at(self, memory_id: str) -> str:
        """The path for a memory id that is already quoted."""
        return self.path.replace("{id}", memory_id)

    def body_at(self, memory_id: str, body: object) -> object:
        """A body in which `{id}` has become the memory id."""
        if isinstance(body, dict):
            return {key: memory_id if value == "{id}" else value for key, value in body.items()}
        return body

    def __str__(self) -> str:
        noted = f" {sorted(self.body)}" if isinstance(self.body, dict) and self.method == "PUT" else ""
        return f"{self.method} {self.path.removeprefix('/v1/')}{noted}"


MEMORY = "/v1/memories/{id}"
RECORD = f"{MEMORY}/records/no-such-record"
RUN = f"{MEMORY}/consolidations/no-such-run"
RESTRICT = {"restricted": True}
QUERY = {"body": {"field": "type", "op": "eq", "value": "fact"}, "description": "facts"}

ROUTES = [
    Route("GET", "/v1/memories?parent={id}", "read"),
    Route("GET", "/v1/memories?ancestor={id}", "read"),
    Route("POST", "/v1/memories", "create", {"name": "n", "parent_id": "{id}"}, {"name": 7, "parent_id": "{id}"}),
    Route("GET", MEMORY, "read"),
    Route("PUT", MEMORY, "write", {"description": "d"}, {"name": 7}),
    Route("PUT", MEMORY, "delete", RESTRICT, {"restricted": "x"}),
    Route("PUT", MEMORY, "", {"parent_id": None}, {"parent_id": 7}),
    Route("DELETE", MEMORY, "delete"),
    Route("GET", f"{MEMORY}/grants", "delete"),
    Route("POST", f"{MEMORY}/grants", "delete", {"principal": "member:x", "privileges": ["read"]}, {"principal": 7}),
    Route("DELETE", f"{MEMORY}/grants/no-such-grant", "delete"),
    Route("POST", f"{MEMORY}/observe", "write", {"episodes": [{"content": "said"}]}, {"episodes": 7}),
    Route("GET", f"{MEMORY}/jobs/no-such-job", "read"),
    Route("GET", f"{MEMORY}/records", "read"),
    Route("POST", f"{MEMORY}/records", "write", {"content": "c"}, {"content": 7}),
    Route("GET", RECORD, "read"),
    Route("PATCH", RECORD, "write", {"content": "c"}, {"content": 7}),
    Route("DELETE", RECORD, "write"),
    Route("GET", f"{RECORD}/history", "read"),
    Route("GET", f"{RECORD}/content/0", "read"),
    Route("POST", f"{RECORD}/operations/no-such-operation", "read", {}, {"x": 7}),
    Route("POST", f"{MEMORY}/recall", "read", {"query": "q"}, {"query": 7}),
    Route("POST", f"{MEMORY}/graph", "read", {}, {"hops": "x"}),
    Route("POST", f"{MEMORY}/erase", "delete", {"record_ids": ["no-such-record"]}, {"record_ids": 7}),
    Route("GET", f"{MEMORY}/queries", "read"),
    Route("PUT", f"{MEMORY}/queries/q", "write", QUERY, {"body": None}),
    Route("POST", f"{MEMORY}/queries/no-such-query", "read", {"params": {}}, {"params": 7}),
    Route("POST", f"{MEMORY}/query", "read", {"statement": "s"}, {"statement": 7}),
    Route("GET", f"{MEMORY}/snapshots", "read"),
    Route("POST", f"{MEMORY}/snapshots", "write", {"name": "s"}, {"name": 7}),
    Route("GET", f"{MEMORY}/consolidations", "read"),
    Route("POST", f"{MEMORY}/consolidations", "write", {}, {"budget": 7}),
    Route("GET", RUN, "read"),
    Route("GET", f"{RUN}/changes", "read"),
    Route("POST", f"{RUN}/revert", "delete"),
    Route("GET", f"{MEMORY}/prime", "read"),
]
