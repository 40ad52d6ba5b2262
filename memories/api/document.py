"""What the OpenAPI document at /v1/schema says of each endpoint; the shapes are those of Memories §2."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers as s

from uhp_site.http.openapi import PAGE as _PAGE
from uhp_site.http.openapi import describing
from uhp_site.http.openapi import listed_as as _list
from uhp_site.http.openapi import query_parameter as _query
from uhp_site.http.openapi import shape as _shape

_describe = describing("memories")
PRIVILEGES = ["read", "write", "create", "delete"]


def _privileges() -> s.ListField:
    return s.ListField(child=s.ChoiceField(choices=PRIVILEGES))


Count = _shape("Count", count=s.IntegerField(allow_null=True))
Neighbour = _shape(
    "MemoryNeighbour",
    id=s.CharField(),
    name=s.CharField(),
    description=s.CharField(),
    records=Count(),
    children=Count(),
    privileges=_privileges(),
)
Memory = _shape(
    "Memory",
    id=s.CharField(),
    object=s.CharField(),
    name=s.CharField(),
    description=s.CharField(),
    parent_id=s.CharField(allow_null=True),
    ancestors=s.ListField(child=s.CharField()),
    restricted=s.BooleanField(),
    provider=s.CharField(),
    privileges=_privileges(),
    records=Count(),
    children=Count(),
    createdAt=s.IntegerField(help_text="Unix milliseconds"),
    updatedAt=s.IntegerField(help_text="Unix milliseconds"),
)
Record = _shape(
    "MemoryRecord",
    id=s.CharField(),
    object=s.CharField(),
    memory_id=s.CharField(),
    type=s.CharField(),
    title=s.CharField(),
    content=s.ListField(child=s.JSONField()),
    attributes=s.JSONField(),
    version=s.IntegerField(),
    status=s.ChoiceField(choices=["active", "superseded", "forgotten"]),
    supersedes=s.IntegerField(allow_null=True),
    time=s.JSONField(),
    written_by=s.JSONField(),
    references=s.ListField(child=s.JSONField()),
    trust=s.ChoiceField(choices=["untrusted"]),
    x_review=s.ChoiceField(choices=["held"], required=False, help_text="It waits for a person, and is not kept yet."),
)
Grant = _shape(
    "MemoryGrant",
    id=s.CharField(),
    object=s.CharField(),
    memory_id=s.CharField(),
    principal=s.CharField(),
    privileges=_privileges(),
    inherited=s.BooleanField(),
)

_DRAFT = {
    "title": s.CharField(required=False, max_length=300),
    "content": s.JSONField(required=False, help_text="A string, or a list of parts"),
    "attributes": s.JSONField(required=False),
    "references": s.ListField(child=s.JSONField(), required=False),
    "time": s.JSONField(required=False, help_text="valid_from and valid_to, RFC 3339 with an offset"),
}

list_memories = _describe(
    "memories_list",
    _list("MemoryList", Memory(many=True)),
    404,
    422,
    parameters=[
        _query("parent", description="The children of this memory"),
        _query("ancestor", description="Everything below this memory"),
        _query("granted", OpenApiTypes.BOOL, "Where the caller's access begins or changes, highest in the tree first"),
        *_PAGE,
    ],
)
create_memory = _describe(
    "memories_create",
    Memory(),
    403,
    404,
    422,
    request=_shape(
        "MemoryCreate",
        name=s.CharField(max_length=120),
        description=s.CharField(required=False, max_length=2000),
        parent_id=s.CharField(required=False, allow_null=True),
        restricted=s.BooleanField(required=False),
        provider=s.CharField(required=False),
    ),
)
read_memory = _describe("memories_read", Memory(), 403, 404)
change_memory = _describe(
    "memories_change",
    Memory(),
    403,
    404,
    409,
    422,
    request=_shape(
        "MemoryChange",
        name=s.CharField(required=False, max_length=120),
        description=s.CharField(required=False, max_length=2000),
        parent_id=s.CharField(required=False, allow_null=True),
        restricted=s.BooleanField(required=False),
    ),
)
delete_memory = _describe(
    "memories_delete",
    _shape(
        "MemoryDeleted",
        id=s.CharField(),
        object=s.CharField(),
        deleted=s.BooleanField(),
        memories=s.ListField(child=s.CharField()),
    ),
    403,
    404,
    409,
)
list_grants = _describe("grants_list", _list("MemoryGrantList", Grant(many=True)), 403, 404, parameters=_PAGE)
give_grant = _describe(
    "grants_give",
    Grant(),
    403,
    404,
    422,
    request=_shape("MemoryGrantCreate", principal=s.CharField(), privileges=_privileges()),
)
take_back_grant = _describe(
    "grants_take_back",
    _shape("MemoryGrantDeleted", id=s.CharField(), object=s.CharField(), deleted=s.BooleanField()),
    403,
    404,
)
list_providers = _describe("providers_list", _list("ProviderList", s.ListField(child=s.JSONField())))
Operation = _shape(
    "MemoryTypeOperation",
    name=s.CharField(),
    requires=s.CharField(help_text="A privilege"),
    description=s.CharField(),
    input=s.JSONField(help_text="JSON Schema of the body"),
)
Type = _shape(
    "MemoryType",
    type=s.CharField(),
    core=s.BooleanField(),
    description=s.CharField(),
    schema=s.JSONField(help_text="JSON Schema of the attributes"),
    text=s.CharField(help_text="Which words stand for a record when it is searched"),
    operations=Operation(many=True),
)
list_types = _describe("types_list", _list("TypeList", Type(many=True)))
operate = _describe(
    "records_operate",
    _shape("MemoryOperation", object=s.CharField(), name=s.CharField(), result=s.JSONField()),
    403,
    404,
    422,
    request=OpenApiTypes.OBJECT,
)
send_file = _describe(
    "files_send",
    _shape(
        "File",
        id=s.CharField(),
        object=s.CharField(),
        filename=s.CharField(),
        bytes=s.IntegerField(),
        created_at=s.IntegerField(help_text="Unix seconds"),
        purpose=s.CharField(),
    ),
    400,
    413,
    request={
        "multipart/form-data": _shape(
            "FileForm", file=s.FileField(), purpose=s.CharField(required=False, default="user_data")
        )
    },
)
read_content = _describe(
    "records_content",
    OpenApiResponse(OpenApiTypes.BINARY, description="The bytes, as an attachment; 206 when a range was asked for"),
    403,
    404,
    416,
    422,
    parameters=[
        _query("as_of", OpenApiTypes.DATETIME),
        OpenApiParameter("Range", OpenApiTypes.STR, OpenApiParameter.HEADER, description="One range of bytes"),
    ],
)
list_records = _describe(
    "records_list",
    _list(
        "MemoryRecordList",
        Record(many=True),
        parent=Neighbour(required=False),
        children=Neighbour(many=True),
    ),
    403,
    404,
    422,
    parameters=[
        _query("type"),
        _query("include", description="active or all"),
        _query("as_of", OpenApiTypes.DATETIME),
        *_PAGE,
    ],
)
remember = _describe(
    "records_remember",
    Record(),
    403,
    404,
    413,
    422,
    503,
    request=_shape("MemoryRecordCreate", type=s.CharField(required=False), **_DRAFT),
)
read_record = _describe("records_read", Record(), 403, 404, 422, parameters=[_query("as_of", OpenApiTypes.DATETIME)])
_EXPECTED = [
    OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description="The ETag of the record as it was read"),
]
revise = _describe(
    "records_revise",
    Record(),
    403,
    404,
    409,
    422,
    503,
    parameters=_EXPECTED,
    request=_shape(
        "MemoryRecordChange",
        expected_version=s.IntegerField(required=False, help_text="The version this is based on"),
        **_DRAFT,
    ),
)
forget = _describe("records_forget", Record(), 403, 404, 409, 422, parameters=_EXPECTED)
read_history = _describe("records_history", _list("MemoryRecordHistory", Record(many=True)), 403, 404, parameters=_PAGE)
recall = _describe(
    "memories_recall",
    _shape(
        "MemoryRecall",
        object=s.CharField(),
        results=s.ListField(child=s.JSONField()),
        parent=Neighbour(required=False),
        children=Neighbour(many=True),
        degraded=s.ListField(child=s.CharField()),
        abstain=s.BooleanField(),
    ),
    403,
    404,
    422,
    request=_shape(
        "MemoryRecallRequest",
        query=s.CharField(required=False, help_text="Found by meaning"),
        text=s.CharField(required=False, help_text="Found by words"),
        filters=s.JSONField(
            required=False,
            help_text="{field, op, value}, {and: [...]} or {or: [...]}; op is eq, in, gt, gte, lt, lte or contains",
        ),
        types=s.ListField(child=s.CharField(), required=False),
        as_of=s.DateTimeField(required=False, allow_null=True),
        include=s.ChoiceField(choices=["active", "all"], required=False),
        depth=s.IntegerField(required=False, allow_null=True, min_value=0),
        limit=s.IntegerField(required=False, min_value=1, max_value=100),
        x_profile=s.CharField(required=False, help_text="How to rank: default, or one of those for comparing with it"),
        x_explain=s.BooleanField(required=False, help_text="Say how the answer came about, in x_explanation"),
    ),
)
Snapshot = _shape(
    "MemorySnapshot",
    id=s.CharField(),
    object=s.CharField(),
    memory_id=s.CharField(),
    name=s.CharField(),
    message=s.CharField(),
    at=s.DateTimeField(help_text="Reading as of it is reading what was readable then"),
)
list_snapshots = _describe(
    "snapshots_list", _list("MemorySnapshotList", Snapshot(many=True)), 403, 404, 422, parameters=_PAGE
)
take_snapshot = _describe(
    "snapshots_take",
    Snapshot(),
    403,
    404,
    422,
    request=_shape(
        "MemorySnapshotCreate",
        name=s.CharField(max_length=160),
        message=s.CharField(required=False, max_length=2000),
    ),
)
Erasure = _shape(
    "MemoryErasure",
    object=s.CharField(),
    id=s.CharField(help_text="The job that did it"),
    erased=s.ListField(child=s.CharField()),
    unreachable=s.ListField(child=s.CharField(), help_text="What still carries the content; `hidden` for the unseen"),
    removed=s.JSONField(help_text="What was removed, counted before and after"),
)
Job = _shape(
    "MemoryJob",
    id=s.CharField(),
    object=s.CharField(),
    status=s.ChoiceField(choices=["pending", "completed", "failed"]),
    error=s.CharField(),
    data=s.ListField(child=s.JSONField()),
    erasure=Erasure(required=False),
)
erase = _describe(
    "memories_erase",
    Erasure(),
    403,
    404,
    409,
    422,
    503,
    parameters=[
        OpenApiParameter(
            "Prefer", str, OpenApiParameter.HEADER, description="respond-async: answer 202 with the job at once"
        )
    ],
    request=_shape("MemoryErase", record_ids=s.ListField(child=s.CharField(), min_length=1, max_length=1000)),
)
read_job = _describe("jobs_read", Job(), 403, 404)
Hold = _shape(
    "MemoryHold",
    id=s.CharField(),
    object=s.CharField(),
    memory_id=s.CharField(),
    record_id=s.CharField(allow_null=True),
    reason=s.CharField(),
    placed_by=s.CharField(),
    placed_at=s.DateTimeField(),
    lifted_by=s.CharField(allow_null=True),
    lifted_at=s.DateTimeField(allow_null=True),
)
list_holds = _describe(
    "holds_list",
    _list("MemoryHoldList", Hold(many=True)),
    403,
    404,
    422,
    parameters=[_query("memory"), _query("include", description="standing or all"), *_PAGE],
)
place_hold = _describe(
    "holds_place",
    Hold(),
    403,
    404,
    422,
    request=_shape(
        "MemoryHoldCreate",
        memory_id=s.CharField(),
        record_id=s.CharField(required=False, allow_null=True),
        reason=s.CharField(max_length=500),
    ),
)
lift_hold = _describe("holds_lift", Hold(), 403, 404)

# For what is described beside its endpoints.
shape, describe, listed_as, query_parameter, PAGE = _shape, _describe, _list, _query, _PAGE
