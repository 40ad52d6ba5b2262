"""What the OpenAPI document says of observing, consolidation runs and priming."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers as s

from .document import PAGE, Neighbour, Record, describe, listed_as, query_parameter, shape

observe = describe(
    "memories_observe",
    listed_as(
        "MemoryObserved",
        Record(many=True),
        job=shape("MemoryObserving", id=s.CharField(), status=s.CharField())(required=False),
    ),
    403,
    404,
    413,
    422,
    parameters=[
        OpenApiParameter(
            "Prefer", str, OpenApiParameter.HEADER, description="respond-async: answer 202 with a job that names them"
        )
    ],
    request=shape(
        "MemoryObserve",
        episodes=shape(
            "MemoryEpisode",
            content=s.JSONField(help_text="A string, or a list of parts, each with its role"),
            attributes=s.JSONField(required=False, help_text="session_id names the conversation"),
            time=s.JSONField(required=False, help_text="valid_from is when it was said, when not just now"),
        )(many=True, min_length=1, max_length=200),
    ),
)
Run = shape(
    "MemoryConsolidation",
    id=s.CharField(),
    object=s.CharField(),
    memory_id=s.CharField(),
    status=s.ChoiceField(choices=["queued", "running", "completed", "stopped", "failed"]),
    trigger=s.ChoiceField(choices=["request", "schedule", "idle"]),
    started_at=s.IntegerField(allow_null=True, help_text="Unix seconds"),
    finished_at=s.IntegerField(allow_null=True, help_text="Unix seconds"),
    read=shape("MemoryRunRead", episodes=s.IntegerField(), through=s.DateTimeField(allow_null=True))(),
    changes=shape(
        "MemoryRunCounts", created=s.IntegerField(), superseded=s.IntegerField(), forgotten=s.IntegerField()
    )(),
    usage=shape("MemoryRunUsage", input_tokens=s.IntegerField(), output_tokens=s.IntegerField())(),
    budget=shape(
        "MemoryRunBudget",
        limit=s.IntegerField(required=False),
        unit=s.ChoiceField(choices=["tokens", "episodes"], required=False),
        exhausted=s.BooleanField(),
    )(),
    written_by=s.JSONField(),
    error=s.CharField(),
    x_supported=s.IntegerField(help_text="Statements heard again"),
    x_conflicts=s.IntegerField(help_text="What a person has to decide"),
    reverted=s.BooleanField(required=False),
    revert=shape(
        "MemoryRunReverted",
        at=s.DateTimeField(),
        restored=s.ListField(child=s.CharField()),
        forgotten=s.ListField(child=s.CharField()),
        skipped=s.ListField(child=s.CharField(), help_text="Changed since by somebody, and left alone"),
    )(required=False),
)
list_runs = describe(
    "consolidations_list", listed_as("MemoryConsolidationList", Run(many=True)), 403, 404, 422, parameters=PAGE
)
start_run = describe(
    "consolidations_start",
    Run(),
    403,
    404,
    409,
    422,
    request=shape(
        "MemoryConsolidationStart",
        budget=shape(
            "MemoryConsolidationBudget",
            limit=s.IntegerField(min_value=1),
            unit=s.ChoiceField(choices=["tokens", "episodes"], required=False),
        )(required=False),
    ),
)
read_run = describe("consolidations_read", Run(), 403, 404)
list_changes = describe(
    "consolidations_changes",
    listed_as("MemoryConsolidationChanges", s.ListField(child=s.JSONField(help_text="A record, with `change`"))),
    403,
    404,
    422,
    parameters=PAGE,
)
revert_run = describe(
    "consolidations_revert",
    Run(),
    403,
    404,
    409,
    422,
    503,
    parameters=[
        OpenApiParameter(
            "Prefer", str, OpenApiParameter.HEADER, description="respond-async: answer 202 with the job of a large one"
        )
    ],
    request=shape(
        "MemoryConsolidationRevert",
        x_changes=s.ListField(child=s.CharField(), required=False, help_text="Only these changes, by their ids"),
    ),
)
prime = describe(
    "memories_prime",
    shape(
        "MemoryPrime",
        object=s.CharField(),
        memory=Neighbour(),
        parent=Neighbour(required=False),
        children=Neighbour(many=True),
        data=Record(many=True),
        text=s.CharField(help_text="The records as fenced text, to hand to an agent"),
        tokens=s.IntegerField(help_text="Of the text, by estimate: four characters are one"),
        budget=s.IntegerField(),
        truncated=s.BooleanField(),
        degraded=s.ListField(child=s.CharField()),
    ),
    403,
    404,
    422,
    parameters=[query_parameter("budget", OpenApiTypes.INT, "In tokens; 4000 when not given")],
)
