"""Numbers that are names and no quantities: telephone, card and account numbers, codes, versions, rooms. They are read digit by
digit, in the groups in which they are written. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import after, counts, word_set, words_before
from voiceagent.text_normalization.exactly import LONGEST, is_word, letters, spelt
from voiceagent.text_normalization.numerals import by_digits, by_groups, by_pairs, cardinal

_GAP = r"[\s.\-–/]"
TELEPHONE = re.compile(
    r"(?:tel:)?\+\(?\d[\d\s().\-–/]{5,20}\d(?!\w)"
    r"|(?:1[\s.-])?\(\d{2,5}\)[\s.-]?\d{2,4}(?:[\s.-]\d{2,5}){0,3}(?!\w)"
    rf"|(?:1{_GAP})?\d{{3}}{_GAP}\d{{3}}{_GAP}\d{{4}}(?!\w)"
    r"|\d{3}[-.]\d{4}(?![\w.-]\d)"
    rf"|0\d{{1,4}}(?:{_GAP}\d{{2,8}}){{1,5}}(?!\w)"
)
VANITY = re.compile(r"(?P<digits>(?:1-)?8\d\d)-(?P<word>[A-Z]{3,10}|[A-Z0-9]+(?:-[A-Z0-9]+)*[A-Z][A-Z0-9-]*)\b")
EXTENSION = re.compile(r"(?:x|[Ee]xt\.?\s?)(?P<digits>\d{1,6})\b")
CARD = re.compile(
    r"\d{4}(?:[ -]\d{4}){2,4}(?:[ -]\d{1,3})?(?![\d-])|\d{4}[ -]\d{6}[ -]\d{5}(?!\d)|(?:[*xX•]{4}[ -]?){1,3}\d{4}(?!\d)"
)
IBAN = re.compile(r"[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){2,7}(?:\s?[A-Z0-9]{1,3})?\b")
GROUPS = re.compile(r"\d{3}(?: \d{3}){2,4}(?!\w)|\d{4}(?: \d{4})+(?!\w)|\d+(?:-\d+){2,8}(?:-[A-Z])?(?![\w-])|\d{5}-\d{4}(?!\w)")
SPACED = re.compile(r"\d{1,2}(?: \d{3}){2,3}(?! ?\d)|[1-9]\d{0,2}(?: \d{3}){0,2} 000(?! ?\d)")
CODE_GROUPS = re.compile(r"\d{1,6}(?:[ -]\d{2,9}){1,5}(?![\w-])(?! \d)")
HYPHENS = re.compile(r"\d{1,12}(?:-\d{2,12}){1,8}(?![\w-])")
IP = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?(?![\d.]\d)")
VERSION = re.compile(
    r"(?P<v>[vV]\.?\s?)?(?P<number>\d+(?:\.\d+){2,4}|(?<=[vV])\d+(?:\.\d+)*)(?P<rest>-?(?:alpha|beta|rc)[.-]?\d*)?(?![\d.]\d)"
)
SHORT_VERSION = re.compile(r"[vV](?P<number>\d+(?:\.\d+)*)\b")
MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b")
DIGITS = re.compile(r"\d{3,32}(?![\w.,]\d)(?!\w)")
CODE = re.compile(r"#?(?=[A-Za-z0-9-]*\d)(?=[A-Za-z0-9-]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*")
_SURE = word_set(
    """pin code codes passcode password otp cvv cvc extension ext account acct id ids ssn serial tracking confirmation
    reference ref routing iban swift isbn zip postcode postal dial ending imei vin passport licence license policy invoice
    po box sku upc"""
)
"""After these words a number is a name, whatever follows."""
_LIKELY = word_set(
    """order call text ticket case booking reservation member membership customer claim number no phone mobile fax number's
    numbers telephone tel digits patient employee student user record file version model part"""
)
"""After these it is one, unless things are counted: "order 150 pizzas"."""
_PAIRED = word_set(
    """room rooms suite apartment apt flight flights unit building gate bus train route highway bungalow villa locker channel
    studio office lot hall cabin"""
)
_PLACES = word_set(
    """st street ave avenue rd road blvd boulevard dr drive ln lane ct court pl place way hwy highway pkwy parkway sq square
    ter terrace cir circle broadway"""
)
_BETWEEN = word_set("is in num your the my our with to at are was it's called us")


def telephone(match: re.Match[str]) -> str | None:
    """A telephone number in the groups in which it is written."""
    text = match.group().removeprefix("tel:")
    digits = re.sub(r"\D", "", text)
    if not 7 <= len(digits) <= 15:
        return None
    if re.fullmatch(r"\+1\d{10}", text):
        text = f"+1 {text[2:5]} {text[5:8]} {text[8:]}"
    return ("plus " if text.startswith("+") else "") + by_groups(text)


def vanity(match: re.Match[str]) -> str:
    """1-800-FLOWERS."""
    words = [part if part.isalpha() and is_word(part) else spelt(part) for part in match["word"].split("-")]
    return f"{by_groups(match['digits'])}, {' '.join(words)}"


def extension(match: re.Match[str]) -> str:
    """ext. 4410."""
    return f"extension {by_digits(match['digits'])}"


def groups(match: re.Match[str]) -> str:
    """4111 1111 1111 1111, 123-45-6789."""
    said = by_groups(match.group())
    return f"{said}, {letters(match.group()[-1])}" if match.group()[-1].isalpha() else said


def spaced(match: re.Match[str]) -> str:
    """1 234 567."""
    return cardinal(match.group().replace(" ", ""))


def iban(match: re.Match[str]) -> str | None:
    """DE89 3704 0044 0532 0130 00."""
    text = re.sub(r"\s", "", match.group())
    if sum(letter.isdigit() for letter in text) < 8:
        return None
    return ", ".join(spelt(text[at : at + 4]) for at in range(0, len(text), 4))


def internet(match: re.Match[str]) -> str:
    """192.168.1.1:8080."""
    names = {".": "dot", ":": "port", "/": "slash"}
    return " ".join(names.get(part) or by_digits(part) for part in re.findall(r"\d+|[.:/]", match.group()))


def version(match: re.Match[str]) -> str | None:
    """v2.3.1, 2.3.1-beta; a date with dots is read as one before."""
    if match.group()[0] not in "vV" and re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", match["number"]):
        return None
    said = " point ".join(
        cardinal(part) if part[0] != "0" or part == "0" else by_digits(part) for part in match["number"].split(".")
    )
    rest = re.findall(r"[a-z]+|\d+", match.groupdict().get("rest") or "")
    named = match.group()[0] in "vV" and [word.lower() for word in words_before(match)] != ["version"]
    said = " ".join([said, *(letters(part) if part == "rc" else cardinal(part) if part.isdigit() else part for part in rest)])
    return f"version {said}" if named else said


def hardware(match: re.Match[str]) -> str:
    """00:1A:2B:3C:4D:5E."""
    return ", ".join(spelt(part) for part in match.group().split(":"))


def labelled(match: re.Match[str]) -> str | None:
    """dial 911, extension 4410, account number 12345678, room 1204, 1600 Pennsylvania Ave."""
    digits, things = match.group(), counts(after(match))
    label = _label(match)
    if label in _SURE or (label in _LIKELY and not things) or (label == "flight" and len(digits) == 3):
        return by_digits(digits)
    if len(digits) == 4 and not things and (label in _PAIRED or _is_address(match)):
        return by_pairs(digits)
    nearest = (words_before(match) or [""])[0]
    coded = nearest.isupper() and len(nearest) > 1 and not 1900 <= int(digits) < 2100
    return by_digits(digits) if coded and len(digits) >= 4 and not things else None


def labelled_groups(match: re.Match[str]) -> str | None:
    """Code 482 193, EIN 12-3456789."""
    return by_groups(match.group()) if _label(match) in _SURE | _LIKELY - word_set("call text order") else None


def _label(match: re.Match[str]) -> str:
    """The word that says what is numbered."""
    near = words_before(match, 5)
    if len(near) > 1 and near[1].lower() == "flight" and near[0].isupper():
        return "flight"
    lowered = [word.lower() for word in near]
    if "number" in lowered[:3] or "no" in lowered[:2]:
        return "number"
    return next((word for word in lowered if word not in _BETWEEN), "")


def _is_address(match: re.Match[str]) -> bool:
    following = re.findall(r"[A-Za-z0-9']+", match.string[match.end() : match.end() + 40].split(",")[0])[:4]
    return bool(following) and following[0][0].isupper() and any(word.lower() in _PLACES for word in following[1:])


def code(match: re.Match[str]) -> str | None:
    """AB-48271 letter by letter, Gate-12 as a word and a number."""
    said = []
    for part in re.split(r"[-_/.]", match.group().lstrip("#")):
        if part.isalpha() and len(part) >= 3 and is_word(part):
            said.append(part)
        elif part.isdigit() and len(part) <= 2:
            said.append(cardinal(part) if not part.startswith("0") else spelt(part))
        else:
            said.append(letters(part) if part.isalpha() else spelt(part))
    return ", ".join(said) if len(match.group()) <= LONGEST else None
