"""What a load balancer asks: is the process up, and can it do its work."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from uhp_site.models import Heartbeat

_migrated = False


@never_cache
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Answer that this process is up; it looks at nothing else."""
    return JsonResponse({"healthy": True})


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Answer 200 when database, schema and worker are all there, else 503 with the reasons."""
    reasons = _reasons()
    if reasons:
        return JsonResponse({"ready": False, "reasons": reasons}, status=503)
    return JsonResponse({"ready": True})


def _reasons() -> list[str]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if not _is_migrated():
            return ["The database schema is older than this server."]
        if not Heartbeat.is_fresh():
            return ["The worker has not run a scheduled task for 30 seconds."]
    except Error:
        # The connection is in an unknown state; the next request gets another.
        connection.close()
        return ["The database does not answer."]
    return []


def _is_migrated() -> bool:
    """Tell whether every migration is applied. A yes is final for this process, and the only answer remembered."""
    global _migrated
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return _migrated
