"""Personal data: addresses of e-mail, telephone numbers, numbers of cards and of bank accounts."""
# ruff: noqa: RUF001 - signs that look alike are what this is about

from __future__ import annotations

import re
from collections.abc import Iterator

from .base import Signal, Span

EMAIL = "It has an e-mail address of a person."
PHONE = "It has a telephone number."
CARD = "It has the number of a payment card."
IBAN = "It has the number of a bank account."

MAIL = re.compile(
    r"(?<![\w.+@/-])([\w.+'-]{1,64})@((?:[^\W_](?:[\w-]{0,62}[^\W_])?\.){1,4}[^\W\d_]{2,24})(?![\w@]|[.-]\w)"
)
NOBODY = re.compile(
    r"^(?:no-?reply|do-?not-?reply|noreply[\w.-]{0,20}|support|info|kontakt|contact|hello|help|sales|admin|"
    r"postmaster|hostmaster|webmaster|"
    r"abuse|security|git|hg|root|mailer-daemon|user(?:name)?|you|your\.?(?:name|email)|someone|somebody|name|email|"
    r"me|foo|test|billing|"
    r"office|press|jobs|careers|privacy|legal|newsletter|team|service|servicedesk|presse|buchhaltung|rechnung|"
    r"bewerbung|datenschutz|ops|notifications?|alerts?|"
    r"bot|ci|deploy|builds?|list[\w-]{0,20}|[\w-]{1,30}-(?:users|devel|dev|announce|owner|"
    r"request))(?:\+[\w.-]{1,40})?$",
    re.IGNORECASE,
)
NOWHERE = re.compile(
    r"(?:^|\.)(?:example\.(?:com|org|net|edu)|[\w-]{1,40}\.(?:example|test|invalid|localhost|local|internal|lan))$|"
    r"^domain\.\w{2,4}$",
    re.IGNORECASE,
)
FILE_ENDINGS = frozenset(
    [
        "png",
        "jpg",
        "jpeg",
        "gif",
        "svg",
        "webp",
        "avif",
        "ico",
        "js",
        "ts",
        "tsx",
        "jsx",
        "mjs",
        "css",
        "scss",
        "html",
        "htm",
        "md",
        "txt",
        "pdf",
        "py",
        "rb",
        "go",
        "rs",
        "java",
        "json",
        "yml",
        "yaml",
        "toml",
        "xml",
        "csv",
        "sh",
        "sql",
    ]
)
DIGITS = re.compile(r"(?<![\w.,/:#=%$€£+-])(?:\+ ?|\()?\d[\d().\-/–‑  ]{5,26}+")
AFTER = re.compile(r"[\w%€$£]")
IN_ADDRESS = re.compile(r"://[^\s/@]{0,60}:$")
FULL_WIDTH = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "01234567890123456789")
CALLED = re.compile(
    r"(?:\btel(?:efon|\.|e?phone|éfono|efone|efoon|efono)?(?:nummer|nr|number)?|\bphone|\bmobil\w{0,6}|\bmob\b|"
    r"\bcell(?:phone|ular\w{0,3})?|\bhandy\w{0,8}|"
    r"\bcall(?:s|ed|ing)?|\bring|\brang|\breach(?:ed|able|es)?|\berreich\w{0,4}|\bfax|\bwhats ?app|\bsignal|"
    r"\btelegram|\bsms|\btext(?:s|ed)?(?: (?:me|him|her|us|them))?|\bdial\w{0,3}|"
    r"\bmóvil|\btéléphone|\btél|\bportable|\bappel\w{0,3}|\bcellulare|\bcelular|\bmobiel|\bтел\w{0,6}|\bмоб\w{0,8}|"
    r"\bзвон\w{0,5}|电话|手机|電話|手機|携帯|전화|휴대폰|연락처|"
    r"rufnummer|durchwahl|anruf\w{0,4}|\brufe?\b|\bnumer\b|\bll[aá]m\w{0,5}|\bchiam\w{0,4}|\bligu?\w{0,3}|\bhotline|"
    r"\bpager|☎|📞|📱|هاتف|الجوال|اتصل|फ़ोन|फोन|मोबाइल|טלפון|נייד|τηλ\w{0,6}|"
    r"\bbel\b|\bring\w{0,2}|\btelefonní|\bpuh\w{0,5}|\bmobilnummer|\bemergency contact|\bcontact (?:number|him|her|"
    r"me|them))[^\n]{0,32}$",
    re.IGNORECASE,
)
COUNTED = re.compile(
    r"(?:\border|\bbestell\w{0,8}|\bauftrag\w{0,8}|\binvoice|\brechnung\w{0,8}|\bisbn|\bissn|\bref\b|\breference|"
    r"\bticket|\bcase|\bid\b|\bids\b|\bnr\.?|\bno\.|\bnumber|\bsku|\bserial|"
    r"\bversion|\bbuild|\brfc|\blot\b|\bbatch|\btracking|\baccount|\bkonto\w{0,8}|\bpart\b|\bmodel|\bport\b|\blat\b|"
    r"\blon\b|\bcoordinates?|\bimei|\bean\b|\bgtin|\bupc\b|\bpo\b|\bbarcode|"
    r"\bcommande|\bpedido|\bfactura|\bfacture|\bordine|\bzam[óo]wieni\w{0,3}|\bзаказ\w{0,2}|订单|注文|주문|\bkunden?\b|"
    r"\bkunden\w{0,10}|\bcep\b|\bplz\b|\bpostal|\bzip\b|\bcustomer|\bmember|\bpolicy|\bpatent|\bdoi|\btimestamp|"
    r"\bepoch|\bdrawing|\bparcel|\bsendung\w{0,8}|"
    r"\bgrid|\bip\b|\brow|\brevision|\bchapter|\bpages?|\bseed|\bpid|\bart\.?\b|\bartikel\w{0,8}|\bcatalogue?|"
    r"\bvat\b|\bust\w{0,4}|\bsteuer\w{0,8}|\bmeter|\bzähler\w{0,8}|\bflight|\bscore|\bdataset|\bchassis|\bvin\b|"
    r"\bpopulation|\btotal|\bsum\b|\branges?)"
    r"[^\n\d+]{0,14}$",
    re.IGNORECASE,
)
DATED = re.compile(
    r"^(?:(?:19|20)\d\d[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12]\d|3[01])|(?:0?[1-9]|[12]\d|"
    r"3[01])[-./](?:0?[1-9]|[12]\d|3[01])[-./](?:19|20)?\d\d)"
    r"(?:\D.{0,16})?$|^(?:19|20)\d\d ?[-–/] ?(?:19|20)\d\d$|^(?:19|20)\d{6}(?:[-. ]?\d{4,6})?$"
)
THOUSANDS = re.compile(r"^\d{1,3}(?:[. ]\d{3}){2,4}$")
SHAPES = (
    re.compile(r"^(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[.-])[2-9]\d\d[.-]\d{4}$"),
    re.compile(r"^(?:1[ .-])?[2-9]\d\d [2-9]\d\d[ -]\d{4}$"),
    re.compile(r"^0[1-9](?:[ .-]\d\d){4}$"),
    re.compile(r"^0[1-9]\d{2,3}[ /-]{1,3}\d{3,8}(?:[ -]\d{1,5}){0,3}$"),
    re.compile(r"^\(0\d{1,5}\) ?\d{3,8}(?:[ -]\d{2,5}){0,3}$"),
    re.compile(r"^0\d{1,4} ?\(?\d{3,4}\)?[ -]\d{3,4}(?:[ -]\d{1,4})?$"),
    re.compile(r"^0\d{1,3}[-‑]\d{1,4}[-‑]\d{4}$"),
    re.compile(r"^0[2378] \d{4} \d{4}$"),
    re.compile(r"^07\d{3} ?\d{6}$"),
    re.compile(r"^04\d\d \d{3} \d{3}$"),
    re.compile(r"^\(\d\d\) ?9?\d{4}[- ]\d{4}$"),
    re.compile(r"^1[3-9]\d[ -]\d{4}[ -]\d{4}$"),
    re.compile(r"^8 ?\(\d{3}\) ?\d{3}[- ]\d\d[- ]\d\d$"),
    re.compile(r"^00[1-9]\d?(?:[ ()/.-]{1,2}\d{1,8}){2,6}$"),
)
PAID_BY = re.compile(r"card|karte|carte|carta|tarjeta|cart[ãa]o|visa|amex", re.IGNORECASE)
CARDS = re.compile(r"(?<![\w.,-])\d(?:[ -]?\d){12,18}+(?![\w-]|\.\d)")
ACCOUNT = re.compile(
    r"(?<![A-Za-z0-9])([A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}+(?:[ -]?[A-Z0-9]{1,3})?)(?![A-Za-z0-9])", re.IGNORECASE
)
IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO GL NL",
        19: "MK SI",
        20: "AT BA EE KZ LT LU XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "PT",
        26: "IS TR",
        27: "FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB PL",
        29: "BR EG PS QA UA",
        30: "JO KW MU",
        31: "MT SC",
        32: "LC",
    }.items()
    for country in countries.split()
}


