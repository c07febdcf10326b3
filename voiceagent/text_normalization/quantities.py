"""Measures, fractions, ranges and plain numbers as they are written in English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import after, before, counts, word_set
from voiceagent.text_normalization.exactly import letters
from voiceagent.text_normalization.money import SCALES
from voiceagent.text_normalization.numerals import NUMBER, PER, UNIT, by_digits, cardinal, names, ordinal, per, plain, year

_SIGN = r"(?P<sign>[-−–])?"
_VULGAR = {
    "½": "1/2",
    "⅓": "1/3",
    "⅔": "2/3",
    "¼": "1/4",
    "¾": "3/4",
    "⅕": "1/5",
    "⅖": "2/5",
    "⅗": "3/5",
    "⅘": "4/5",
    "⅙": "1/6",
    "⅛": "1/8",
    "⅜": "3/8",
    "⅝": "5/8",
    "⅞": "7/8",
}
_HALVES = "".join(_VULGAR)
_DASH = r"\s?[-–—]\s?"
_MIXED = rf"(?:\d{{1,4}}[\s-]\d{{1,2}}/\d{{1,2}}(?!\d)|\d{{0,4}}\s?[{_HALVES}]|\d{{1,2}}/(?:2|3|4|5|6|8|16|32)(?!\d))"
_AMOUNT = rf"(?:{_MIXED}|{NUMBER})"
MEASURE = re.compile(
    rf"{_SIGN}(?P<amount>{_AMOUNT})(?:(?:\s?{UNIT})?{_DASH}(?P<to>{_AMOUNT}))?(?P<gap>[\s-]?)(?P<unit>{UNIT})(?!\w|\.\w)(?:{PER})?"
)
FEET = re.compile(
    r"(?P<feet>\d{1,3})['’′]\s?(?P<inches>\d{1,2}\s\d/\d|\d{1,2}(?:\.\d+)?)(?:[\"”″]|'')?(?!\w)"
    r"|(?P<ft>\d{1,3})\s?ft\.?,?\s?(?P<inch>\d{1,2}(?:\.\d+)?)\s?in(?!\w)\.?"
)
INCHES = re.compile(rf"(?P<amount>{_AMOUNT})(?:[\"”″]|(?P<dash>-)?in\.(?=\s?[a-z]))")
FEET_ALONE = re.compile(rf"(?P<amount>{NUMBER})(?:′|'(?=\s(?:tall|long|wide|deep|high|by|x)\b))")
MIXED = re.compile(rf"{_SIGN}(?P<amount>{_MIXED})(?!/)")
RANGE = re.compile(rf"(?P<sign>[-−])?(?P<amount>{NUMBER})(?P<dash>{_DASH})(?P<to>{NUMBER})(?![-–/])")
SLASH = re.compile(rf"(?P<over>{NUMBER})/(?P<under>{NUMBER})(?![/\d])")
ORDINAL = re.compile(r"(?P<number>\d{1,9}|\d{1,3}(?:,\d{3})+)(?:st|nd|rd|th|ST|ND|RD|TH)\b")
ORDINAL_SPAN = re.compile(r"(?P<first>\d{1,4})(?:st|nd|rd|th)?\s?[-–—]\s?(?P<last>\d{1,4})(?:st|nd|rd|th)\b")
DECADE = re.compile(r"(?P<year>1\d{2}0|20[1-9]0)['’]?s\b")
SHORT_DECADE = re.compile(r"(?P<mark>['’‘])?(?P<tens>[1-9]0)(?P<inner>['’])?s\b")
SCALED = re.compile(
    rf"{_SIGN}(?P<amount>{NUMBER})\s?(?P<scale>[kKMB]|bn|mn|thousand|million|billion|trillion)(?!\w)(?P<more>\+)?"
)
NUMBERED = re.compile(r"(?:#\s?|[Nn]os?\.\s?|№\s?)(?P<number>\d{1,19})\b")
SUM = re.compile(rf"{NUMBER}(?:\s?[+×÷*=^]\s?-?{NUMBER})+")
SIZE = re.compile(rf"(?P<first>{NUMBER})\s?[x×]\s?(?P<second>{NUMBER})(?:\s?[x×]\s?(?P<third>{NUMBER}))?")
TIMES = re.compile(rf"(?P<number>{NUMBER})[x×](?!\w)")
COMPOUND = re.compile(rf"(?P<number>{_AMOUNT})(?P<rank>st|nd|rd|th)?-(?P<word>[a-z]{{3,}}(?:-[a-z]+)*)(?![\w-])")
LINKED = re.compile(r"(?P<first>\d{1,3})-(?P<word>for|on|to|in|by|of)-(?P<last>\d{1,3})(?![\w-])")
LETTERED = re.compile(r"(?P<number>\d{1,4})\((?P<letter>[a-z])\)")
PREFIXED = re.compile(
    r"(?P<word>mid|late|early|pre|post|non|under|over)-(?:(?P<year>\d{4})(?P<s>s)?|(?P<tens>[1-9]0)s)\b", re.IGNORECASE
)
NUMBER_ALONE = re.compile(rf"{_SIGN}(?P<number>{NUMBER})(?P<more>\+)?")
SIGN = re.compile(r"[+=×÷*&−<>≤≥≈±@](?=\s|$)|(?<=\d )[-–](?= \d[\d.,]* =)")
_SIGNS = {"+": "plus", "=": "equals", "×": "times", "*": "times", "÷": "divided by", "−": "minus", "&": "and", "@": "at"}
_SIGNS |= {"<": "less than", ">": "more than", "≤": "at most", "≥": "at least", "≈": "about", "±": "plus or minus"}
_SIGNS |= {
    "-": "minus",
    "–": "minus",
    "~": "about",
    "<=": "at most",
    ">=": "at least",
    "^": "to the power of",
    "√": "the square root of",
    "§": "section",
}
PREFIX = re.compile(r"(?P<sign><=|>=|[~≈<>≤≥±√+§])\s?(?=[$€£¥₹]?[-−]?\.?\d)")
_UNDER = {2: ("half", "halves"), 3: ("third", "thirds"), 4: ("quarter", "quarters")}
_YEAR_WORDS = word_set(
    """in since by from until till circa around during before after year of between and spring summer autumn fall winter"""
)
_NAMED = word_set("apt apartment unit suite seat gate room row section platform bus door class grade form building size")
_LONG = word_set("tall long wide deep high by x of and or in is are to from below above apart")
_DECADE_WORDS = word_set("the his her their my your our early mid late low high upper lower")


def _fraction(over: int, under: int) -> str:
    one, many = _UNDER.get(under) or (ordinal(under), f"{ordinal(under)}s")
    return f"{cardinal(str(over))} {one if over == 1 else many}"


def _said(amount: str) -> str:
    """A number or a fraction: 1½, 3/4, 2 1/2, 3.14."""
    for sign, written in _VULGAR.items():
        amount = amount.replace(sign, f" {written}")
    *whole, last = re.split(r"[\s-]+", amount.strip())
    if "/" not in last:
        return cardinal(last)
    over, under = map(int, last.split("/"))
    part = _fraction(over, under) if under else f"{cardinal(str(over))} over zero"
    if not whole or not whole[0]:
        return part
    return f"{cardinal(whole[0])} and {part.replace('one half', 'a half').replace('one quarter', 'a quarter')}"


def _one(amount: str) -> bool:
    return amount == "1" or bool(re.fullmatch(rf"\d/\d{{1,2}}|[{_HALVES}]", amount.strip()))


def measure(match: re.Match[str]) -> str | None:
    """25 °C, 5-10 km, 50%, 10 MB/s, ½ tsp, 5-km."""
    if match["unit"] == "K" and not match["gap"]:
        return None
    if match["unit"].rstrip(".") == "W" and after(match)[:1].isupper():  # a street: 88 W. Elm St.
        return None
    one, many = names(match["unit"])
    minus = "minus " if match["sign"] else ""
    singular = (match["gap"] == "-" or _one(match["amount"]) or before(match) in ("a", "an")) and not match["to"]
    amount = _said(match["amount"]) + (f" to {_said(match['to'])}" if match["to"] else "")
    return f"{minus}{amount} {one if singular else many}{per(match)}"


def feet(match: re.Match[str]) -> str:
    """5'2"."""
    feet, inches = match["feet"] or match["ft"], match["inches"] or match["inch"]
    return f"{cardinal(feet)} {'foot' if feet == '1' else 'feet'} {_said(inches)}"


