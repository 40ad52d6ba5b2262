"""Sending bytes that somebody uploaded: as an attachment, never to be guessed at or run, whole or one range of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header

from .envelope import respond
from .errors import RangeNotSatisfiable

PIECE = 64 * 1024
RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
# Even where a browser shows it, it runs nothing and asks for nothing.
INERT = "default-src 'none'; sandbox"


def send(
    request: HttpRequest, content: IO[bytes], *, name: str, media_type: str, size: int, sha256: str
) -> HttpResponseBase:
    """Answer with open bytes, and close them when they are sent: 200, 206 for one range, or 416 for one outside."""
    tag = f'"{sha256}"'
    # A request for several ranges, or for one of other bytes than these, is answered with the whole (RFC 9110 §14).
    fresh = request.headers.get("If-Range", tag) == tag
    asked = RANGE.fullmatch(request.headers.get("Range", "").replace(" ", "")) if fresh else None
    start, end = 0, size
    if asked and _is_range(asked[1], asked[2]):
        found = _bounds(asked[1], asked[2], size)
        if found is None:
            content.close()
            refused = respond(RangeNotSatisfiable())
            refused.headers["Content-Range"] = f"bytes */{size}"
            return refused
        start, end = found
    else:
        asked = None
    body = _Piece(content, start, end, silent=request.method == "HEAD")
    response = StreamingHttpResponse(body, status=206 if asked else 200, content_type=typed(media_type))
    response.headers["Content-Length"] = str(end - start)
    response.headers["Content-Disposition"] = content_disposition_header(True, plain(name)) or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = INERT
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["ETag"] = tag
    if asked:
        response.headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return response


def typed(media_type: str) -> str:
    """The Content-Type; what was found to be text was found to be UTF-8."""
    return f"{media_type}; charset=utf-8" if media_type == "text/plain" else media_type


def plain(name: str) -> str:
    """A file name as it may stand in a header and on a disk: no folders, nothing that is not seen."""
    visible = "".join(character for character in name if character.isprintable())
    return visible.replace("\\", "/").rpartition("/")[2].strip(" .") or "file"


def _is_range(first: str, last: str) -> bool:
    # Anything else is to be ignored.
    return int(first) <= int(last) if first and last else bool(first or last)


def _bounds(first: str, last: str, size: int) -> tuple[int, int] | None:
    if not first:
        return (max(0, size - int(last)), size) if int(last) and size else None
    start = int(first)
    end = min(int(last) + 1, size) if last else size
    return (start, end) if start < size else None


class _Piece:
    """Part of some open bytes; closing it closes them."""

    def __init__(self, content: IO[bytes], start: int, end: int, *, silent: bool) -> None:
        self.content, self.start, self.left, self.silent = content, start, end - start, silent

    def __iter__(self) -> Iterator[bytes]:
        if self.silent:
            return
        self.content.seek(self.start)
        while self.left > 0 and (piece := self.content.read(min(PIECE, self.left))):
            self.left -= len(piece)
            yield piece

    def close(self) -> None:
        """Close the bytes; called by Django at the end of the answer, also of one that broke off."""
        self.content.close()
