"""The examples of signals with their blanks filled in: values of the right shape, invented from a seed, kept nowhere.

Every vendor's key is put together from pieces here, so that no file of the project holds anything that looks like one.
"""

from __future__ import annotations

import base64
import re
import string
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from memories.signals.personal import IBAN_LENGTHS

FOLDER = Path(__file__).parent.parent / "tests" / "memories" / "signals" / "corpus"
KINDS: dict[str, tuple[str, ...]] = {
    "instruction": ("instruction",),
    "secret": ("secret",),
    "personal": ("personal",),
    "hidden": ("hidden", "encoded"),
}
BLANK = re.compile(r"\{([a-z_]+\d{0,2}[a-z]{0,3})(?:\|([^{}]+))?\}")
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
B64 = ALNUM + "+/"
FIRST = ["mira", "jonas", "tomek", "lena", "priya", "kenji", "rosa", "nils", "amara", "yusuf", "ingrid", "paolo"]
LAST = ["sommer", "okafor", "ferri", "lindqvist", "novak", "prado", "haddad", "meer", "ito", "roux", "larsen", "duarte"]
HOSTS = ["postkorb-nordwind.de", "lanternmail-ng.com", "brev-havet.se", "carta-serra.com.br", "courrier-azur.fr"]


@dataclass(frozen=True)
class Example:
    """One text, and whether it shows what its kind is about."""

    kind: str
    text: str
    true: bool


def examples(kind: str, seed: int = 1) -> list[Example]:
    """The examples of one kind with their blanks filled in; the same seed, the same values."""
    written = tomllib.loads((FOLDER / f"{kind}.toml").read_text())
    random = Random(f"{kind} {seed}")
    return [
        Example(kind, filled(text, random), truth) for truth in (True, False) for text in written[str(truth).lower()]
    ]


def filled(text: str, random: Random) -> str:
    """The text with values where it has blanks; a name in braces that is none stays."""

    def fill(blank: re.Match[str]) -> str:
        name, words = blank[1], blank[2]
        if words is not None:
            return ENCODERS[name](words)
        if name in MADE:
            return MADE[name](random)
        sized = re.fullmatch(r"(hex|random)(\d+)", name)
        if sized is None:
            return blank[0]
        return HEXES(random, int(sized[2])) if sized[1] == "hex" else some(random, ALNUM, int(sized[2]))

    return BLANK.sub(fill, text)


def some(random: Random, signs: str, size: int) -> str:
    """Random signs; of letters and digits, some of each kind."""
    while True:
        made = "".join(random.choices(signs, k=size))
        if signs is not ALNUM or {0, 1, 2} <= {0 if one.islower() else 1 if one.isupper() else 2 for one in made}:
            return made


def HEXES(random: Random, size: int) -> str:
    """Hexadecimal digits."""
    return some(random, HEX, size)


def password(random: Random) -> str:
    """What people make up, and what managers do."""
    words = random.choice(["Sommer", "Kirsche", "lantern", "Herbst", "otter"]) + str(random.randrange(10, 9999))
    leet = (
        random.choice(["tr4in", "c0ffee", "m0nday", "pa55age"]) + random.choice("-_.") + str(random.randrange(10, 99))
    )
    made = some(random, ALNUM, random.randrange(9, 18))
    mixed = some(random, ALNUM, 6) + random.choice("!%&*") + some(random, ALNUM, 4)
    return random.choice([words + random.choice("!?#$"), leet, made, mixed])


def luhn(start: str, size: int, random: Random) -> str:
    """A number of this many digits with a right check digit."""
    body = start + some(random, string.digits, size - 1 - len(start))
    total = sum(sum(divmod(int(sign) * (2 - at % 2), 10)) for at, sign in enumerate(reversed(body)))
    return body + str(-total % 10)


def in_groups(number: str, sign: str = " ", sizes: tuple[int, ...] = (4, 4, 4, 4)) -> str:
    """The number in groups."""
    parts, at = [], 0
    for size in sizes:
        parts.append(number[at : at + size])
        at += size
    return sign.join(parts)


def wrong(number: str) -> str:
    """The number with another check digit."""
    return number[:-1] + str((int(number[-1]) + 3) % 10)


def card(random: Random) -> str:
    """A card of sixteen digits."""
    return luhn(random.choice(["4", "51", "53", "55", "2230"]), 16, random)


def iban(random: Random, country: str = "") -> str:
    """An account with right check digits."""
    country = country or random.choice(["DE", "FR", "ES", "IT", "NL", "PL", "AT", "BE", "GB"])
    letters = 4 if country in ("NL", "GB", "IE") else 0
    body = some(random, string.ascii_uppercase, letters) + some(
        random, string.digits, IBAN_LENGTHS[country] - 4 - letters
    )
    rest = int("".join(str(int(sign, 36)) for sign in body + country + "00")) % 97
    return f"{country}{98 - rest:02d}{body}"


