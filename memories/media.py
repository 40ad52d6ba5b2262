"""What kind of file some bytes are, told from the bytes alone: neither a name nor a client is ever believed. Pure."""

from __future__ import annotations

import codecs
import re
from fnmatch import fnmatchcase

import puremagic

TEXT = "text/plain"
UNKNOWN = "application/octet-stream"
# How much of the beginning is looked at, in bytes.
HEAD = 64 * 1024

# Formats whose files may consist of text alone.
TEXTUAL = {b"%PDF-": "application/pdf", b"{\\rtf": "application/rtf", b"%!PS": "application/postscript"}
SAME = {
    "application/x-gzip": "application/gzip",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "image/x-ms-bmp": "image/bmp",
}
# A document for an office is an archive with a folder of this name.
OFFICE = {
    b"word/": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    b"xl/": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    b"ppt/": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
SELF_NAMED = re.compile(rb"mimetype(application/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]{1,40}))(?=PK)")
# Below this the library only guesses.
LEAST_CONFIDENCE = 0.3
MEDIA_TYPE = re.compile(r"(application|audio|font|image|video)/[a-z0-9][a-z0-9.+-]{0,100}")
# What a browser would run is called text, or nothing in particular.
ACTIVE = re.compile(r".*(\+xml|/xml|/xhtml|script|/html)$")


class Sniffer:
    """Takes the bytes of a file as they come, in pieces of any size, and tells its media type at the end."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_text = True

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        if len(self._head) < HEAD:
            self._head += piece[: HEAD - len(self._head)]
        if self._is_text:
            self._decode(piece)

    def media_type(self) -> str:
        """`text/plain` for anything that is UTF-8 throughout, else what the format's signature says."""
        self._decode(b"", final=True)
        head = bytes(self._head)
        if self._is_text:
            return next((kind for signature, kind in TEXTUAL.items() if head.startswith(signature)), TEXT)
        return archive(head) if head.startswith(b"PK\x03\x04") else signed(head)

    def _decode(self, piece: bytes, *, final: bool = False) -> None:
        try:
            self._is_text = self._is_text and "\0" not in self._decoder.decode(piece, final)
        except UnicodeDecodeError:
            self._is_text = False


def signed(head: bytes) -> str:
    """The media type of bytes that are not text, by their signature."""
    try:
        found = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return UNKNOWN
    for match in found:
        kind = str(SAME.get(match.mime_type, match.mime_type))
        if match.confidence >= LEAST_CONFIDENCE and MEDIA_TYPE.fullmatch(kind) and not ACTIVE.fullmatch(kind):
            return kind
    return UNKNOWN


def archive(head: bytes) -> str:
    """The media type of a zip archive: an office's document, a book, or just an archive."""
    if named := SELF_NAMED.match(head, 30):
        return str(named[1], "ascii")
    if b"[Content_Types].xml" in head:
        return next((kind for folder, kind in OFFICE.items() if folder in head), "application/zip")
    return "application/zip"


def matches(media_type: str, patterns: list[str] | tuple[str, ...]) -> bool:
    """Whether a media type is among the globs of a capability document, such as `image/*`."""
    return any(fnmatchcase(media_type, pattern) for pattern in patterns)
