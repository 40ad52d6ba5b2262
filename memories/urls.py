"""The routes of the Memories chapter; static words stand before ids."""

from __future__ import annotations

from django.urls import path

from .access import Privilege
from .api import recall, records, tree
from .api.base import unsupported
from .console import access as console_access
from .console import memory as console_memory
from .console import records as console_records
from .console import tree as console_tree

READ, WRITE, DELETE = Privilege.READ, Privilege.WRITE, Privilege.DELETE

ONE = "memories/<str:memory_id>"
RECORD = f"{ONE}/records/<str:record_id>"

api = [
    path("memories", tree.Memories.as_view()),
    path("memories/providers", tree.Providers.as_view()),
    path("memories/types", tree.Types.as_view()),
    path(ONE, tree.MemoryDetail.as_view()),
    path(f"{ONE}/grants", tree.Grants.as_view()),
    path(f"{ONE}/grants/<str:grant_id>", tree.GrantDetail.as_view()),
    path(f"{ONE}/records", records.Records.as_view()),
    path(RECORD, records.RecordDetail.as_view()),
    path(f"{RECORD}/history", records.RecordHistory.as_view()),
    path(f"{ONE}/recall", recall.Recall.as_view()),
    # Declared absent in the capability document, and refused here in its words.
    path(f"{RECORD}/content/<str:index>", unsupported(get=READ).as_view()),
    path(f"{RECORD}/operations/<str:name>", unsupported(post=READ).as_view()),
    path(f"{ONE}/observe", unsupported(post=WRITE).as_view()),
    path(f"{ONE}/jobs/<str:job_id>", unsupported(get=READ).as_view()),
    path(f"{ONE}/graph", unsupported(post=READ).as_view()),
    path(f"{ONE}/erase", unsupported(post=DELETE).as_view()),
    path(f"{ONE}/queries", unsupported(get=READ).as_view()),
    path(f"{ONE}/queries/<str:name>", unsupported(put=WRITE, post=READ).as_view()),
    path(f"{ONE}/query", unsupported(post=READ).as_view()),
    path(f"{ONE}/snapshots", unsupported(get=READ, post=WRITE).as_view()),
    path(f"{ONE}/consolidations", unsupported(get=READ, post=WRITE).as_view()),
    path(f"{ONE}/consolidations/<str:run_id>", unsupported(get=READ).as_view()),
    path(f"{ONE}/consolidations/<str:run_id>/changes", unsupported(get=READ).as_view()),
    path(f"{ONE}/consolidations/<str:run_id>/revert", unsupported(post=DELETE).as_view()),
    path(f"{ONE}/prime", unsupported(get=READ).as_view()),
]

MEMORIES = "<slug:organisation>/memories"
PAGE = f"{MEMORIES}/<str:memory_id>"

pages = [
    path(MEMORIES, console_tree.tree, name="tree"),
    path(f"{MEMORIES}/new", console_tree.create, name="memory-new"),
    path(PAGE, console_memory.memory, name="memory"),
    path(f"{PAGE}/new", console_tree.create, name="memory-below"),
    path(f"{PAGE}/access", console_access.access, name="access"),
    path(f"{PAGE}/access/give", console_access.grant_give, name="grant-give"),
    path(f"{PAGE}/access/<str:grant_id>/take-back", console_access.grant_revoke, name="grant-revoke"),
    path(f"{PAGE}/restrict", console_access.restrict, name="restrict"),
    path(f"{PAGE}/settings", console_memory.settings, name="settings"),
    path(f"{PAGE}/delete", console_memory.delete, name="memory-delete"),
    path(f"{PAGE}/records/<str:record_id>", console_records.record, name="record"),
    path(f"{PAGE}/records/<str:record_id>/forget", console_records.forget, name="record-forget"),
]
