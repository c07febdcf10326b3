"""All kinds of values by name. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.values.card_kind import CardKind
from voiceagent.values.choices import Choice
from voiceagent.values.days import DateKind, DateOfBirth
from voiceagent.values.digits import Digits, Phone
from voiceagent.values.kind import Kind
from voiceagent.values.money import Money
from voiceagent.values.spelled import Email, Name, PostalAddress
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
