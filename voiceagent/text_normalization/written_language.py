"""The words that a language reads its written forms with: of numbers, money, dates, times, units and signs. Data only; the files
in `languages/` fill it in. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Names = tuple[str, str]
"""The name of one, and of many."""


def listed(words: str) -> tuple[str, ...]:
    """Words that are separated by spaces, in their order."""
    return tuple(words.split())


def names(table: str) -> dict[str, Names]:
    """Reads "km: Kilometer|h: Stunde+n|m²: mètre carré, mètres carrés": what is written, the name of one, the name of many."""
    found: dict[str, Names] = {}
    for entry in table.replace("\n", " ").split("|"):
        written, _, said = entry.strip().partition(": ")
        one, _, many = (part.strip() for part in said.partition(","))
        stem, plus, ending = one.partition("+")
        for sign in written.split(" / "):
            found[sign.strip()] = (stem, many or stem + ending if plus else many or one)
    return found


def said_for(table: str) -> dict[str, str]:
    """Reads "z. B.: zum Beispiel|Nr.: Nummer": what is written, and what is said."""
    return {written: one for written, (one, _) in names(table).items()}


def money(table: str) -> dict[str, tuple[Names, Names]]:
    """Reads "€ EUR: euro+s; centime+s": what is written, and the names of the currency and of its hundredth."""
    found: dict[str, tuple[Names, Names]] = {}
    for entry in table.replace("\n", " ").split("|"):
        written, _, said = entry.strip().partition(": ")
        its, _, small = said.partition("; ")
        both = (names(f"x: {its}")["x"], names(f"x: {small}")["x"])
        found.update(dict.fromkeys(written.split(), both))
    return found


@dataclass(frozen=True, slots=True)
class WrittenLanguage:
    """The words of one language."""

    code: str
    spelling: str
    """The language's name in num2words."""
    comma: str
    point: str
    """The signs before a fraction."""
    minus: str
    between: str
    """Between the ends of a range: "10 bis 12"."""
    per: str
    conjunction: str
    """"and"."""
    signs: Mapping[str, str]
    """Signs between words or before a number: "&", "=", "~"."""
    spelled_signs: Mapping[str, str]
    """Signs of an address or a code: "@", "."."""
    months: tuple[str, ...]
    short_months: tuple[str, ...]
    weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...]
    """Alternatives are separated by "/"; without their full stops."""
    weekday_links: Mapping[str, str]
    """Words between two short weekdays, and what is said for them."""
    hour: Names
    """Said after a full hour; empty names where nothing is."""
    minutes: str
    """Said between hours and minutes: "Uhr", "e"."""
    units: Mapping[str, Names]
    currencies: Mapping[str, tuple[Names, Names]]
    """The sign or code, and the names of the currency and of its hundredth."""
    scales: Mapping[str, Names]
    """Millions and more, also abbreviated."""
    fractions: tuple[Names, ...]
    """Halves, thirds … tenths."""
    mixed_half: str
    """A number and a half: "{} et demi"."""
    times: Names
    """Repetitions: "{} fois", for once and for more."""
    size: str
    """Between length and width: "3 x 4 m"."""
    out_of: str
    """Between points and the most points: "7/10"."""
    over: str
    """Between two other numbers: "120/80"."""
    short_words: Mapping[str, str]
    """Abbreviations; those that end in a full stop are written with it."""
    short_before_number: Mapping[str, str]
    """Abbreviations that are read only before a number, a Roman one or a letter."""
    labels: frozenset[str]
    """After these words, in small letters, a number is read digit by digit."""
    numbered: frozenset[str]
    """After these words, in small letters, a number is a plain one that counts nothing, also a Roman one."""
    century: re.Pattern[str]
    """The word of a century."""
    phones: str = r"(?!)"
    """Telephone numbers as this language writes them, besides those that begin with a plus or a zero."""
    pairs: bool = False
    """True if the digits of a telephone number are read as numbers of two digits."""
    spelled_letters: Mapping[str, str] = field(default_factory=dict)
    """Letters that the voice would read as words."""
    digitwise: bool = False
    """True if a fraction is read digit by digit."""
    hundreds: str = ""
    """A word such as "hundert" if 1998 is read in hundreds as a year."""
    count_in_hundreds: bool = False
    """True if every number from 1100 to 1999 is read so."""
    respelled: tuple[tuple[str, str], ...] = ()
    """Patterns of what num2words writes otherwise than people, and what takes their place."""
    masculine: tuple[tuple[str, str], ...] = ()
    feminine: tuple[tuple[str, str], ...] = ()
    """The changes of a number's words before a noun."""
    feminine_words: frozenset[str] = frozenset()
    feminine_endings: tuple[str, ...] = ()
    """Feminine nouns in small letters, and how others end."""
    masculine_words: frozenset[str] = frozenset()
    """Nouns in small letters that end so and are not."""
    capital_nouns: bool = False
    """True if nouns have capitals."""
    not_nouns: frozenset[str] = frozenset()
    """Words after a number that it does not count."""
    of_many: tuple[str, str] = ("", "")
    """Between millions and what they count, before a consonant and before a vowel."""
    year_of: str = ""
    """Between month and year, and between day and month."""
    first_day: str = ""
    """The first of a month, where it is no plain number."""
    hour_feminine: bool = False
    many_hours: str = ""
    """Said after full hours past twelve only."""
    few_minutes: str = ""
    """Said between hours and fewer than ten minutes, where it differs."""
    halves_of_day: Names = ("", "")
    """Said for a.m. and p.m.; without them, hours are counted to 24."""
    feminine_before: frozenset[str] = frozenset()
    """Words that make the number after them feminine."""
    one_of: str = r"(?!)"
    """The pattern between "1" and the noun of which it is one: "1 de cada 3 personas"."""
    copulas: frozenset[str] = frozenset()
    """Words between a label and its number."""
    label_endings: tuple[str, ...] = ()
    """Ends of compound labels: "Buchungscode"."""
    label_links: frozenset[str] = frozenset()
    """Words between a label and what it names: "número de pedido"."""
    postcodes: str = r"(?!)"
    """Postcodes with letters."""
    half_before: tuple[tuple[str, str], ...] = ()
    """Patterns of nouns, and what is said for a half before them."""
    thousand: str = ""
    """The word of thousands, where numbers are written with it: "2 mil"."""
    joined: tuple[tuple[str, str], ...] = ()
    """Patterns of a number with its noun, or "per" with its noun, and what takes their place: "una ora"."""
    one_and_half: str = ""
    """1½, where it is a word of its own."""
    singular_below_two: bool = False
    """True if 0 and 1,5 are followed by the name of one."""
    endings: Mapping[str, str] = field(default_factory=dict)
    """Abbreviations at a word's end: "Hauptstr."."""
    score: str = ""
    """Between the numbers of a score or a ratio: "3:1"."""
    after_dative: tuple[frozenset[str], tuple[tuple[str, str], ...]] = (frozenset(), ())
    """Words after which the names of units change, and how."""
    short_rank_before_noun: bool = False
    """True if an ordinal is shortened before a noun."""
    roman_before_noun: bool = False
    """True if a Roman numeral before a noun is an ordinal."""
    before_clock: frozenset[str] = frozenset()
    """After these words 10.30 is a time."""
    before_date: frozenset[str] = frozenset()
    """After these words 3/5 is a date."""
    cents: str = ""
    """Said between an amount and its hundredths."""
    rank: str = r"(?!)"
    """The pattern behind the digits of an ordinal; its group `f`, if it matches, makes it feminine, `short` shortens it."""
    rank_feminine: tuple[tuple[str, str], ...] = ()
    rank_short: tuple[tuple[str, str], ...] = ()
    rank_endings: tuple[tuple[str, str], ...] = ()
    """Patterns of "the word before, a space, the noun after", and the ending that an ordinal takes; the first that matches."""
    before_rank: frozenset[str] = frozenset()
    """Words after which a number and a full stop are an ordinal though no word follows: "am 21."."""
    dotted_dates: bool = False
    """True if 3.5. is a date and "3." an ordinal."""
    last_ordinal_ruler: int = 10_000
    """The number up to which rulers have ordinals."""
    ruler_articles: Names = ("", "")
    """The article between a ruler's name and number, masculine and feminine."""
    range_prefix: tuple[str, frozenset[str], frozenset[str]] = ("", frozenset(), frozenset())
    """Said before a range, unless one of these words is before it; after the last ones, its ends stand side by side."""
    decade: str = r"(?!)"
    """The pattern behind the digits of a decade."""
    decade_ending: str = ""
