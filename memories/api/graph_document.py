"""What the OpenAPI document says of graphs."""

from __future__ import annotations

from rest_framework import serializers as s

from .document import Record, describe, shape

Place = shape("MemoryGraphPlace", id=s.CharField(), name=s.CharField())
Node = shape("MemoryGraphNode", record=Record(), memory=Place())
End = shape(
    "MemoryGraphEnd",
    memory_id=s.CharField(required=False, help_text="Absent where the target may not be read"),
    record_id=s.CharField(),
)
Edge = shape(
    "MemoryGraphEdge",
    **{"from": shape("MemoryGraphHolder", memory_id=s.CharField(), record_id=s.CharField())()},
    to=End(),
    rel=s.CharField(required=False),
    available=s.BooleanField(),
)
draw = describe(
    "memories_graph",
    shape(
        "MemoryGraph",
        object=s.CharField(),
        nodes=Node(many=True),
        edges=Edge(many=True),
        truncated=s.BooleanField(help_text="There is more than was returned; `degraded` says of what"),
        degraded=s.ListField(child=s.CharField()),
    ),
    403,
    404,
    422,
    request=shape(
        "MemoryGraphRequest",
        around=s.CharField(required=False, allow_null=True, help_text="A record of the memory, or of one below"),
        hops=s.IntegerField(required=False, min_value=0, max_value=3, default=1),
        types=s.ListField(child=s.CharField(), required=False, help_text="Which records are shown; all are followed"),
        limit=s.IntegerField(required=False, min_value=1, max_value=500, default=200),
    ),
)
