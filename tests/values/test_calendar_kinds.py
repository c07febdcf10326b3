"""Dates, dates of birth and times in seven languages, heard on Friday, 27 November 2026."""

from __future__ import annotations

from datetime import date

import pytest

from voiceagent.values.kind import Frame, HeardValue
from voiceagent.values.kinds import kind

TODAY = date(2026, 11, 27)


def heard(name: str, code: str, said: str, so_far: str = "", region: str = "") -> HeardValue:
    return kind(name).hear(said, so_far, Frame(code, TODAY, region))


@pytest.mark.parametrize(
    ("code", "said", "day"),
    [
        ("en", "Tomorrow, please.", "2026-11-28"),
        ("en", "the day after tomorrow", "2026-11-29"),
        ("en", "On Tuesday", "2026-12-01"),
        ("en", "How about Wednesday the ninth?", "2026-12-09"),
        ("en", "a week from Monday", "2026-12-07"),
        ("en", "Friday the 4th of December", "2026-12-04"),
        ("en", "December fourth", "2026-12-04"),
        ("en", "the twenty-first of January", "2027-01-21"),
        ("en", "March 3rd 2028", "2028-03-03"),
        ("en", "2026-12-24", "2026-12-24"),
        ("de", "Morgen", "2026-11-28"),
        ("de", "übermorgen bitte", "2026-11-29"),
        ("de", "am Dienstag", "2026-12-01"),
        ("de", "am 4. Dezember", "2026-12-04"),
        ("de", "am vierten Dezember", "2026-12-04"),
        ("de", "am einundzwanzigsten Januar", "2027-01-21"),
        ("de", "4.12.", "2026-12-04"),
        ("fr", "demain", "2026-11-28"),
        ("fr", "après-demain", "2026-11-29"),
        ("fr", "le premier décembre", "2026-12-01"),
        ("fr", "mardi", "2026-12-01"),
        ("es", "mañana por la mañana", "2026-11-28"),
        ("es", "pasado mañana", "2026-11-29"),
        ("es", "el cuatro de diciembre", "2026-12-04"),
        ("es", "el martes por la mañana", "2026-12-01"),
        ("it", "dopodomani", "2026-11-29"),
        ("it", "il 4 dicembre", "2026-12-04"),
        ("nl", "overmorgen", "2026-11-29"),
        ("nl", "vier december", "2026-12-04"),
        ("pt", "amanhã", "2026-11-28"),
        ("pt", "quatro de dezembro", "2026-12-04"),
    ],
)
def test_a_day_is_heard(code: str, said: str, day: str) -> None:
    assert heard("date", code, said) == HeardValue(day, about_it=True)


def test_a_day_that_may_be_another_is_doubtful_and_one_that_cannot_be_is_unclear() -> None:
    assert heard("date", "en", "Friday").doubtful
    assert heard("date", "en", "5/4").doubtful
    assert heard("date", "en", "5/4", region="US") == HeardValue("2027-05-04", about_it=True)
    assert heard("date", "en", "February 30") == HeardValue(about_it=True)
    assert heard("date", "en", "What do you have?") == HeardValue()
    assert heard("date", "en", "No, the 5th", "2026-12-04") == HeardValue("2026-12-05", about_it=True)


@pytest.mark.parametrize(
    ("code", "said", "so_far", "value"),
    [
        ("en", "24 December 1980", "", "1980-12-24"),
        ("en", "December 24th, nineteen eighty", "", "1980-12-24"),
        ("en", "24121980", "", "1980-12-24"),
        ("de", "24.12.80", "", "1980-12-24"),
        ("de", "24. Dezember", "", ""),
        ("de", "1980", "--12-24", "1980-12-24"),
        ("en", "No, 1981", "1980-12-24", "1981-12-24"),
    ],
)
def test_a_date_of_birth_is_heard_with_its_year(code: str, said: str, so_far: str, value: str) -> None:
    found = heard("date_of_birth", code, said, so_far)
    assert (found.value or "", found.about_it) == (value, True)


@pytest.mark.parametrize(
    ("code", "said", "time"),
    [
        ("en", "At 9:30", "09:30"),
        ("en", "nine thirty", "09:30"),
        ("en", "half past nine", "09:30"),
        ("en", "quarter to ten", "09:45"),
        ("en", "3 pm", "15:00"),
        ("en", "eleven in the morning", "11:00"),
        ("en", "noon", "12:00"),
        ("de", "halb zehn", "09:30"),
        ("de", "Viertel nach neun", "09:15"),
        ("de", "um 15 Uhr 30", "15:30"),
        ("de", "acht Uhr abends", "20:00"),
        ("fr", "neuf heures et demie", "09:30"),
        ("fr", "15h30", "15:30"),
        ("fr", "dix heures moins le quart", "09:45"),
        ("es", "las nueve y media", "09:30"),
        ("es", "las ocho de la tarde", "20:00"),
        ("it", "le nove e mezza", "09:30"),
        ("nl", "half tien", "09:30"),
        ("nl", "kwart over negen", "09:15"),
        ("pt", "nove e meia", "09:30"),
    ],
)
def test_a_time_is_heard(code: str, said: str, time: str) -> None:
    found = heard("time", code, said)
    assert (found.value, found.about_it) == (time, True)


def test_an_hour_that_may_be_in_the_night_is_doubtful() -> None:
    assert heard("time", "en", "at three") == HeardValue("15:00", about_it=True, doubtful=True)


@pytest.mark.parametrize(
    ("name", "code", "value", "read"),
    [
        ("date", "en", "2026-12-04", "Friday, December 4"),
        ("date", "en", "2028-12-04", "Monday, December 4, 2028"),
        ("date", "de", "2026-12-04", "Freitag, 4. Dezember"),
        ("date", "fr", "2026-12-04", "vendredi 4 décembre"),
        ("date_of_birth", "en", "1980-12-24", "December 24, 1980"),
        ("date_of_birth", "de", "1980-12-24", "24. Dezember 1980"),
        ("date_of_birth", "es", "1980-12-24", "24 de diciembre de 1980"),
        ("time", "en", "15:30", "3:30 PM"),
        ("time", "de", "15:30", "15:30 Uhr"),
    ],
)
def test_a_day_or_time_is_written_to_be_read_back(name: str, code: str, value: str, read: str) -> None:
    assert kind(name).confirm(value, Frame(code, TODAY)) == read
