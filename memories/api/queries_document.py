"""What the OpenAPI document says of queries."""

from __future__ import annotations

from rest_framework import serializers as s

from .document import PAGE, Neighbour, describe, listed_as, shape

_FIELDS = {
    "description": s.CharField(required=False, max_length=2000),
    "params": s.JSONField(required=False, help_text="JSON Schema of the parameters"),
    "requires": s.ChoiceField(choices=["read", "write"], required=False, default="read"),
    "language": s.ChoiceField(choices=["filter"], required=False, default="filter"),
    "body": s.JSONField(
        help_text="filters, query, text, types, include, as_of and limit as in a recall, as an object or as a string "
        "of its JSON; {name} in a value stands for a parameter"
    ),
}
Query = shape(
    "MemoryQuery",
    object=s.CharField(),
    memory_id=s.CharField(),
    name=s.CharField(),
    defined_by=s.JSONField(),
    createdAt=s.IntegerField(help_text="Unix milliseconds"),
    updatedAt=s.IntegerField(help_text="Unix milliseconds"),
    **_FIELDS,
)
Answer = shape(
    "MemoryQueryAnswer",
    object=s.CharField(),
    results=s.ListField(child=s.JSONField()),
    parent=Neighbour(required=False),
    children=Neighbour(many=True),
    degraded=s.ListField(child=s.CharField()),
    abstain=s.BooleanField(),
)
list_queries = describe("queries_list", listed_as("MemoryQueryList", Query(many=True)), 403, 404, 422, parameters=PAGE)
define_query = describe("queries_define", Query(), 403, 404, 422, request=shape("MemoryQueryDefine", **_FIELDS))
run_query = describe(
    "queries_run",
    Answer(),
    403,
    404,
    422,
    request=shape("MemoryQueryRun", params=s.JSONField(required=False, help_text="Checked by the query's schema")),
)
ask_freely = describe(
    "queries_ask",
    Answer(),
    403,
    404,
    422,
    request=shape(
        "MemoryQueryAsk",
        language=s.ChoiceField(choices=["filter"], required=False, default="filter"),
        statement=s.JSONField(help_text="As the body of a query"),
        params=s.JSONField(required=False),
        write=s.BooleanField(required=False, help_text="Statements read: true is refused"),
    ),
)
