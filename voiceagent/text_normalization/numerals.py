"""Numbers and units in English words, and how they are written. Numbers are said by num2words (LGPL-2.1, used as it is). Pure."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence

from num2words import num2words

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MOST_DIGITS = 15
"""The most digits of a number that is read as one."""
NUMBER = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:['’]\d{3})+(?:\.\d+)?"
    r"|\d{1,3}(?:,\d{2})+,\d{3}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?!\d|[.,]\d)"
)
"""1,250 or 3.14; as other countries write it: 1.234,56, 10.000.000, 1'250; as India does: 1,50,000."""
_EUROPEAN = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def plain(number: str) -> str:
    """A written number with a full stop before its fraction and no other sign."""
    if _EUROPEAN.fullmatch(number):
        number = number.replace(".", "").replace(",", ".")
    return number.replace(",", "").replace("'", "").replace("’", "")


@functools.lru_cache(maxsize=4096)
def cardinal(number: str) -> str:
    """A written number, "1,250" or "3.14", in words; its fraction is read digit by digit, and so is a number that is too long."""
    whole, _, fraction = plain(number).partition(".")
    if len(whole) > MOST_DIGITS:
        return " ".join(DIGITS[int(digit)] for digit in whole + fraction)
    words = str(num2words(int(whole or "0"))).replace(",", "")
    return f"{words} point {' '.join(DIGITS[int(digit)] for digit in fraction)}" if fraction else words


@functools.lru_cache(maxsize=1024)
def ordinal(number: int) -> str:
    """A number as a rank or a day: "twenty-first"."""
    return str(num2words(number, to="ordinal")).replace(",", "")


@functools.lru_cache(maxsize=1024)
def year(number: int) -> str:
    """A year as in a date: "nineteen eighty-four", "two thousand and five"."""
    return str(num2words(number, to="year"))


def by_digits(digits: str, names: Sequence[str] = DIGITS) -> str:
    """Digit by digit: six or more in threes, with a breath between them."""
    size = 3 if len(digits) >= 6 else len(digits)
    groups = [digits[at : at + size] for at in range(0, len(digits), max(size, 1))]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = [groups[-2] + groups[-1]]
    return ", ".join(" ".join(names[int(digit)] for digit in group) for group in groups)


def by_groups(text: str) -> str:
    """Digit by digit in the groups in which they are written."""
    return ", ".join(by_digits(group) for group in re.findall(r"\d+", text))


def by_pairs(digits: str) -> str:
    """Four digits as those of rooms, flights and houses are read: "twelve oh four", "sixteen hundred"."""
    first, second = digits[:2], digits[2:]
    if digits.startswith("0") or digits[1:3] == "00":
        return by_digits(digits) if digits.startswith("0") or second != "00" else cardinal(digits)
    if second == "00":
        return f"{cardinal(first)} hundred"
    return f"{cardinal(first)} {'oh ' if second.startswith('0') else ''}{cardinal(second)}"


def roman(text: str) -> int | None:
    """The value of a Roman numeral; None if it is none."""
    if not text or not _ROMAN.fullmatch(text):
        return None
    values = [_ROMAN_DIGITS[letter] for letter in text] + [0]
    return sum(-value if value < following else value for value, following in itertools.pairwise(values))


