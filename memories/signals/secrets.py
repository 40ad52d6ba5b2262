"""Secrets and credentials: keys of common vendors, private keys, tokens, passwords, addresses that hold one."""
# ruff: noqa: RUF001 - signs that look alike are what this is about

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from .base import Rule, Signal, Span, pattern, windows

VENDOR = "It has what looks like a key or a token of a service."
PRIVATE = "It has a private key."
JWT = "It has a signed token (JWT)."
ASSIGNED = "It has a password, key or token with its value."
ADDRESS = "It has an address with a password in it."
HEADER = "It has a header that authorises a request."
RANDOM = "It has a long random string, as keys and tokens are."

# What vendors' keys begin with, and what follows; written so that this file has none itself.
_TAIL = r"(?![A-Za-z0-9_-])"
VENDORS: tuple[tuple[str, str], ...] = (
    ("AKIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("gh", r"[pousr]_[A-Za-z0-9]{36,80}" + _TAIL),
    ("github_pat_", r"[A-Za-z0-9_]{22,120}" + _TAIL),
    ("gl", r"(?:pat|dt|rt|ptt|ft|agent|oas|imt)-[A-Za-z0-9_-]{18,60}" + _TAIL),
    ("xox", r"[abeprs]-[A-Za-z0-9-]{10,120}" + _TAIL),
    ("xapp-", r"[A-Za-z0-9-]{20,160}" + _TAIL),
    ("sk-", r"(?:ant-|proj-|or-|svcacct-|lf-)?[A-Za-z0-9][A-Za-z0-9_-]{18,200}" + _TAIL),
    ("AIza", r"[A-Za-z0-9_-]{35}" + _TAIL),
    ("GOCSPX-", r"[A-Za-z0-9_-]{20,40}" + _TAIL),
    ("ya29.", r"[A-Za-z0-9_.-]{30,250}"),
    ("sk_", r"(?:live|test|prod)_[A-Za-z0-9]{16,120}" + _TAIL),
    ("rk_", r"(?:live|test)_[A-Za-z0-9]{16,120}" + _TAIL),
    ("whsec_", r"[A-Za-z0-9+/=_-]{24,80}" + _TAIL),
    ("SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{20,64}" + _TAIL),
    ("npm_", r"[A-Za-z0-9]{36}" + _TAIL),
    ("pypi-", r"AgE[A-Za-z0-9_-]{40,250}" + _TAIL),
    ("hf_", r"[A-Za-z0-9]{30,40}" + _TAIL),
    ("do", r"[opr]_v1_[a-f0-9]{64}" + _TAIL),
    ("shp", r"(?:at|ca|pa|ss)_[a-fA-F0-9]{32}" + _TAIL),
    ("sq0", r"(?:atp|csp|idp)-[A-Za-z0-9_-]{20,60}" + _TAIL),
    ("EAA", r"[A-Za-z0-9]{60,250}" + _TAIL),
    ("dapi", r"[a-f0-9]{32}" + _TAIL),
    ("lin_api_", r"[A-Za-z0-9]{30,60}" + _TAIL),
    ("ntn_", r"[A-Za-z0-9]{40,60}" + _TAIL),
    ("figd_", r"[A-Za-z0-9_-]{30,60}" + _TAIL),
    ("glsa_", r"[A-Za-z0-9_]{32,60}" + _TAIL),
    ("dckr_pat_", r"[A-Za-z0-9_-]{20,60}" + _TAIL),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{58}" + _TAIL),
    ("hvs.", r"[A-Za-z0-9_-]{24,200}" + _TAIL),
    ("pk_live_", r"[A-Za-z0-9]{16,120}" + _TAIL),
    ("r8_", r"[A-Za-z0-9]{37}" + _TAIL),
    ("gsk_", r"[A-Za-z0-9]{40,60}" + _TAIL),
    ("xai-", r"[A-Za-z0-9]{60,100}" + _TAIL),
    ("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}" + _TAIL),
    ("NRAK-", r"[A-Z0-9]{27}" + _TAIL),
    ("sntrys_", r"[A-Za-z0-9+/=_]{40,250}" + _TAIL),
)
RULES = (
    *(
        Rule(
            "secret.vendor_key",
            0.9,
            VENDOR,
            re.compile(rf"(?<![A-Za-z0-9_-]){re.escape(begin)}{rest}"),
            (begin.lower(),),
        )
        for begin, rest in VENDORS
    ),
    Rule(
        "secret.vendor_key",
        0.9,
        VENDOR,
        re.compile(
            r"https://hooks\.slack\.com/services/[A-Z0-9]{8,12}/[A-Z0-9]{8,14}/[A-Za-z0-9]{16,30}|"
            r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{15,22}/[A-Za-z0-9_-]{40,90}|"
            r"https://[a-z0-9-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{40,250}"
        ),
        ("hooks.slack.com", "/api/webhooks/", "webhook.office.com"),
    ),
    Rule("secret.vendor_key", 0.9, VENDOR, re.compile(r"(?<![\w:])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])"), (":aa",)),
    Rule(
        "secret.vendor_key",
        0.9,
        VENDOR,
        re.compile(r"(?:AccountKey|SharedAccessKey|SharedAccessSignature|[?&]sig)=[A-Za-z0-9+/%]{30,100}={0,2}"),
        ("accountkey=", "sharedaccess", "sig="),
    ),
    Rule(
        "secret.private_key",
        1.0,
        PRIVATE,
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d|Private-Lines: \d"
        ),
        ("private key", "putty-user-key", "private-lines"),
    ),
    Rule(
        "secret.jwt",
        0.8,
        JWT,
        re.compile(r"(?<![\w-])eyJ[A-Za-z0-9_-]{10,600}+\.eyJ[A-Za-z0-9_-]{10,4000}+\.[A-Za-z0-9_-]{16,800}"),
        (".eyj",),
    ),
)
CONNECTION = re.compile(r"(?<![\w+.-])[a-z][a-z0-9+.-]{1,20}://([^\s:/@\"'<>]{0,80}):([^\s/@\"'<>]{1,120})@[\w.\[{$-]")
AUTHORISATION = pattern(
    r"(?:authorization|x-api-key|x-auth-token|api-key|private-token|proxy-authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?:(?:bearer|basic|token|digest|apikey)\s{1,3})?([^\s\"'`,;]{8,300})|(?<!\w)curl\b[^\n]{0,200}? (?:-u|--user)[ "
    r"=][\"']?[^\s:\"']{1,60}:"
    r"([^\s\"']{4,100})",
)
NAMES = (
    r"passwords?|passwd|passphrase|pass ?code|passwort|kennwort|zugangscode|pwd|secret|secret[ _-]?key|api[ "
    r"_-]?keys?|apikey|api[ _-]?token|"
    r"access[ _-]?keys?|access[ _-]?token|auth[ _-]?token|client[ _-]?secret|private[ _-]?token|refresh[ _-]?token|"
    r"bearer[ _-]?token|"
    r"encryption[ _-]?key|signing[ _-]?key|signing[ _-]?secret|webhook[ _-]?secret|license[ _-]?key|recovery[ "
    r"_-]?(?:key|code)|master[ _-]?key|token|"
    r"credentials?|wi-?fi[ _-]?key|wpa2?[ _-]?key|psk|"
    r"mot de passe|mdp|contraseña|contrasena|clave(?: de acceso| secreta)?|senha|wachtwoord|hasło|haslo|пароль|şifre|"
    r"şifresi|parola|lösenord|"
    r"løsenord|adgangskode|passord|heslo|salasana|jelszó|密码|密碼|口令|パスワード|暗証番号|비밀번호|"
    r"كلمة المرور|كلمة السر|पासवर्ड|"
    r"סיסמה|κωδικός"
)
ASSIGNMENT = pattern(
    rf"({NAMES})(?:_[A-Za-z0-9]{{1,20}}|\[\d\])?[\"'\])*]{{0,3}}(?:[ \t](?:for|of|für|pour|para|per|de|do|da|для|от|"
    rf"on|to|zum|im|du|del)\b[^:=\n]{{1,40}}?)?"
    r"[ \t]{0,4}(=>|:=|==?|[:：]|→|\bis(?: now| still|:)?\b|\bwas\b|\blautet\b|\bist\b|\best\b|\bes\b|\bé\b|\bè\b|"
    r"\bär\b|\bto\b|は|是|为|為|는|—|–|-(?=[ ]))"
    r"[ \t]{0,4}(\"[^\"\n]{4,200}\"|'[^'\n]{4,200}'|`[^`\n]{4,200}`|„[^“”\n]{4,200}[“”]|«[^»\n]{4,200}»|"
    r"[^\s,;，。]{4,200})",
)
ASSIGNED_HINTS = (
    "pass",
    "pwd",
    "secret",
    "key",
    "token",
    "credential",
    "kennwort",
    "zugangscode",
    "mdp",
    "contrase",
    "clave",
    "senha",
    "wachtwoord",
    "has",
    "парол",
    "şifre",
    "parola",
    "senord",
    "adgangskode",
    "heslo",
    "salasana",
    "jelsz",
    "密",
    "口令",
    "パスワード",
    "暗証",
    "비밀번호",
    "كلمة",
    "पासवर्ड",
    "סיסמה",
    "κωδικός",
    "psk",
    "code",
)
STAND_INS = re.compile(
    r"^(?:[<\[{(%$*•…#]|your|my[-_ ]|the |x{3}|\.{3}|-{3}|_{3}|changeme|change[-_]me|redacted|replace|insert|todo|"
    r"tbd|env[.:\[(]|os\.|process\.|"
    r"settings\.|config[.\[(]|self\.|this\.|request\.|vault:|secrets?[./:\[(]|arn:|ref:|op://|sops|enc\[|!|@|file:|"
    r"ssm:|null|none|nil|true|false|"
    r"undefined|str\b|string|int\b|bool|optional|secretstr|bytes|any\b|empty|missing|invalid|required|unknown|"
    r"expired|hidden|"
    r"https?://[^:@\s]{1,200}$|\d{1,4}(?:px|ms|s|m|h|d|%|kb|mb)?$)|"
    r"getenv|environ|redacted|placeholder|example|masked|\$\{|\{\{|secretsmanager|keychain|keyring|1password|"
    r"bitwarden|lastpass|keepass",
    re.IGNORECASE,
)
SAMPLES = frozenset(("password", "pass", "pwd", "secret", "port"))
CALL = re.compile(r"^[A-Za-z_][\w.]{1,60}[(\[]")
WORDY = re.compile(r"^[^\W\d_]{1,40}(?:[-'’/][^\W\d_]{1,40}){0,6}[.!?:)\"']{0,3}$")
LONG = re.compile(r"(?<![A-Za-z0-9_/+.=%\\-])[A-Za-z0-9_+/=-]{24,400}+(?![A-Za-z0-9_/+.=@%-])")
HEXADECIMAL = re.compile(r"^[0-9a-fA-F-]{1,400}$")
PREFIXED = re.compile(r"^(?:[a-z]{2,10}_)?[0-9a-f]{24,64}$")
# What a random string is when one of these stands before it, and when one of those does.
SECRETIVE = re.compile(
    r"(?:key|token|secret|credential|auth|bearer|passw|schlüssel|clé|clave|chave|ключ|токен|密钥|钥|キー)[^\n]{0,40}$",
    re.IGNORECASE,
)
HARMLESS = re.compile(
    r"(?:sha-?\d{1,3}[-:= ]|integrity[^\n]{0,12}|etag[^\n]{0,6}|checksum[^\n]{0,12}|digest[^\n]{0,8}|"
    r"fingerprint[^\n]{0,20}|ssh-(?:rsa|ed25519|dss) |"
    r"ecdsa-sha2-\w{1,20} |base64,|public key[^\n]{0,20}|commit[^\n]{0,8}|/|cursor[^\n]{0,4}|nonce[^\n]{0,4}|"
    r"hash[^\n]{0,10}|certificate[^\n]{0,12}|"
    r"pubkey[^\n]{0,4}|public[_-]key[^\n]{0,6}|signature[^\n]{0,6}|video[^\n]{0,8}|doc(?:ument)?[ _-]?id[^\n]{0,4}|"
    r"uuid[^\n]{0,4})$",
    re.IGNORECASE,
)