def look(text: str) -> Iterator[Signal]:
    """Personal data of a text."""
    if "@" in text:
        for match in MAIL.finditer(text):
            before = text[max(0, match.start() - 80) : match.start()]
            if _somebody(match[1], match[2]) and not IN_ADDRESS.search(before):
                yield Signal("personal.email", 0.6, EMAIL, (_span(match),))
    if not any(sign.isdigit() for sign in text):
        return
    plain = text if text.isascii() else text.translate(FULL_WIDTH)
    money = list(_money(plain))
    yield from money
    rest = list(plain)
    for span in (span for signal in money for span in signal.spans):
        rest[span.start : span.end] = "x" * (span.end - span.start)
    yield from _phones("".join(rest) if money else plain)


def _money(plain: str) -> Iterator[Signal]:
    for match in CARDS.finditer(plain):
        if _is_card(match[0]):
            before = plain[max(0, match.start() - 40) : match.start()]
            weight = 0.4 if COUNTED.search(before) and not PAID_BY.search(before) else 0.9
            yield Signal("personal.card", weight, CARD, (_span(match),))
    for match in ACCOUNT.finditer(plain):
        if (size := _account(match[1])) is not None:
            yield Signal("personal.bank_account", 0.8, IBAN, (Span(match.start(), match.start() + size),))