_TABLE = """% percent percent|° degree degrees|°C degree_Celsius degrees_Celsius|°F degree_Fahrenheit degrees_Fahrenheit
K kelvin kelvins|kph kilometer_per_hour kilometers_per_hour|mph mile_per_hour miles_per_hour
mpg mile_per_gallon miles_per_gallon|km kilometer kilometers|cm centimeter centimeters|mm millimeter millimeters
m meter meters|nm nanometer nanometers|µm micrometer micrometers|mi mile miles|ft foot feet|yd yard yards
yds yard yards|sq_ft square_foot square_feet|sq._ft. square_foot square_feet|sqft square_foot square_feet
sq_m square_meter square_meters|m² square_meter square_meters|m2 square_meter square_meters
km² square_kilometer square_kilometers|cm² square_centimeter square_centimeters|ft² square_foot square_feet
m³ cubic_meter cubic_meters|cm³ cubic_centimeter cubic_centimeters|ha hectare hectares|kg kilogram kilograms
mg milligram milligrams|µg microgram micrograms|mcg microgram micrograms|g gram grams|lb pound pounds
lbs pound pounds|oz ounce ounces|fl_oz fluid_ounce fluid_ounces|ml milliliter milliliters
mL milliliter milliliters|cl centiliter centiliters|dl deciliter deciliters|dL deciliter deciliters
l liter liters|L liter liters|gal gallon gallons|qt quart quarts|tsp teaspoon teaspoons
tbsp tablespoon tablespoons|kWh kilowatt_hour kilowatt_hours|kW kilowatt kilowatts|MW megawatt megawatts
W watt watts|V volt volts|mA milliamp milliamps|mAh milliamp_hour milliamp_hours|kJ kilojoule kilojoules
kcal kilocalorie kilocalories|cal calorie calories|hPa hectopascal hectopascals|kPa kilopascal kilopascals
psi P_S_I P_S_I|dB decibel decibels|bpm beat_per_minute beats_per_minute
rpm revolution_per_minute revolutions_per_minute|fps frame_per_second frames_per_second
dpi dot_per_inch dots_per_inch|ppm part_per_million parts_per_million|px pixel pixels|MP megapixel megapixels
hp horsepower horsepower|GHz gigahertz gigahertz|MHz megahertz megahertz|kHz kilohertz kilohertz|Hz hertz hertz
PB petabyte petabytes|TB terabyte terabytes|GB gigabyte gigabytes|MB megabyte megabytes|kB kilobyte kilobytes
KB kilobyte kilobytes|Gbps gigabit_per_second gigabits_per_second|Mbps megabit_per_second megabits_per_second
kbps kilobit_per_second kilobits_per_second|Gb gigabit gigabits|Mb megabit megabits|kb kilobit kilobits
ns nanosecond nanoseconds|µs microsecond microseconds|ms millisecond milliseconds|s second seconds
sec second seconds|secs second seconds|min minute minutes|mins minute minutes|h hour hours|hr hour hours
hrs hour hours|wk week weeks|wks week weeks|mo month months|mos month months|yr year years|yrs year years
pcs piece pieces|pt point points|pts point points|‰ per_mille per_mille"""
UNITS = {
    sign.replace("_", " "): (one.replace("_", " "), many.replace("_", " "))
    for sign, one, many in (entry.split() for entry in _TABLE.replace("\n", "|").split("|"))
}
_CAPITALS = {sign.upper(): names for sign, names in UNITS.items() if len(sign) > 1}
"""Units of a text in capitals: 5 KM."""
ALL = {**_CAPITALS, **UNITS}
UNIT = "(?:" + "|".join(re.escape(unit) for unit in sorted(ALL, key=len, reverse=True)) + r")\.?"
"""A unit; its full stop, if it is an abbreviation, is left where a sentence ends."""
_PER = {"d": "day", "w": "week", "y": "year", "a": "year", "S": "second", "m³": "cubic meter"}
PER = rf"\s?/\s?(?P<per>{UNIT}|[a-z]{{3,12}}|[dwyaS](?!\w))(?P<square>[²2])?(?!\w)"
"""The unit that a rate is counted by: "/h", "/month", "/s²"."""


def names(unit: str) -> tuple[str, str]:
    """The unit's names for one and for many."""
    return ALL.get(unit) or ALL[unit.rstrip(".")]


def per(match: re.Match[str]) -> str:
    """Returns the words after a rate's number; empty if it is none."""
    unit = match["per"]
    if not unit:
        return ""
    known = _PER.get(unit) or (ALL.get(unit) or ALL.get(unit.rstrip(".")) or (unit, unit))[0]
    return f" per {known}" + (" squared" if match["square"] else "")
