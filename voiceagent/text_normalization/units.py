"""Units of English: how they are written, and their names for one and for many. Data."""

from __future__ import annotations

import re

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