def inches(match: re.Match[str]) -> str | None:
    """27", unless the mark closes a quotation."""
    written = match.string[: match.start()]
    if match.group()[-1] in '"”' and (written.count('"') % 2 or written.count("“") > written.count("”")):
        return None
    named = after(match)
    one = _one(match["amount"]) or match["dash"] or (named.islower() and named not in _LONG)
    return f"{_said(match['amount'])} {'inch' if one else 'inches'}"


def feet_alone(match: re.Match[str]) -> str:
    """6′, 6' tall."""
    return f"{cardinal(match['amount'])} {'foot' if match['amount'] == '1' else 'feet'}"


def mixed(match: re.Match[str]) -> str:
    """1½, 2 1/2, 3/4."""
    return ("minus " if match["sign"] else "") + _said(match["amount"])


def span(match: re.Match[str]) -> str | None:
    """10-12, 1984–1990, 9-5, 3-2; not parts of a telephone number or a code, which are long or begin with a zero."""
    low, high = plain(match["amount"]), plain(match["to"])
    falls = float(low) >= float(high)
    if match.string[match.end() :].lstrip().startswith("=") or (falls and " " in match["dash"]):
        return None
    if low.startswith("0") and low != "0" and "." not in low:
        return None
    if falls and (len(low) > 3 or len(high) > 3 or match["sign"]) and not (_is_year(low) and len(high) == 2):
        return None
    if len(high) >= 4 and len(low) != len(high) and "," not in match.group() and "." not in high:
        return None
    return f"{'minus ' if match['sign'] else ''}{number_words(match['amount'])} to {number_words(match['to'])}"


