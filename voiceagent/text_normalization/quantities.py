"""Money, measures and plain numbers as they are written in English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.numerals import by_digits, cardinal, ordinal, year

_CURRENCIES = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", "sen", "sen"),
}
_CODES = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
_SCALES = {"k": "thousand", "m": "million", "bn": "billion", "thousand": "thousand", "million": "million", "billion": "billion"}
_UNITS = {
    "%": ("percent", "percent"),
    "°": ("degree", "degrees"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "m/s": ("meter per second", "meters per second"),
    "km": ("kilometer", "kilometers"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "m": ("meter", "meters"),
    "mi": ("mile", "miles"),
    "ft": ("foot", "feet"),
    "m²": ("square meter", "square meters"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "g": ("gram", "grams"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "ml": ("milliliter", "milliliters"),
    "l": ("liter", "liters"),
    "L": ("liter", "liters"),
    "kWh": ("kilowatt hour", "kilowatt hours"),
    "kW": ("kilowatt", "kilowatts"),
    "W": ("watt", "watts"),
    "GHz": ("gigahertz", "gigahertz"),
    "MHz": ("megahertz", "megahertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "Hz": ("hertz", "hertz"),
    "TB": ("terabyte", "terabytes"),
    "GB": ("gigabyte", "gigabytes"),
    "MB": ("megabyte", "megabytes"),
    "kB": ("kilobyte", "kilobytes"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("second", "seconds"),
    "sec": ("second", "seconds"),
    "min": ("minute", "minutes"),
    "h": ("hour", "hours"),
    "hr": ("hour", "hours"),
    "hrs": ("hour", "hours"),
}
_SIGN = r"(?P<sign>[-−])?"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_SCALE = r"(?P<scale>k|m|bn|thousand|million|billion)"
MONEY = re.compile(rf"{_SIGN}(?P<currency>[$€£¥])\s?(?P<amount>{_NUMBER})(?:\s?{_SCALE}\b)?", re.IGNORECASE)
MONEY_SPAN = re.compile(rf"(?P<currency>[$€£¥])(?P<amount>{_NUMBER})\s?[-–]\s?(?P=currency)?(?P<to>{_NUMBER})")
MONEY_SPAN_AFTER = re.compile(rf"(?P<amount>{_NUMBER})\s?[-–]\s?(?P<to>{_NUMBER})\s?(?P<currency>[€£¥$]|USD|EUR|GBP|JPY)(?!\w)")
MONEY_AFTER = re.compile(rf"{_SIGN}(?P<amount>{_NUMBER})(?:\s?{_SCALE})?\s?(?P<currency>[€£¥$]|USD|EUR|GBP|JPY)(?!\w)")
MEASURE = re.compile(rf"{_SIGN}(?P<amount>{_NUMBER})(?:\s?[-–]\s?(?P<to>{_NUMBER}))?\s?(?P<unit>{_UNIT})(?!\w)")
RANGE = re.compile(rf"(?P<amount>{_NUMBER})\s?[-–]\s?(?P<to>{_NUMBER})")
FRACTION = re.compile(r"(?P<over>1/2|1/3|2/3|1/4|3/4)")
ORDINAL = re.compile(r"(?P<number>\d{1,9})(?:st|nd|rd|th)\b")
DECADE = re.compile(r"(?P<year>\d{3}0)s\b")
NUMBERED = re.compile(r"(?:#|[Nn]o\.\s?|№\s?)(?P<number>\d{1,4})\b")
NUMBER = re.compile(rf"{_SIGN}(?P<number>{_NUMBER})")
SIGN = re.compile(r"[+=×÷*&−](?=\s|$)")
_SIGNS = {"+": "plus", "=": "equals", "×": "times", "*": "times", "÷": "divided by", "−": "minus", "&": "and"}
_FRACTIONS = {"1/2": "one half", "1/3": "one third", "2/3": "two thirds", "1/4": "one quarter", "3/4": "three quarters"}


def _currency(sign: str) -> tuple[str, str, str, str]:
    return _CURRENCIES[_CODES.get(sign, sign)]


def money(match: re.Match[str]) -> str:
    """$12.50: twelve dollars fifty."""
    one, many, cent, cents = _currency(match["currency"])
    minus = "minus " if match["sign"] else ""
    amount = match["amount"].replace(",", "")
    if match["scale"]:
        return f"{minus}{cardinal(amount)} {_SCALES[match['scale'].lower()]} {many}"
    whole, _, fraction = amount.partition(".")
    if len(fraction) not in (0, 2):
        return f"{minus}{cardinal(amount)} {many}"
    small = int(fraction or 0)
    unit = one if int(whole) == 1 else many
    if not small:
        return f"{minus}{cardinal(whole)} {unit}"
    if not int(whole):
        return f"{minus}{cardinal(str(small))} {cent if small == 1 else cents}"
    if small < 10:
        return f"{minus}{cardinal(whole)} {unit} and {cardinal(str(small))} {cent if small == 1 else cents}"
    return f"{minus}{cardinal(whole)} {unit} {cardinal(str(small))}"


def money_span(match: re.Match[str]) -> str:
    """$5-10, 5-10 EUR."""
    return f"{cardinal(match['amount'])} to {cardinal(match['to'])} {_currency(match['currency'])[1]}"


def measure(match: re.Match[str]) -> str:
    """25 °C, 5-10 km, 50%."""
    one, many = _UNITS[match["unit"]]
    minus = "minus " if match["sign"] else ""
    if match["to"]:
        return f"{minus}{cardinal(match['amount'])} to {cardinal(match['to'])} {many}"
    return f"{minus}{cardinal(match['amount'])} {one if match['amount'] == '1' else many}"


def span(match: re.Match[str]) -> str | None:
    """10-12, 1984–1990; not parts of a telephone number or a code, which rarely rise."""
    low, high = match["amount"], match["to"]
    if float(low.replace(",", "")) >= float(high.replace(",", "")) or low.startswith("0"):
        return None
    return f"{_plain(low)} to {_plain(high)}"


def fraction(match: re.Match[str]) -> str:
    """1/2."""
    return _FRACTIONS[match["over"]]


def rank(match: re.Match[str]) -> str:
    """21st."""
    return ordinal(int(match["number"]))


def decade(match: re.Match[str]) -> str:
    """1990s."""
    words = year(int(match["year"]))
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def numbered(match: re.Match[str]) -> str:
    """No. 5."""
    return f"number {cardinal(match['number'])}"


def sign(match: re.Match[str]) -> str:
    """The signs of sums, alone."""
    return _SIGNS[match.group()]


def number(match: re.Match[str]) -> str:
    """Any other number."""
    return ("minus " if match["sign"] else "") + _plain(match["number"])


def _plain(digits: str) -> str:
    """A number alone: read as a year where it may be one; by digits where it is long or begins with a zero, as codes do."""
    if digits.isdigit():
        if len(digits) >= 5 or (len(digits) > 1 and digits.startswith("0")):
            return by_digits(digits)
        if len(digits) == 4 and 1900 <= int(digits) <= 2099:
            return year(int(digits))
    return cardinal(digits)