def look(text: str, lowered: str) -> Iterator[Signal]:
    """Secrets of a text, of which the lower-case form is given, too."""
    for rule in RULES:
        for match in rule.pattern.finditer(text) if any(hint in lowered for hint in rule.hints) else ():
            if varied(match[0]) or rule.name == "secret.private_key":
                yield Signal(rule.name, rule.weight, rule.reason, (Span(match.start(), match.end()),))
    yield from _sent(text, lowered)
    for start, end in windows(lowered, ASSIGNED_HINTS, before=32, after=460):
        yield from _assigned(text, lowered, start, end)
    yield from _random(text)


def _sent(text: str, lowered: str) -> Iterator[Signal]:
    if "://" in text:
        for match in CONNECTION.finditer(text):
            shown = STAND_INS.search(match[1]) if match[1] else None
            if not shown and not stands_in(match[2]) and match[2].lower() not in SAMPLES:
                yield Signal("secret.address", 0.9, ADDRESS, (Span(match.start(), match.end()),))
    for start, end in windows(lowered, ("auth", "api-key", "-token", "curl"), before=32, after=700):
        for match in AUTHORISATION.finditer(lowered, start, end):
            group = 1 if match[1] else 2
            value = text[match.start(group) : match.end(group)]
            if not stands_in(value) and _password_like(value, quoted=False, prose=match[2] is None):
                yield Signal("secret.header", 0.8, HEADER, (Span(match.start(), match.end()),))