def slash(match: re.Match[str]) -> str:
    """24/7, 50/50, 7/10, 120/80, 3/16."""
    over, under = plain(match["over"]), plain(match["under"])
    pair = f"{over}/{under}"
    if pair in ("24/7", "9/11") or over == under:
        return f"{cardinal(over)} {cardinal(under)}"
    if under in ("10", "100") or "." in over:
        return f"{cardinal(over)} out of {cardinal(under)}"
    if "." not in under and 1 < int(under) <= 32 and int(over) < int(under):
        return _fraction(int(over), int(under))
    return f"{number_words(over)} over {number_words(under)}"


def rank(match: re.Match[str]) -> str:
    """21st."""
    return ordinal(int(plain(match["number"])))


def rank_span(match: re.Match[str]) -> str:
    """3rd-5th."""
    return f"{ordinal(int(match['first']))} to {ordinal(int(match['last']))}"


def _many(words: str) -> str:
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def decade(match: re.Match[str]) -> str:
    """1990s."""
    return _many(year(int(match["year"])))


def short_decade(match: re.Match[str]) -> str | None:
    """'90s, the 80s, her 30s; 30s alone is seconds."""
    if match["mark"] or match["inner"] or before(match) in _DECADE_WORDS:
        return _many(cardinal(match["tens"]))
    return None


def scaled(match: re.Match[str]) -> str | None:
    """10k, 1.5M, 2 billion; 4K, 401k and seat 12B are names."""
    scale = match["scale"]
    following = after(match)
    named = before(match) in _NAMED or following[:1].isupper() or (len(match["amount"]) == 1 and not counts(following))
    if (scale in ("K", "M", "B") and named) or match["amount"] in ("401", "403"):
        return None
    more = " or more" if match["more"] else ""
    return f"{'minus ' if match['sign'] else ''}{cardinal(match['amount'])} {SCALES[scale.lower()]}{more}"


