"""All kinds of values by name. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.values.card_kind import CardKind
from voiceagent.values.choices import Choice
from voiceagent.values.days import DateKind, DateOfBirth
from voiceagent.values.digits import Digits, Phone
from voiceagent.values.kind import Frame, Kind
from voiceagent.values.money import Money
from voiceagent.values.spelled import Email, Name, PostalAddress
from voiceagent.values.spoken import make_tables
from voiceagent.values.times import TimeKind
from voiceagent.values.yes_no import YesNo

_ALL: tuple[Kind, ...] = (
    Phone(),
    Email(),
    Name(),
    PostalAddress(),
    DateKind(),
    TimeKind(),
    DateOfBirth(),
    Digits(),
    Money(),
    Choice(),
    YesNo(),
    CardKind(),
)
KINDS: Mapping[str, Kind] = {one.name: one for one in _ALL}


def kind(name: str) -> Kind:
    """The kind of this name. Raises KeyError."""
    return KINDS[name]


def prepare(code: str) -> None:
    """Make the tables of a language, and load the telephone numbers of its country: 0.3 s at most, the first time."""
    make_tables(code)
    for one in _ALL:
        one.hear("5 5 5", "", Frame(code))