def by_four(number: str) -> str:
    """In groups of four."""
    return " ".join(number[at : at + 4] for at in range(0, len(number), 4))


def uuid(random: Random) -> str:
    """A random UUID."""
    return "-".join(HEXES(random, size) for size in (8, 4, 4, 4, 12))


def jwt(random: Random) -> str:
    """Header, payload and signature."""
    parts = [b'{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{HEXES(random, 10)}","iat":17}}'.encode()]
    encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, some(random, ALNUM, 43)])


def order(random: Random) -> str:
    """Sixteen digits that are no card's."""
    return wrong(luhn("4", 16, random))


Maker = Callable[[Random], str]


def digits(random: Random, size: int) -> str:
    """Random digits."""
    return some(random, string.digits, size)


def slack(random: Random) -> str:
    """A token of a bot."""
    return "xo" + "xb-" + "-".join([digits(random, 11), digits(random, 12), some(random, ALNUM, 24)])


def slack_app(random: Random) -> str:
    """A token of an app."""
    return "xa" + "pp-1-A0" + "-".join([some(random, UPPER, 9), digits(random, 13), HEXES(random, 64)])


def slack_hook(random: Random) -> str:
    """An address that messages are sent to."""
    rooms = "/B".join([some(random, UPPER, 9), some(random, UPPER, 9)])
    return "https://hooks." + "slack.com/serv" + "ices/T" + rooms + "/" + some(random, ALNUM, 24)


def discord_hook(random: Random) -> str:
    """An address that messages are sent to."""
    return "https://discord" + ".com/api/web" + "hooks/" + digits(random, 18) + "/" + some(random, ALNUM, 68)


def email(random: Random) -> str:
    """Somebody's address."""
    return random.choice(FIRST) + random.choice("._") + random.choice(LAST) + "@" + random.choice(HOSTS)


def phone_intl(random: Random) -> str:
    """A number with its country."""
    return (
        f"+{random.choice([49, 33, 44, 39, 34, 31, 46])} {random.randrange(100, 999)} {random.randrange(10**6, 10**7)}"
    )


def phone_jp(random: Random) -> str:
    """A number of a mobile."""
    return f"0{random.choice([80, 90])}-{random.randrange(1000, 9999)}-{random.randrange(1000, 9999)}"


def shaped(*pieces: str, signs: str = ALNUM, size: int = 20) -> Maker:
    """Makes a key of a vendor: the pieces of its beginning, then random signs."""
    return lambda random: "".join(pieces) + some(random, signs, size)


