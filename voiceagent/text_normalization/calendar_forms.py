"""Dates and times of day in languages other than English, in words. Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.context import word_before, words_before
from voiceagent.text_normalization.forms import Form, any_of, form
from voiceagent.text_normalization.spoken_numbers import SpokenNumbers
from voiceagent.text_normalization.written_language import WrittenLanguage

_DASH = r"\s?[-–—]\s?"
_DAY = r"(?P<day>\d{1,2})(?:er\b|\.?[º°]|\.)?"
_CLOCK = r"\d{1,2}(?::\d{2}(?::\d{2})?|\s?[hu]\s?\d{2}|\.\d{2})(?!\d|\s?m)"
_END = rf"(?:{_CLOCK}|\d{{1,2}}(?:\s?h(?!\w))?)"
_HALF = r"\s?(?P<half>[aApP])\.?\s?[mM]\b\.?"
_DOTTED_HALF = r"\s?(?P<half>[aApP])\.\s?[mM]\b\.?"
"""The same in a language that has a word "am"."""


class Calendar:
    """The dates and times of one language."""

    def __init__(self, language: WrittenLanguage, words: SpokenNumbers) -> None:
        self._language, self._words = language, words
        self._months = {name.lower(): at for at, name in enumerate(language.months)}
        short = {one.lower(): at for at, names in enumerate(language.short_months) for one in names.split("/") if one != "-"}
        self._months |= {name: at for name, at in short.items() if name not in self._months}
        self._short_days = {one.lower(): at for at, names in enumerate(language.short_weekdays) for one in names.split("/")}
        self._weekdays = frozenset(name.lower() for name in language.weekdays) | self._short_days.keys()

    def forms(self) -> tuple[tuple[Form, ...], tuple[Form, ...]]:
        """The forms that begin with a digit, and those that begin with a letter."""
        language = self._language
        full = {name.lower() for name in language.months}
        months, short = any_of(full), any_of(self._months.keys() - full)
        of = rf"(?:{language.year_of}l?\s)?" if language.year_of else ""
        month = rf"(?P<month>(?i:(?:{months})(?!\w)|(?:{short})(?:\.|(?=\s{of}\d{{4}}))))"
        year = rf"(?:,?\s{of}(?P<year>\d{{4}})(?!\d))?"
        of_unit = {
            unit: any_of(sign for sign, name in language.units.items() if name == language.units[unit]) for unit in ("h", "min")
        }
        hours = any_of({name for name in (*language.hour, *language.units["h"]) if name}) + f"|{of_unit['h']}"
        day, listed_day = any_of(self._short_days), any_of("/".join(language.short_weekdays).split("/"))
        days, links = rf"(?P<first>(?i:{day}))\.?", any_of(language.weekday_links)
        half = _HALF if language.halves_of_day[0] else _DOTTED_HALF
        dotted = (
            form(
                r"(?P<from>\d{1,2})\.(?P<from_month>\d{1,2}\.)?\s?[-–—]\s?(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.(?P<year>\d{4})?(?!\d)",
                self._numeric,
            ),
            form(r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.(?!\d)", self._numeric),
        )
        return (
            form(r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:[T\s](?P<clock>\d\d:\d\d)(?::\d\d)?Z?)?(?!\d)", self._numeric),
            form(
                r"(?P<day>\d{1,2})(?P<mark>[./-])\s?(?P<month>\d{1,2})(?P=mark)(?P<year>\s?\d{4}|\d{2})(?![\d.-]*\d)",
                self._numeric,
            ),
            *(dotted if language.dotted_dates else ()),
            form(rf"(?P<from>\d{{1,2}})\.?(?:er)?(?P<link>\s?[-–—/]\s?){_DAY}\s?{of}{month}{year}", self._named),
            form(rf"{_DAY}\s?{of}{month}{year}", self._named),
            form(
                rf"{_DAY}(?P<mark>[-/])(?P<month>(?i:{months}|{short}))(?:(?P=mark)(?P<year>\d{{4}}|\d{{2}}))?(?!\w)", self._named
            ),
            form(rf"(?P<h>\d{{1,3}})\s?(?:{of_unit['h']})\s?(?P<m>\d{{1,2}})\s?(?:{of_unit['min']})(?!\w)", self._duration),
            form(rf"(?P<first>{_END}){_DASH}(?P<last>{_END})(?:\s?(?P<suffix>{hours})(?!\w))?", self._span),
            form(
                rf"(?P<first>{_CLOCK}|\d{{1,2}}(?={half.replace('?P<half>', '')}))(?:{half})?(?:\s?(?P<suffix>{hours})(?!\w))?",
                self._clock,
            ),
            form(r"(?P<day>\d{1,2})(?P<mark>[/-])(?P<month>\d{1,2})(?![/\d-])", self._short),
            form(r"(?P<month>0?[1-9]|1[0-2])/(?P<year>20\d\d)(?!\d)", self._month_of_year),
        ), (
            form(rf"{days}\s?(?P<link>{links}|[–—])\s?(?P<last>(?i:{day}))(?!\w)\.?", self._weekday_span),
            form(
                rf"{days}(?:(?=,?\s(?:(?P<date>\d{{1,2}}[-/.]\d|\d{{1,2}}\.?\s{of}(?:{months}))|\d))|(?=,\s(?P<list>{listed_day})(?!\w)))",
                self._weekday,
            ),
            form(rf"(?P<first>(?i:{day}))\.(?!\w)", self._weekday_after),
            form(
                rf"(?P<first>(?i:{months}|{short}))\.?{_DASH}(?P<last>(?i:(?:{months}|{short})(?!\w)))(?:\.(?!\w))?",
                self._month_span,
            ),
            form(rf"(?P<month>(?i:{short}))(?:\.(?=\s{of}\d)|(?=\s{of}\d{{4}}))", self._month),
        )

    def _duration(self, match: re.Match[str]) -> str:
        """1 h 30 min."""
        hours, minutes = (self._words.counted(match[one], self._language.units[unit]) for one, unit in (("h", "h"), ("m", "min")))
        return f"{hours} {self._language.conjunction} {minutes}"

    def _date(self, match: re.Match[str], month: int) -> str | None:
        day = int(match["day"])
        if not (0 <= month < 12 and 1 <= day <= 31):
            return None
        language, found = self._language, match.groupdict()
        of = f" {language.year_of} " if language.year_of else " "
        name = language.months[month]
        said = f"{self._day(match, day, name)}{of}{name}"
        if start := found.get("from"):
            other = int((found.get("from_month") or "0").rstrip("."))
            its_month = of + language.months[other - 1] if 0 < other <= 12 else ""
            link = language.conjunction if "/" in (found.get("link") or "") else language.between
            said = f"{self._day(match, int(start), name)}{its_month} {link} {said}"
        if year := found.get("year"):
            said += of + self._words.year(int(year) + (2000 if int(year) < 100 else 0))
        return said

    def _day(self, match: re.Match[str], day: int, month: str) -> str:
        """The day of a date. A German one is an ordinal, which has an ending."""
        language = self._language
        if language.dotted_dates:
            return self._words.ordinal(day, ending=self.ending(match, month))
        if day == 1 and re.match(r"\d+(?:er|\.?[º°])", match.group()):
            return self._words.ordinal(1)
        elided = match.string[: match.start()].endswith(("'", "’"))
        return language.first_day if day == 1 and language.first_day and not elided else self._words.cardinal(day)

    def ending(self, match: re.Match[str], noun: str) -> str:
        """The ending of an ordinal before this noun."""
        near = [word.lower() for word in words_before(match, 3)]
        around = f"{next((word for word in near if word not in self._weekdays), '')} {noun.lower()}"
        default = "e" if self._words.is_feminine(noun) else "er"
        return next((ending for pattern, ending in self._language.rank_endings if re.fullmatch(pattern, around)), default)

    def _numeric(self, match: re.Match[str]) -> str | None:
        """3.5.2026, 03/05/26, 2026-05-03."""
        if word_before(match).startswith("vers"):  # of a program: 2.6.18
            return None
        said = self._date(match, int(match["month"]) - 1)
        clock = match.groupdict().get("clock")
        return f"{said}, {self._time(clock, '', match)}" if said and clock else said

    def _named(self, match: re.Match[str]) -> str | None:
        """3. Mai 2026, 1er mai, 3 de mayo."""
        return self._date(match, self._months[match["month"].lower().rstrip(".")])

    def _short(self, match: re.Match[str]) -> str | None:
        """3/5, 30-06 where a date is meant."""
        near = word_before(match)
        dated = near in self._weekdays or near in self._language.before_date
        if match["mark"] == "-":
            dated = match["month"].startswith("0") or (dated and int(match["day"]) >= int(match["month"]))
        return self._date(match, int(match["month"]) - 1) if dated else None

    def _month_of_year(self, match: re.Match[str]) -> str:
        """05/2026."""
        of = f" {self._language.year_of} " if self._language.year_of else " "
        return self._language.months[int(match["month"]) - 1] + of + self._words.year(int(match["year"]))

    def _month(self, match: re.Match[str]) -> str:
        return self._language.months[self._months[match["month"].lower()]]

    def _weekday(self, match: re.Match[str]) -> str | None:
        written = match.group().rstrip(".")
        if written.islower() and not (match.group().endswith(".") or match["date"] or match["list"]):
            return None
        return self._language.weekdays[self._short_days[written.lower()]]

    def _weekday_after(self, match: re.Match[str]) -> str | None:
        """le dim., los lun."""
        dated = word_before(match) in self._language.before_date
        return self._language.weekdays[self._short_days[match["first"].lower()]] if dated else None

    def _month_span(self, match: re.Match[str]) -> str:
        """ene.-mar."""
        first, last = (self._language.months[self._months[match[name].lower()]] for name in ("first", "last"))
        return f"{first} {self._language.between} {last}"

    def _weekday_span(self, match: re.Match[str]) -> str:
        first, last = (self._language.weekdays[self._short_days[match[name].lower()]] for name in ("first", "last"))
        dash = match["link"] in "-–—"
        link = self._language.weekday_links["-" if dash else match["link"]]
        prefix, unless, _ = self._language.range_prefix
        begins = prefix and dash and word_before(match) not in unless
        return f"{prefix} {first} {link} {last}" if begins else f"{first} {link} {last}"

    def _span(self, match: re.Match[str]) -> str | None:
        """9:00-17:30, 9h-17h, 9-17.30 Uhr; numbers alone are no times."""
        first, last = match["first"], match["last"]
        timed = [bool(re.search(r"\D", end)) for end in (first, last)]
        full = all(re.fullmatch(r"\d{1,2}\.(?:00|15|30|45)", end) for end in (first, last))
        if not any(timed) or ("." in first + last and not (full or match["suffix"] or ":" in first + last)):
            return None
        begins = self._time(first, "", match) if timed[0] else self._words.feminine(self._words.cardinal(int(first)))
        ends = self._time(last, "", match, hours=bool(match["suffix"]))
        return f"{begins} {self._language.between} {ends}" if begins and ends and int(re.split(r"\D", first)[0]) <= 24 else None

    def _clock(self, match: re.Match[str]) -> str | None:
        """14:30, 14h30, 14.30 Uhr."""
        timed = match["suffix"] or match["half"] or word_before(match) in self._language.before_clock
        if "." in match["first"] and not timed:
            return None
        return self._time(match["first"], match["half"] or "", match, hours=bool(match["suffix"]))

    def _time(self, text: str, half: str, match: re.Match[str], *, hours: bool = False) -> str | None:
        language, words = self._language, self._words
        hour, minute, *seconds = (int(part) for part in [*re.findall(r"\d+", text), "0"])
        if hour > 24 or minute > 59:
            return None
        halves = dict(zip("ap", language.halves_of_day, strict=True)) if language.halves_of_day[0] else {}
        if half.lower() == "p" and not halves and hour < 12:
            hour += 12
        spoken = words.feminine(words.cardinal(hour))
        named = language.hour[hour != 1 and not (language.singular_below_two and hour < 2)]
        lasting = "h" in text and minute and word_before(match) not in language.before_clock
        if not minute:
            if (halves and half) or (not named and not (hours or hour in (0, 24) or (language.many_hours and hour > 12))):
                said = spoken
            else:
                said = f"{spoken} {named or language.units['h'][hour != 1]}"
        elif lasting and language.minutes != language.hour[1]:
            said = f"{spoken} {language.units['h'][hour != 1]} {language.conjunction} {words.cardinal(minute)}"
        else:
            link = language.few_minutes if minute < 10 and language.few_minutes else language.minutes
            link = named if link and link == language.hour[1] else link
            said = " ".join(part for part in (spoken, link, words.cardinal(minute)) if part)
        if any(seconds):
            said += f" {language.conjunction} {words.counted(str(seconds[0]), language.units['s'])}"
        return f"{said} {halves[half.lower()]}" if half and halves else said
