"""The routes of the Memories chapter; static words stand before ids."""

from __future__ import annotations

from django.urls import path

from .api import (
    access,
    consolidations,
    files,
    graph,
    holds,
    observe,
    prime,
    queries,
    recall,
    records,
    runs,
    tree,
    types,
)
from .console import access as console_access
from .console import audit as console_audit
from .console import conflicts as console_conflicts
from .console import erasing as console_erasing
from .console import explore as console_explore
from .console import find as console_find
from .console import golden as console_golden
from .console import graph_page as console_graph
from .console import holding as console_holding
from .console import home as console_home
from .console import inbox as console_inbox
from .console import inbox_decisions as console_decisions
from .console import inbox_item as console_item
from .console import jobs as console_jobs
from .console import jump as console_jump
from .console import memory as console_memory
from .console import move as console_move
from .console import operating as console_operating
from .console import organisation as console_organisation
from .console import past as console_past
from .console import policies as console_policies
from .console import reach as console_reach
from .console import records as console_records
from .console import run_accept as console_run_accept
from .console import run_changes as console_run_changes
from .console import run_undo as console_run_undo
from .console import runs as console_runs
from .console import schedules as console_schedules
from .console import tree as console_tree
from .console import versions as console_versions
from .console import viewas as console_viewas
from .console import who as console_who

ONE = "memories/<str:memory_id>"
RECORD = f"{ONE}/records/<str:record_id>"

api = [
    path("files", files.Files.as_view()),
    path("x-access/who", access.Who.as_view()),
    path("x-access/what", access.What.as_view()),
    path("x-access/why", access.Why.as_view()),
    path("memories", tree.Memories.as_view()),
    path("memories/providers", tree.Providers.as_view()),
    path("memories/types", types.Types.as_view()),
    path(ONE, tree.MemoryDetail.as_view()),
    path(f"{ONE}/grants", tree.Grants.as_view()),
    path(f"{ONE}/grants/<str:grant_id>", tree.GrantDetail.as_view()),
    path(f"{ONE}/records", records.Records.as_view()),
    path(RECORD, records.RecordDetail.as_view()),
    path(f"{RECORD}/history", records.RecordHistory.as_view()),
    path(f"{RECORD}/content/<str:index>", files.RecordContent.as_view()),
    path(f"{RECORD}/operations/<str:name>", types.RecordOperation.as_view()),
    path(f"{ONE}/recall", recall.Recall.as_view()),
    path(f"{ONE}/observe", observe.Observe.as_view()),
    path(f"{ONE}/prime", prime.Prime.as_view()),
    path(f"{ONE}/graph", graph.MemoryGraph.as_view()),
    path(f"{ONE}/queries", queries.Queries.as_view()),
    path(f"{ONE}/queries/<str:name>", queries.QueryDetail.as_view()),
    path(f"{ONE}/query", queries.FreeQuery.as_view()),
    path(f"{ONE}/erase", runs.Erase.as_view()),
    path(f"{ONE}/jobs/<str:job_id>", runs.JobDetail.as_view()),
    path(f"{ONE}/consolidations", consolidations.Consolidations.as_view()),
    path(f"{ONE}/consolidations/<str:run_id>", consolidations.ConsolidationDetail.as_view()),
    path(f"{ONE}/consolidations/<str:run_id>/changes", consolidations.ConsolidationChanges.as_view()),
    path(f"{ONE}/consolidations/<str:run_id>/revert", consolidations.ConsolidationRevert.as_view()),
    path(f"{ONE}/snapshots", runs.Snapshots.as_view()),
    path("x-holds", holds.Holds.as_view()),
    path("x-holds/<str:hold_id>", holds.HoldDetail.as_view()),
]

MEMORIES = "<slug:organisation>/memories"
PAGE = f"{MEMORIES}/<str:memory_id>"
MEMBER = "<slug:organisation>/people/<str:member_id>"
GROUP = "<slug:organisation>/groups/<str:group_id>"
VIEW_AS = "<slug:organisation>/as/<str:member_id>"
INBOX = "<slug:organisation>/review"

