"""Endpoints on files: sending one, and the bytes behind a part of a record."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from memories.access import Privilege
from memories.media import Sniffer
from memories.models import File
from memories.services import files
from uhp_site.http.downloads import plain, send
from uhp_site.http.fields import Fields
from uhp_site.http.uploads import FileForm, Received, nothing_sent
from uhp_site.http.views import Endpoint

from . import document
from .base import MemoryEndpoint, Needs, caller_of


class Form(FileForm):
    """The form that brings a file, which is looked at as it passes."""

    watcher = Sniffer


class Files(Endpoint):
    """Files that a record may name."""

    parser_classes = (Form,)

    @document.send_file
    def post(self, request: Request) -> dict[str, Any]:
        """Send a file: a multipart form with `file` and `purpose`."""
        form = request.data
        received = form.get("file") if isinstance(form, dict) else None
        if not isinstance(form, dict) or not isinstance(received, Received):
            # DRF asks no parser when there is no body at all.
            raise nothing_sent()
        with received.bytes:
            name = plain(received.name)
            purpose = Fields(form).text("purpose", longest=40, one_line=True) or "user_data"
            # What a repetition with the same key is compared with.
            self.sent = {"file": received.sha256, "filename": name, "purpose": purpose}
            upload = files.Upload(
                bytes=received.bytes,
                name=name,
                sha256=received.sha256,
                size=received.size,
                media_type=received.watcher.media_type(),
                purpose=purpose,
            )
            return shown(files.keep(caller_of(request), upload))


class RecordContent(MemoryEndpoint):
    """The bytes behind one part of a record."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ,)}

    @document.read_content
    def get(self, request: Request, memory_id: str, record_id: str, index: str) -> HttpResponseBase:
        """Read the bytes of a file part, all of them or one range, now or as of an instant."""
        content = files.open_part(self.place, record_id, index, self.query(request).instant("as_of"))
        return send(
            request._request,
            content.bytes,
            name=content.name,
            media_type=content.media_type,
            size=content.size,
            sha256=content.sha256,
        )


def shown(file: File) -> dict[str, Any]:
    """A File (Tasks §4.9)."""
    return {
        "id": file.id,
        "object": "file",
        "filename": file.name,
        "bytes": file.size,
        "created_at": int(file.created_at.timestamp()),
        "purpose": file.purpose,
    }
