"""What the OpenAPI document at /v1/schema says of the endpoints on harnesses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from memories.api.document import PRIVILEGES
from uhp_site.http.openapi import describing
from uhp_site.http.openapi import shape as _shape

_describe = describing("harnesses")
File = _shape(
    "SkillFile",
    path=s.CharField(max_length=255),
    content=s.CharField(required=False, help_text="Text, or else"),
    content_b64=s.CharField(required=False, help_text="bytes, in base64"),
)
Skill = _shape(
    "Skill",
    name=s.CharField(max_length=64),
    enabled=s.BooleanField(required=False),
    blob=s.CharField(required=False, help_text="Stands for the files the harness has; changes with them"),
    files=File(many=True, required=False, write_only=True),
    content=s.CharField(required=False, write_only=True, help_text="Instead of files: one SKILL.md"),
    bytes=s.IntegerField(required=False, read_only=True),
)
McpServer = _shape(
    "McpServer",
    name=s.CharField(max_length=64),
    url=s.CharField(max_length=2000),
    transport=s.ChoiceField(choices=["http", "sse"], required=False),
    enabled=s.BooleanField(required=False),
    auth=s.CharField(required=False, write_only=True, help_text="Kept when it is left out; removed by an empty one"),
    headers=s.DictField(child=s.CharField(), required=False, write_only=True, help_text="Kept when left out"),
    secrets=s.ListField(child=s.CharField(), read_only=True, help_text="What is kept of them, by name"),
)
Harness = _shape(
    "Harness",
    id=s.CharField(help_text="Also the id of its agent, the member that acts under it"),
    object=s.CharField(),
    name=s.CharField(),
    base=s.CharField(),
    baseLabel=s.CharField(),
    defaultModel=s.CharField(allow_blank=True),
    systemPrompt=s.CharField(allow_blank=True),
    mcpServers=McpServer(many=True),
    skills=Skill(many=True),
    plugins=s.ListField(child=s.JSONField()),
    environment=s.CharField(allow_blank=True),
    disabledTools=s.ListField(child=s.CharField()),
    maxStep=s.IntegerField(allow_null=True),
    timeoutSeconds=s.IntegerField(allow_null=True),
    createdAt=s.IntegerField(help_text="Unix milliseconds"),
    updatedAt=s.IntegerField(help_text="Unix milliseconds"),
)


def _write(name: str, *, base_required: bool) -> Any:
    return _shape(
        name,
        base=s.CharField(required=base_required),
        name=s.CharField(required=False, max_length=120),
        default_model=s.CharField(required=False, allow_blank=True),
        system_prompt=s.CharField(required=False, allow_blank=True),
        mcp_servers=McpServer(many=True, required=False),
        skills=Skill(many=True, required=False),
        plugins=s.ListField(child=s.JSONField(), required=False, max_length=0),
        environment=s.CharField(required=False, allow_blank=True),
        disabled_tools=s.ListField(child=s.CharField(), required=False),
        max_step=s.IntegerField(required=False, allow_null=True, min_value=1),
        timeout_seconds=s.IntegerField(required=False, allow_null=True, min_value=1),
    )


Model = _shape(
    "HarnessModel",
    id=s.CharField(),
    label=s.CharField(),
    backend=s.CharField(),
    default=s.BooleanField(),
    available=s.BooleanField(help_text="Whether it can run now: this server runs no tasks"),
)
list_harnesses = _describe("harnesses_list", _shape("HarnessList", object=s.CharField(), harnesses=Harness(many=True)))
create_harness = _describe(
    "harnesses_create", Harness(), 403, 404, 413, 422, request=_write("HarnessCreate", base_required=True)
)
read_harness = _describe("harnesses_read", Harness(), 404)
change_harness = _describe(
    "harnesses_change", Harness(), 403, 404, 409, 413, 422, request=_write("HarnessChange", base_required=False)
)
delete_harness = _describe(
    "harnesses_delete",
    _shape(
        "HarnessDeleted",
        id=s.CharField(),
        object=s.CharField(),
        deleted=s.BooleanField(),
        sessions=s.IntegerField(),
        restorableUntil=s.IntegerField(allow_null=True),
    ),
    403,
    404,
)
read_skill = _describe("harnesses_skill_files", _shape("SkillFileList", files=File(many=True)), 404)
list_models = _describe("models_list", _shape("ModelCatalogue", backends=s.JSONField()))
list_models_of_harness = _describe(
    "harnesses_models",
    _shape(
        "HarnessModels",
        harness_id=s.CharField(),
        backend=s.CharField(),
        default=s.CharField(allow_blank=True),
        fallback=s.CharField(allow_blank=True),
        models=Model(many=True),
    ),
    404,
)
HarnessMemories = _shape(
    "HarnessMemories",
    object=s.CharField(),
    principal=s.CharField(help_text="What grants to the agent name"),
    default_memory_id=s.CharField(allow_null=True),
    observe=s.BooleanField(),
    data=_shape(
        "HarnessMemory",
        id=s.CharField(),
        name=s.CharField(),
        privileges=s.ListField(child=s.ChoiceField(choices=PRIVILEGES)),
        default=s.BooleanField(),
    )(many=True),
)
read_attachment = _describe("harnesses_memories", HarnessMemories(), 404)
change_attachment = _describe(
    "harnesses_memories_change",
    HarnessMemories(),
    403,
    404,
    422,
    request=_shape(
        "HarnessMemoriesChange",
        default_memory_id=s.CharField(required=False, allow_null=True),
        observe=s.BooleanField(required=False),
    ),
)
_KEY = {
    "id": s.CharField(),
    "object": s.CharField(),
    "name": s.CharField(),
    "prefix": s.CharField(),
    "created_at": s.DateTimeField(),
    "last_used_at": s.DateTimeField(allow_null=True),
    "expires_at": s.DateTimeField(allow_null=True),
}
list_keys = _describe(
    "harnesses_keys",
    _shape(
        "AgentKeyList",
        object=s.CharField(),
        data=_shape("AgentKey", **_KEY)(many=True),
        next=s.CharField(allow_null=True),
    ),
    403,
    404,
)
issue_key = _describe(
    "harnesses_keys_issue",
    _shape("AgentKeyIssued", **_KEY, token=s.CharField(help_text="Shown this once")),
    403,
    404,
    422,
    request=_shape(
        "AgentKeyCreate", name=s.CharField(required=False), expires_at=s.DateTimeField(required=False, allow_null=True)
    ),
)
revoke_key = _describe(
    "harnesses_keys_revoke",
    _shape("AgentKeyRevoked", id=s.CharField(), object=s.CharField(), deleted=s.BooleanField()),
    403,
    404,
)