def numbered(match: re.Match[str]) -> str:
    """No. 5, #10482."""
    digits = match["number"]
    return f"number {by_digits(digits) if len(digits) > 3 or digits.startswith('0') else cardinal(digits)}"


def total(match: re.Match[str]) -> str:
    """2+2=4, 10^6."""
    parts = re.findall(rf"[+×÷*=^]|-?{NUMBER}", match.group())
    return " ".join(_SIGNS.get(part) or ("minus " if part[0] == "-" else "") + cardinal(part.lstrip("-")) for part in parts)


def size(match: re.Match[str]) -> str:
    """1920x1080, 4 × 6."""
    joined = " times " if " × " in match.group() else " by "
    return joined.join(number_words(match[name]) for name in ("first", "second", "third") if match[name])


def times(match: re.Match[str]) -> str:
    """10x."""
    return f"{cardinal(match['number'])} times"


def compound(match: re.Match[str]) -> str:
    """5-minute, 10-year-old, 21st-century."""
    written = match["number"]
    if match["rank"] and written.isdigit():
        said = ordinal(int(written))
    else:
        said = number_words(written) if re.fullmatch(NUMBER, written) else _said(written)
    return f"{said} {match['word'].replace('-', ' ')}"


def linked(match: re.Match[str]) -> str:
    """2-for-1."""
    return f"{cardinal(match['first'])} {match['word']} {cardinal(match['last'])}"


def lettered(match: re.Match[str]) -> str:
    """5(b), 401(k)."""
    digits = match["number"]
    return f"{by_digits(digits) if len(digits) > 2 else cardinal(digits)} {letters(match['letter'])}"


def prefixed(match: re.Match[str]) -> str:
    """mid-1990s, pre-2000."""
    if match["tens"]:
        return f"{match['word']} {_many(cardinal(match['tens']))}"
    said = year(int(match["year"]))
    return f"{match['word']} {_many(said) if match['s'] else said}"


def sign(match: re.Match[str]) -> str:
    """The signs of sums, alone."""
    return _SIGNS[match.group()]


def prefix(match: re.Match[str]) -> str:
    """A sign before a number: ~5, >10, ±2, +3."""
    said = _SIGNS[match["sign"]]
    compares = re.search(r"[\w)]\s*$", match.string[: match.start()]) and match["sign"] in ("<", ">", "<=", ">=", "≤", "≥", "≈")
    joined = compares and (match.string[: match.start()].rstrip()[-1:].isdigit() or len(before(match)) == 1)
    return f"is {said}" if joined else said


def number(match: re.Match[str]) -> str:
    """Any other number."""
    written, more = match["number"], " or more" if match["more"] else ""
    minus = "minus " if match["sign"] else ""
    is_long = written.isdigit() and len(written) > 4
    if is_long and len(written) <= 9 and written[0] != "0" and (written.endswith("000") or counts(after(match))):
        return minus + cardinal(written) + more
    if written.isdigit() and len(written) == 4 and 1000 <= int(written) < 2100 and before(match) in _YEAR_WORDS:
        return minus + (cardinal(written) if counts(after(match)) else year(int(written))) + more
    return minus + number_words(written) + more


def _is_year(digits: str) -> bool:
    return digits.isdigit() and len(digits) == 4 and 1900 <= int(digits) <= 2099


def number_words(digits: str) -> str:
    """A number alone: read as a year where it may be one; by digits where it is long or begins with a zero, as codes do."""
    if digits.isdigit():
        if len(digits) >= 5 or (len(digits) > 1 and digits.startswith("0")):
            return by_digits(digits)
        if _is_year(digits):
            return year(int(digits))
    return cardinal(digits)