pages = [
    path(MEMORIES, console_tree.tree, name="tree"),
    path(f"{MEMORIES}/new", console_tree.create, name="memory-new"),
    path(f"{MEMORIES}/find", console_find.find, name="find"),
    path("<slug:organisation>/home", console_home.overview, name="overview"),
    path("<slug:organisation>/search", console_jump.jump, name="search"),
    path(f"{MEMORIES}/without-anybody", console_organisation.ownerless, name="ownerless"),
    path(PAGE, console_memory.memory, name="memory"),
    path(f"{PAGE}/new", console_tree.create, name="memory-below"),
    path(f"{PAGE}/access", console_access.access, name="access"),
    path(f"{PAGE}/access/give", console_access.grant_give, name="grant-give"),
    path(f"{PAGE}/access/<str:grant_id>/change", console_access.grant_change, name="grant-change"),
    path(f"{PAGE}/access/<str:grant_id>/take-back", console_access.grant_revoke, name="grant-revoke"),
    path(f"{PAGE}/who", console_who.who, name="who"),
    path(f"{PAGE}/why", console_who.why, name="why"),
    path(f"{PAGE}/audit", console_audit.of_memory, name="audit-memory"),
    path(f"{PAGE}/restrict", console_access.restrict, name="restrict"),
    path(f"{PAGE}/move", console_move.move, name="memory-move"),
    path(f"{PAGE}/take-over", console_organisation.take_over, name="take-over"),
    path(f"{PAGE}/settings", console_memory.settings, name="settings"),
    path(f"{PAGE}/delete", console_memory.delete, name="memory-delete"),
    path(f"{PAGE}/snapshots", console_past.snapshots, name="snapshots"),
    path(f"{PAGE}/holds", console_holding.holds, name="holds"),
    path(f"{PAGE}/holds/<str:hold_id>/lift", console_holding.lift, name="hold-lift"),
    path(f"{PAGE}/forget", console_erasing.forget, name="records-forget"),
    path(f"{PAGE}/erase", console_erasing.erase, name="records-erase"),
    path(f"{PAGE}/jobs/<str:job_id>", console_erasing.job, name="job"),
    path(f"{PAGE}/ask", console_explore.explore, name="explore"),
    path(f"{PAGE}/golden", console_golden.golden, name="golden"),
    path(f"{PAGE}/golden/run", console_golden.run, name="golden-run"),
    path(f"{PAGE}/golden/runs/<str:job_id>", console_golden.report, name="golden-report"),
    path(f"{PAGE}/golden/<str:golden_id>/remove", console_golden.remove, name="golden-remove"),
    path(f"{PAGE}/graph", console_graph.graph, name="graph"),
    path(f"{PAGE}/runs", console_runs.runs, name="runs"),
    path(f"{PAGE}/runs/<str:run_id>", console_runs.run, name="run"),
    path(f"{PAGE}/runs/<str:run_id>/stop", console_runs.stop, name="run-stop"),
    path(f"{PAGE}/runs/<str:run_id>/undo", console_run_undo.revert, name="run-revert"),
    path(f"{PAGE}/runs/<str:run_id>/accept", console_run_accept.accept, name="run-accept"),
    path(f"{PAGE}/runs/<str:run_id>/sources", console_run_changes.sources, name="run-sources"),
    path(f"{PAGE}/conflicts", console_conflicts.conflicts, name="conflicts"),
    path(f"{PAGE}/conflicts/<str:conflict_id>", console_conflicts.conflict, name="conflict"),
    path(f"{PAGE}/schedule", console_schedules.of_memory, name="schedule"),
    path(f"{PAGE}/schedule/engine", console_schedules.engine, name="schedule-engine"),
    path(f"{PAGE}/schedule/asks", console_run_accept.asks, name="schedule-asks"),
    path("<slug:organisation>/runs", console_runs.everywhere, name="runs-all"),
    path("<slug:organisation>/schedule", console_schedules.of_organisation, name="schedule-all"),
    path("<slug:organisation>/jobs", console_jobs.jobs, name="jobs"),
    path("<slug:organisation>/jobs/<str:job_id>/retry", console_jobs.retry, name="job-retry"),
    path("<slug:organisation>/jobs/<str:job_id>/cancel", console_jobs.cancel, name="job-cancel"),
    path(f"{PAGE}/records/<str:record_id>", console_records.record, name="record"),
    path(f"{PAGE}/records/<str:record_id>/content/<str:index>", console_records.content, name="record-content"),
    path(f"{PAGE}/records/<str:record_id>/compare", console_versions.compare, name="record-compare"),
    path(f"{PAGE}/records/<str:record_id>/restore", console_versions.restore, name="record-restore"),
    path(f"{PAGE}/records/<str:record_id>/revise", console_versions.revise, name="record-revise"),
    path(f"{PAGE}/records/<str:record_id>/operations/<str:name>", console_operating.operate, name="record-operate"),
    path(f"{PAGE}/records/<str:record_id>/forget", console_records.forget, name="record-forget"),
    path(INBOX, console_inbox.inbox, name="inbox"),
    path(f"{INBOX}/many", console_inbox.many, name="inbox-many"),
    path(f"{INBOX}/<str:item_id>", console_item.item, name="inbox-item"),
    path(f"{INBOX}/<str:item_id>/decide", console_decisions.decide, name="inbox-decide"),
    path(f"{INBOX}/<str:item_id>/edit", console_decisions.edit, name="inbox-edit"),
    path(f"{INBOX}/<str:item_id>/merge", console_decisions.merge, name="inbox-merge"),
    path(f"{INBOX}/<str:item_id>/move", console_decisions.move, name="inbox-move"),
    path(f"{INBOX}/<str:item_id>/undo", console_inbox.undo, name="inbox-undo"),
    path(f"{PAGE}/review", console_policies.policy, name="review-policy"),
    path("<slug:organisation>/audit", console_audit.of_organisation, name="audit"),
    path(f"{MEMBER}/reach", console_reach.of_member, name="reach-member"),
    path(f"{MEMBER}/deactivate", console_organisation.deactivate, name="member-deactivate"),
    path(f"{MEMBER}/hand-over", console_organisation.hand_over, name="hand-over"),
    path(f"{GROUP}/reach", console_reach.of_group, name="reach-group"),
    path(f"{GROUP}/remove/<str:member_id>", console_organisation.leave_group, name="group-remove"),
    path(VIEW_AS, console_viewas.tree, name="as"),
    path(f"{VIEW_AS}/memories/<str:memory_id>", console_viewas.memory, name="as-memory"),
]
