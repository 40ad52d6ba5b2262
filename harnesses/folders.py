"""A skill is a folder: its files by path, byte for byte, none of them outside it. Pure (Harnesses §3.5)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Any

from uhp_site.http.errors import FileTooLarge
from uhp_site.http.fields import MISSING

from .errors import HarnessInvalid

ENTRY = "SKILL.md"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9_-])?")
DRIVE = re.compile(r"[A-Za-z]:")
LONGEST_PATH = 255
MOST_FILES = 500
MOST_SKILLS = 100
# All skills of one harness together, in bytes.
MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class SkillFile:
    """One file; `text` says that it was sent as text and is given back as text."""

    path: str
    content: bytes
    text: bool

    def shown(self) -> dict[str, str]:
        """As it was sent."""
        if self.text:
            return {"path": self.path, "content": self.content.decode()}
        return {"path": self.path, "content_b64": base64.b64encode(self.content).decode()}


@dataclass(frozen=True)
class SkillDraft:
    """A skill as written: with its files, or naming by `blob` those it has already."""

    name: str
    enabled: bool
    files: tuple[SkillFile, ...] = ()
    blob: str = ""


def blob_of(files: tuple[SkillFile, ...]) -> str:
    """The handle of a folder: the same for the same files, whatever their order."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda one: one.path):
        for piece in (file.path.encode(), b"t" if file.text else b"b", file.content):
            digest.update(len(piece).to_bytes(8, "big") + piece)
    return f"blob_{digest.hexdigest()[:40]}"


def read_skills(value: Any, at: str = "skills") -> tuple[SkillDraft, ...]:
    """The skills of a harness. Raises HarnessInvalid, naming the place, and FileTooLarge."""
    if not isinstance(value, list) or len(value) > MOST_SKILLS:
        raise HarnessInvalid(f"This must be a list of at most {MOST_SKILLS} skills.", param=at)
    drafts = tuple(_skill(one, f"{at}.{index}") for index, one in enumerate(value))
    names = [draft.name for draft in drafts]
    if len(set(names)) < len(names):
        raise HarnessInvalid("Two skills of one harness have different names.", param=at)
    return drafts


def require_room(total: int) -> None:
    """Raise FileTooLarge when the skills of a harness are larger altogether than is kept."""
    if total > MOST_BYTES:
        message = f"The skills of one harness have at most {MOST_BYTES} bytes altogether."
        raise FileTooLarge(message, param="skills", detail={"max_bytes": MOST_BYTES})


def _skill(value: Any, at: str) -> SkillDraft:
    if not isinstance(value, dict):
        raise HarnessInvalid("A skill is an object.", param=at)
    name, enabled = value.get("name"), value.get("enabled")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise HarnessInvalid(
            "A skill's name has 1 to 64 letters, digits, spaces, dots, dashes and underscores.", param=f"{at}.name"
        )
    enabled = True if enabled is None else enabled
    if not isinstance(enabled, bool):
        raise HarnessInvalid("This must be true or false.", param=f"{at}.enabled")
    if value.get("files") is not None:
        return SkillDraft(name, enabled, _files(value["files"], f"{at}.files"))
    if value.get("content") is not None:
        return SkillDraft(name, enabled, (SkillFile(ENTRY, _text(value["content"], f"{at}.content"), True),))
    blob = value.get("blob")
    if isinstance(blob, str) and blob:
        return SkillDraft(name, enabled, blob=blob)
    if enabled:
        raise HarnessInvalid("A skill is sent with files, content or blob.", param=at)
    return SkillDraft(name, enabled)


def _files(value: Any, at: str) -> tuple[SkillFile, ...]:
    if not isinstance(value, list) or len(value) > MOST_FILES:
        raise HarnessInvalid(f"This must be a list of at most {MOST_FILES} files.", param=at)
    files = tuple(_file(one, f"{at}.{index}") for index, one in enumerate(value))
    paths = {file.path for file in files}
    if len(paths) < len(files):
        raise HarnessInvalid("Two files of one skill have different paths.", param=at)
    folders = {path.rsplit("/", depth)[0] for path in paths for depth in range(1, path.count("/") + 1)}
    if folders & paths:
        raise HarnessInvalid("A path is a file or a folder, not both.", param=at)
    if ENTRY not in paths:
        raise HarnessInvalid(f"A skill has a file {ENTRY}.", param=at)
    return files


def _file(value: Any, at: str) -> SkillFile:
    if not isinstance(value, dict):
        raise HarnessInvalid("A file is an object.", param=at)
    path = _path(value.get("path"), f"{at}.path")
    text, encoded = value.get("content", MISSING), value.get("content_b64", MISSING)
    if (text is MISSING) == (encoded is MISSING):
        raise HarnessInvalid("A file has either content or content_b64.", param=at)
    if encoded is MISSING:
        return SkillFile(path, _text(text, f"{at}.content"), True)
    return SkillFile(path, _decoded(encoded, f"{at}.content_b64"), False)


def _path(value: Any, at: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_PATH:
        raise HarnessInvalid(f"A path has 1 to {LONGEST_PATH} characters.", param=at)
    if not value.isprintable() or "\\" in value or DRIVE.match(value):
        raise HarnessInvalid("A path is written with slashes and printable characters.", param=at)
    if any(step in {"", ".", ".."} for step in value.split("/")):
        raise HarnessInvalid("A path leads to a file inside its folder.", param=at)
    return value


def _text(value: Any, at: str) -> bytes:
    if not isinstance(value, str):
        raise HarnessInvalid("This must be a string.", param=at)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise HarnessInvalid("Text holds half of a surrogate pair.", param=at) from None


def _decoded(value: Any, at: str) -> bytes:
    try:
        content = base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        content = None
    # What was sent is given back to the character, so that only one spelling of the bytes is taken.
    if content is None or base64.b64encode(content).decode() != value:
        raise HarnessInvalid("This must be base64 with its padding, on one line.", param=at)
    return content