def _assigned(text: str, lowered: str, start: int, end: int) -> Iterator[Signal]:
    for match in ASSIGNMENT.finditer(lowered, start, end):
        value = text[match.start(3) : match.end(3)]
        quoted = value[0] in "\"'`„«"
        value = value[1:-1] if quoted else value.rstrip(".)!?\"'”’]}")
        if len(value) < 4 or stands_in(value) or CALL.match(value):
            continue
        prose = match[2] not in ("=", ":=", "=>", "==")
        if _password_like(value, quoted, prose):
            yield Signal("secret.assigned", 0.8, ASSIGNED, (Span(match.start(), match.end()),))


def stands_in(value: str) -> bool:
    """Whether a value only shows where a secret would stand, or where it is looked up."""
    return STAND_INS.search(value) is not None or len(set(value)) < 3


def _password_like(value: str, quoted: bool, prose: bool) -> bool:
    if WORDY.match(value):
        # A word alone is a password only where a program or a file assigns it, or in quotes and long.
        return (not prose and not quoted and len(value) >= 8 and "/" not in value and "-" in value) or (
            quoted and len(value) >= 8 and " " not in value
        )
    if quoted and " " in value:
        words = value.split()
        return (
            len(words) < 7
            and any(one.isdigit() or not one.isalnum() for one in value.replace(" ", ""))
            and len(words) < 3
        )
    has_digit = any(one.isdigit() for one in value)
    has_letter = any(one.isalpha() for one in value)
    has_mark = any(not one.isalnum() for one in value)
    if not has_letter:
        return has_digit and len(value) >= 6 and not prose and not re.fullmatch(r"[\d.,:/-]+", value)
    if value.count("/") > 1 or (prose and re.match(r"[a-z_]{3,30}=", value)):
        return False
    if (
        "://" in value
        or value.startswith(("/", "./", "~/"))
        or value.endswith((".md", ".txt", ".py", ".json", ".yaml", ".yml"))
    ):
        return False
    return ((has_digit or (has_mark and not re.fullmatch(r"[\w.'’/-]{1,200}", value))) and len(value) >= 5) or (
        not prose and has_mark and len(value) >= 8
    )


def varied(value: str) -> bool:
    """Whether a key is more than one sign again and again, as stand-ins are."""
    return len(set(value[-16:])) > 5


def _random(text: str) -> Iterator[Signal]:
    for match in LONG.finditer(text):
        token = match[0]
        if HEXADECIMAL.match(token) or PREFIXED.match(token) or not looks_random(token):
            continue
        before = text[max(0, match.start() - 60) : match.start()].rpartition("\n")[2]
        if HARMLESS.search(before):
            continue
        weight = 0.7 if SECRETIVE.search(before) else 0.4
        yield Signal("secret.random", weight, RANDOM, (Span(match.start(), match.end()),))


def looks_random(token: str) -> bool:
    """Whether letters of both cases and digits are mixed as no name mixes them."""
    kinds = [0 if one.islower() else 1 if one.isupper() else 2 if one.isdigit() else 3 for one in token]
    if not {0, 1, 2} <= set(kinds):
        return False
    turns = sum(before != after for before, after in pairwise(kinds))
    return turns / len(token) >= 0.4 and entropy(token) >= 3.8


def entropy(token: str) -> float:
    """Bits per sign."""
    counts = Counter(token)
    return -sum(count / len(token) * math.log2(count / len(token)) for count in counts.values())