def _phones(plain: str) -> Iterator[Signal]:
    for match in DIGITS.finditer(plain):
        number = match[0].rstrip(" -.()/–")
        span = Span(match.start(), match.start() + len(number))
        if not AFTER.match(plain, span.end):
            before = plain[max(0, span.start - 48) : span.start].rpartition("\n")[2]
            if weight := _phone(number, before):
                yield Signal("personal.phone", weight, PHONE, (span,))


def _somebody(name: str, domain: str) -> bool:
    ending = domain.rpartition(".")[2].lower()
    return not (NOBODY.match(name) or NOWHERE.search(domain) or ending in FILE_ENDINGS)


def _phone(number: str, before: str) -> float:
    digits = sum(sign.isdigit() for sign in number)
    if not 7 <= digits <= 15 or number.count("(") != number.count(")") or "--" in number:
        return 0
    if number[0] == "+":
        return 0.7 if digits >= 8 and number.lstrip("+ ")[0] != "0" else 0
    called, counted = CALLED.search(before), COUNTED.search(before)
    if counted and not (called and called.start() > counted.start()):
        return 0
    if DATED.match(number) or _is_address(number) or _is_book(number):
        return 0
    if called and not (digits < 8 and THOUSANDS.match(number)):
        return 0.7
    if THOUSANDS.match(number):
        return 0
    return 0.6 if any(shape.match(number) for shape in SHAPES) else 0


def _is_address(number: str) -> bool:
    parts = number.split(".")
    return len(parts) == 4 and all(part.isdigit() and int(part) < 256 for part in parts)


def _is_book(number: str) -> bool:
    return re.sub(r"\D", "", number).startswith(("978", "979")) and sum(sign.isdigit() for sign in number) == 13


def _is_card(written: str) -> bool:
    groups = re.split(r"[ -]", written)
    sizes = [len(group) for group in groups]
    if len(sizes) > 1 and sizes not in ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3], [4, 4, 4, 1]):
        return False
    number = "".join(groups)
    return luhn(number) and _issued(number) and len(set(number)) > 2


def _issued(number: str) -> bool:
    size, two, four = len(number), int(number[:2]), int(number[:4])
    return (
        (number[0] == "4" and size in (13, 16, 19))
        or ((51 <= two <= 55 or 2221 <= four <= 2720) and size == 16)
        or (two in (34, 37) and size == 15)
        or ((number.startswith(("6011", "65")) or 6440 <= four <= 6499 or two in (62, 81)) and size in (16, 19))
        or (3528 <= four <= 3589 and size == 16)
        or ((two in (36, 38, 39) or 3000 <= four <= 3059) and size == 14)
    )  # fmt: skip


def luhn(number: str) -> bool:
    """Whether the last digit is the check digit of the others."""
    total = 0
    for place, sign in enumerate(reversed(number)):
        digit = int(sign) * (1 + place % 2)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


def _account(written: str) -> int | None:
    # How many of the signs written are the number; a word that follows in capitals is not.
    wanted = IBAN_LENGTHS.get(written[:2].upper())
    if wanted is None:
        return None
    number = ""
    for at, sign in enumerate(written):
        if sign.isalnum():
            number += sign.upper()
        if len(number) == wanted:
            turned = number[4:] + number[:4]
            return at + 1 if int("".join(str(int(one, 36)) for one in turned)) % 97 == 1 else None
    return None


def _span(match: re.Match[str]) -> Span:
    return Span(match.start(), match.end())
