"""Words that are encoded, so that a person does not read them and a model can: base64, hexadecimal, percent signs."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import unquote_to_bytes

from .base import Span

REASON = "It has words in an encoding that a person does not read."
BASE64 = re.compile(r"(?<![A-Za-z0-9+/_=.-])[A-Za-z0-9+/_-]{20,20000}+={0,2}(?![A-Za-z0-9+/_.])")
BASE32 = re.compile(r"(?<![A-Z0-9=])[A-Z2-7]{24,8000}+={0,6}(?![A-Za-z0-9=])")
HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?[0-9a-fA-F]{24,20000}+(?![0-9A-Za-z])")
SPACED_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{2}(?:[ :,-][0-9a-fA-F]{2}){9,8000}+(?![0-9A-Za-z])")
ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|\\[0-3][0-7]{2}){6,8000}+")
PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){8,8000}+")
ENTITIES = re.compile(r"(?:&#(?:x[0-9a-fA-F]{2,5}|\d{2,6});){6,4000}+")
BINARY = re.compile(r"(?<![01])[01]{8}(?: ?[01]{8}){5,4000}+(?![01])")
DECIMAL = re.compile(r"(?<![\d.])1?\d{2}(?:[ ,] ?1?\d{2}){11,4000}+(?![\d.])")


@dataclass(frozen=True)
class Decoded:
    """What an encoded passage says, and where it stands."""

    name: str
    span: Span
    text: str


def look(text: str) -> Iterator[Decoded]:
    """Passages that decode to words."""
    for name, pattern, hint, decode in CODES:
        if hint in text:
            for match in pattern.finditer(text):
                said = decode(match[0])
                if said is not None and worded(said):
                    yield Decoded(f"encoded.{name}", Span(match.start(), match.end()), said)


def worded(said: str) -> bool:
    """Whether something decoded is made of words: printable, mostly letters, and not a jumble of cases."""
    if len(said) < 6 or not all(sign.isprintable() or sign in "\n\r\t" for sign in said):
        return False
    letters = sum(sign.isalpha() for sign in said)
    fitting = letters + sum(sign in " .,:;!?'\"-_/@{}()[]\n<>=" for sign in said)
    turns = sum(before.islower() and after.isupper() for before, after in pairwise(said))
    return fitting >= 0.85 * len(said) and letters >= 0.5 * len(said) and turns <= 0.1 * len(said)


def _base64(written: str) -> str | None:
    if (written.isalpha() and (written.islower() or written.isupper())) or written.count("/") > 4 + len(written) // 16:
        return None
    padded = written.rstrip("=").translate(str.maketrans("-_", "+/"))
    return _bytes(lambda: base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True))


def _base32(written: str) -> str | None:
    bare = written.rstrip("=")
    return _bytes(lambda: base64.b32decode(bare + "=" * (-len(bare) % 8)))


def _hex(written: str) -> str | None:
    digits = re.sub(r"[^0-9a-fA-F]", "", written.removeprefix("0x"))
    return _bytes(lambda: bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _escapes(written: str) -> str | None:
    return _bytes(lambda: written.encode().decode("unicode_escape").encode("latin-1"))


def _percent(written: str) -> str | None:
    said = _bytes(lambda: unquote_to_bytes(written))
    # Letters of other scripts have to be written like this in an address; those of English do not.
    return (
        said
        if said is not None and sum(sign.isascii() and sign.isalnum() for sign in said) >= 0.6 * len(said)
        else None
    )


def _entities(written: str) -> str | None:
    said = html.unescape(written)
    return said if sum(sign.isascii() for sign in said) >= 0.6 * len(said) else None


def _binary(written: str) -> str | None:
    digits = written.replace(" ", "")
    return _bytes(lambda: bytes(int(digits[at : at + 8], 2) for at in range(0, len(digits), 8)))


def _decimal(written: str) -> str | None:
    return _bytes(lambda: bytes(int(one) for one in re.findall(r"\d+", written)))


def _bytes(decode: Callable[[], bytes]) -> str | None:
    try:
        return decode().decode("utf-8")
    except (ValueError, binascii.Error):
        return None


CODES: tuple[tuple[str, re.Pattern[str], str, Callable[[str], str | None]], ...] = (
    ("base64", BASE64, "", _base64),
    ("base32", BASE32, "", _base32),
    ("hex", HEX, "", _hex),
    ("hex", SPACED_HEX, "", _hex),
    ("escapes", ESCAPES, "\\", _escapes),
    ("percent", PERCENT, "%", _percent),
    ("entities", ENTITIES, "&#", _entities),
    ("binary", BINARY, "0", _binary),
    ("decimal", DECIMAL, "", _decimal),
)
