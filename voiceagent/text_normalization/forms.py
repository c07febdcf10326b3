"""The written forms of English in the order in which they are tried: longer and more specific forms come first."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable

from voiceagent.text_normalization import dates, long_numbers, money, names, quantities
from voiceagent.text_normalization.exactly import address

Form = tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]]
"""The pattern of a form, and the words for a match of it; None: it is something else."""


def form(pattern: str, say: Callable[[re.Match[str]], str | None]) -> Form:
    """A form by its pattern."""
    return re.compile(pattern), say


def any_of(words: Iterable[str]) -> str:
    """A pattern of any of these words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_ENDS = (
    "com|org|net|mx|ar|cl|pe|uy|pl|se|dk|fi|cz|lu|io|dev|app|edu|gov|info|biz|ai|tv|me"
    "|co|us|uk|ca|de|fr|es|it|nl|pt|eu|ch|at|be|au|in|jp|br|ie|nz|shop"
)
WEB = re.compile(
    r"https?://[^\s,;!]*[\w/]|www\.[\w-]+(?:\.[\w-]+)+(?:/[\w/-]*)?"
    rf"|(?:[\w-]+\.){{1,4}}(?:{_ENDS})(?::\d+)?(?:/[\w/.-]*[\w/])?\b(?!\.\w)"
)
OPEN = frozenset({quantities.PREFIX, names.PLACE})
"""Forms that go on with the next one: "~" and "Fig."."""


def english_forms(*, day_first: bool) -> tuple[tuple[Form, ...], tuple[Form, ...]]:
    """The forms that begin with a digit or a sign, and the forms that begin with a letter."""
    addresses = ((EMAIL, _address), (WEB, _address))
    return (*addresses, *_timed(day_first=day_first), *_named_numbers(), *_counted(day_first=day_first)), (
        *addresses,
        *_lettered(),
    )


def _address(match: re.Match[str]) -> str:
    return address(match.group())


def _timed(*, day_first: bool) -> tuple[Form, ...]:
    return (
        (dates.STAMP, dates.stamp),
        (dates.ISO, dates.iso),
        (dates.NUMERIC, functools.partial(dates.numeric, day_first=day_first)),
        (long_numbers.MAC, long_numbers.hardware),
        (long_numbers.IP, long_numbers.internet),
        (dates.YEAR_MONTH, dates.year_month),
        (dates.DAY_SPAN, dates.day_span),
        (dates.DAY_FIRST, dates.day_first),
        (dates.SPAN, dates.span),
        (dates.CLOCK, dates.clock),
        (dates.HOUR, dates.hour),
        (dates.DURATION, dates.duration),
        (dates.MINUTES, dates.duration),
        (dates.RATIO, dates.ratio),
    )


def _named_numbers() -> tuple[Form, ...]:
    return (
        (money.MONEY, money.money),
        (money.MONEY_AFTER, money.money),
        (money.CENTS, money.cents),
        (long_numbers.VANITY, long_numbers.vanity),
        (long_numbers.CARD, long_numbers.groups),
        (long_numbers.TELEPHONE, long_numbers.telephone),
        (long_numbers.CODE_GROUPS, long_numbers.labelled_groups),
        (long_numbers.GROUPS, long_numbers.groups),
        (long_numbers.SPACED, long_numbers.spaced),
    )


def _counted(*, day_first: bool) -> tuple[Form, ...]:
    return (
        (quantities.DECADE, quantities.decade),
        (quantities.SHORT_DECADE, quantities.short_decade),
        (quantities.ORDINAL_SPAN, quantities.rank_span),
        (quantities.FEET, quantities.feet),
        (quantities.MEASURE, quantities.measure),
        (quantities.INCHES, quantities.inches),
        (quantities.FEET_ALONE, quantities.feet_alone),
        (quantities.SIZE, quantities.size),
        (quantities.SUM, quantities.total),
        (quantities.RANGE, quantities.span),
        (dates.SHORT, functools.partial(dates.short, day_first=day_first)),
        (long_numbers.HYPHENS, long_numbers.groups),
        (quantities.MIXED, quantities.mixed),
        (quantities.SLASH, quantities.slash),
        (quantities.ORDINAL, quantities.rank),
        (quantities.NUMBERED, quantities.numbered),
        (quantities.SCALED, quantities.scaled),
        (quantities.TIMES, quantities.times),
        (long_numbers.VERSION, long_numbers.version),
        (quantities.LINKED, quantities.linked),
        (quantities.LETTERED, quantities.lettered),
        (quantities.COMPOUND, quantities.compound),
        (long_numbers.DIGITS, long_numbers.labelled),
        (quantities.PREFIX, quantities.prefix),
        (long_numbers.CODE, long_numbers.code),
        (quantities.NUMBER_ALONE, quantities.number),
        (quantities.SIGN, quantities.sign),
    )


def _lettered() -> tuple[Form, ...]:
    return (
        (dates.MONTH_SPAN, dates.month_span),
        (dates.MONTH_FIRST, dates.month_first),
        (dates.MONTH_YEAR, dates.month_year),
        (dates.MONTH_ALONE, dates.month_alone),
        (dates.WEEKDAY_SPAN, dates.weekday_span),
        (dates.WEEKDAY, dates.weekday),
        (dates.ZONE, dates.zone),
        (money.MONEY, money.money),
        (quantities.NUMBERED, quantities.numbered),
        (quantities.PREFIXED, quantities.prefixed),
        (long_numbers.TELEPHONE, long_numbers.telephone),
        (long_numbers.MAC, long_numbers.hardware),
        (long_numbers.EXTENSION, long_numbers.extension),
        (long_numbers.SHORT_VERSION, long_numbers.version),
        (long_numbers.IBAN, long_numbers.iban),
        (names.PLACE, names.place),
        (names.TITLE, names.title),
        (names.STATE, names.state),
        (names.STREET, names.street),
        (names.DIRECTION, names.direction),
        (names.WORLD_WAR, names.world_war),
        (names.ROMAN, names.numeral),
        (names.WORD, names.word),
        (long_numbers.CARD, long_numbers.groups),
        (long_numbers.CODE, long_numbers.code),
    )
