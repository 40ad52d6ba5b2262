"""What pages are dressed with: one style sheet, one script and the mark, put together and compressed once.

An address holds a hash of what is behind it, so that whoever has it keeps it and never asks again.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers

PREFIX = "/assets/"
PARTS = {
    "console.css": ("css/tokens.css", "css/base.css", "css/layout.css", "css/components.css"),
    # It stands before the body, so that a stored theme applies before anything is painted.
    "console.js": ("js/console.js", "js/tree.js", "django_htmx/htmx-2.min.js"),
    "favicon.svg": ("icons/favicon.svg",),
}
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
BETWEEN = {".css": b"\n", ".js": b"\n;\n", ".svg": b""}
FOR_GOOD = "public, max-age=31536000, immutable"
# For a page that is older than what it asks for: what is there now, and not for long.
FOR_NOW = "public, max-age=60"


@dataclass(frozen=True)
class Asset:
    """A file as it goes out, plain and compressed."""

    content: bytes
    compressed: bytes
    type: str
    digest: str


def url(name: str) -> str:
    """The address of an asset. Raises KeyError for a name that is none."""
    stem, dot, suffix = name.rpartition(".")
    return f"{PREFIX}{stem}.{_asset(name).digest}{dot}{suffix}"


def _asset(name: str) -> Asset:
    return _made(name) if settings.DEBUG else _kept(name)


def _made(name: str) -> Asset:
    suffix = name[name.rindex(".") :]
    content = BETWEEN[suffix].join(_read(part) for part in PARTS[name])
    # No time in it: every server that runs the same makes the same.
    compressed = gzip.compress(content, 9, mtime=0)
    return Asset(content, compressed, TYPES[suffix], blake2b(content, digest_size=8).hexdigest())


_kept = lru_cache(_made)


def _read(part: str) -> bytes:
    path = finders.find(part)
    if not isinstance(path, str):
        raise FileNotFoundError(part)
    return Path(path).read_bytes()


class AssetsMiddleware:
    """Answer what lies under `/assets/`; everything else goes on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        if not settings.DEBUG:
            for name in PARTS:
                _kept(name)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        stem, _, rest = path.removeprefix(PREFIX).partition(".")
        digest, _, suffix = rest.rpartition(".")
        name = f"{stem}.{suffix}"
        if not path.startswith(PREFIX) or name not in PARTS or request.method not in ("GET", "HEAD"):
            return self.get_response(request)
        return send(request, _asset(name), digest)


def send(request: HttpRequest, asset: Asset, digest: str) -> HttpResponseBase:
    """An asset, compressed for whoever takes it so; for good only at the address that names it exactly."""
    zipped = "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(asset.compressed if zipped else asset.content, content_type=asset.type)
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    etag = f'"{asset.digest}{"-gzip" if zipped else ""}"'
    response.headers["ETag"] = etag
    response.headers["Content-Length"] = str(len(response.content))
    response.headers["Cache-Control"] = FOR_GOOD if digest == asset.digest else FOR_NOW
    patch_vary_headers(response, ["Accept-Encoding"])
    return get_conditional_response(request, etag=etag, response=response) or response