MADE: dict[str, Maker] = {
    "password": password,
    "eq": lambda random: random.choice(["=", ":"]),
    "aws": shaped("AK", "IA", signs=UPPER, size=16),
    "aws_temporary": shaped("AS", "IA", signs=UPPER, size=16),
    "github": lambda random: "gh" + random.choice("pousr") + "_" + some(random, ALNUM, 36),
    "github_fine": lambda random: "github" + "_pat_" + some(random, ALNUM, 22) + "_" + some(random, ALNUM, 59),
    "gitlab": shaped("gl", "pat-"),
    "slack": slack,
    "slack_app": slack_app,
    "slack_hook": slack_hook,
    "discord_hook": discord_hook,
    "openai": shaped("s", "k-", size=48),
    "openai_project": shaped("s", "k-pr", "oj-", size=64),
    "anthropic": shaped("s", "k-an", "t-api03-", size=80),
    "google": shaped("AI", "za", size=35),
    "google_client": shaped("GOC", "SPX-", size=28),
    "google_oauth": shaped("ya", "29.", size=60),
    "stripe": shaped("sk", "_li", "ve_", size=24),
    "stripe_restricted": shaped("rk", "_li", "ve_", size=24),
    "stripe_public": shaped("pk", "_li", "ve_", size=24),
    "stripe_hook": shaped("wh", "sec_", size=32),
    "sendgrid": lambda random: "S" + "G." + some(random, ALNUM, 22) + "." + some(random, ALNUM, 43),
    "npm": shaped("np", "m_", size=36),
    "pypi": shaped("py", "pi-", "AgE", size=120),
    "huggingface": shaped("h", "f_", size=34),
    "digitalocean": shaped("do", "p_v", "1_", signs=HEX, size=64),
    "shopify": shaped("shp", "at_", signs=HEX, size=32),
    "square": shaped("sq0", "atp-", size=22),
    "telegram": lambda random: "7" + some(random, string.digits, 9) + ":A" + "A" + some(random, ALNUM, 33),
    "databricks": shaped("da", "pi", signs=HEX, size=32),
    "linear": shaped("lin_", "api_", size=40),
    "grafana": shaped("gl", "sa_", size=40),
    "docker": shaped("dckr_", "pat_", size=27),
    "vault": shaped("hv", "s.", size=24),
    "notion": shaped("nt", "n_", size=46),
    "figma": shaped("fi", "gd_", size=40),
    "newrelic": shaped("NR", "AK-", signs=UPPER, size=27),
    "postman": lambda random: "PM" + "AK-" + HEXES(random, 24) + "-" + HEXES(random, 34),
    "replicate": shaped("r", "8_", size=37),
    "groq": shaped("gs", "k_", size=52),
    "xai": shaped("x", "ai-", size=80),
    "sentry": shaped("snt", "rys_", size=64),
    "facebook": shaped("EA", "A", size=120),
    "azure": lambda random: some(random, ALNUM, 86) + "==",
    "azure44": lambda random: some(random, ALNUM, 43) + "=",
    "azure_sig": lambda random: some(random, ALNUM, 43) + "%3D",
    "age": lambda random: "AGE-SEC" + "RET-KEY-1" + some(random, UPPER, 58),
    "pem": lambda random: "\n".join(some(random, ALNUM, 64) for _ in range(3)),
    "jwt": jwt,
    "basic": lambda random: base64.b64encode(f"mira:{password(random)}".encode()).decode(),
    "base32": shaped(signs=string.ascii_uppercase + "234567", size=32),
    "license": lambda random: "-".join(some(random, UPPER, 5) for _ in range(5)),
    "uuid": uuid,
    "order": lambda random: f"{random.choice('ABC')}-{some(random, string.digits, 8)}",
    "order16": order,
    "base64bytes": lambda random: base64.b64encode(random.randbytes(48)).decode(),
    "hexbytes": lambda random: random.randbytes(40).hex(),
    "gap": lambda random: " " * 400,
    "lines": lambda random: "\n" * 60,
    "card": card,
    "card_spaced": lambda random: in_groups(card(random)),
    "card_dashed": lambda random: in_groups(card(random), "-"),
    "visa": lambda random: luhn("4", 16, random),
    "visa_spaced": lambda random: in_groups(luhn("4", 16, random)),
    "mastercard": lambda random: luhn("54", 16, random),
    "mastercard_spaced": lambda random: in_groups(luhn("52", 16, random)),
    "amex": lambda random: luhn("37", 15, random),
    "amex_spaced": lambda random: in_groups(luhn("34", 15, random), sizes=(4, 6, 5)),
    "discover": lambda random: luhn("6011", 16, random),
    "jcb": lambda random: luhn("3540", 16, random),
    "diners": lambda random: luhn("36", 14, random),
    "unionpay": lambda random: luhn("62", 16, random),
    "card_wrong": lambda random: wrong(card(random)),
    "card_wrong_spaced": lambda random: in_groups(wrong(card(random))),
    "iban": iban,
    "iban_spaced": lambda random: by_four(iban(random)),
    "iban_wrong": lambda random: wrong(iban(random, "DE")),
    "iban_wrong_spaced": lambda random: by_four(wrong(iban(random, "DE"))),
    "email": email,
    "phone_us": lambda random: f"({random.randrange(212, 989)}) 555-01{random.randrange(10, 99)}",
    "phone_intl": phone_intl,
    "phone_de": lambda random: f"0{random.randrange(151, 179)} {random.randrange(1000000, 9999999)}",
    "phone_fr": lambda random: "06 " + " ".join(f"{random.randrange(10, 99)}" for _ in range(4)),
    "phone_uk": lambda random: f"07700 900{random.randrange(100, 999)}",
    "phone_jp": phone_jp,
}
for _country in (
    "de",
    "fr",
    "es",
    "it",
    "nl",
    "gb",
    "pl",
    "tr",
    "at",
    "ch",
    "pt",
    "se",
    "fi",
    "cz",
    "be",
    "ie",
    "dk",
    "no",
):
    MADE[f"iban_{_country}"] = lambda random, code=_country: iban(random, code.upper())  # type: ignore[misc]
    MADE[f"iban_{_country}_spaced"] = lambda random, code=_country: by_four(iban(random, code.upper()))  # type: ignore[misc]

ENCODERS: dict[str, Callable[[str], str]] = {
    "base64": lambda words: base64.b64encode(words.encode()).decode(),
    "base64url": lambda words: base64.urlsafe_b64encode(words.encode()).decode().rstrip("="),
    "base32": lambda words: base64.b32encode(words.encode()).decode(),
    "hex": lambda words: words.encode().hex(),
    "hexspaced": lambda words: words.encode().hex(" "),
    "hexcolon": lambda words: words.encode().hex(":"),
    "escapes": lambda words: "".join(f"\\x{one:02x}" for one in words.encode()),
    "unicode": lambda words: "".join(f"\\u{ord(one):04x}" for one in words),
    "percent": lambda words: "".join(f"%{one:02X}" for one in words.encode()),
    "entities": lambda words: "".join(f"&#{ord(one)};" for one in words),
    "entitieshex": lambda words: "".join(f"&#x{ord(one):x};" for one in words),
    "binary": lambda words: " ".join(f"{one:08b}" for one in words.encode()),
    "decimal": lambda words: " ".join(str(one) for one in words.encode()),
}
