"""All kinds of values by name. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.values.calendar_kinds import BirthKind, DateKind, TimeKind
from voiceagent.values.card_kind import CardKind
from voiceagent.values.digit_kinds import DigitsKind, MoneyKind, PhoneKind
from voiceagent.values.kind import Kind
from voiceagent.values.text_kinds import AddressKind, EmailKind
from voiceagent.values.word_kinds import ChoiceKind, NameKind, YesNoKind

_ALL: tuple[Kind, ...] = (
    PhoneKind(),
    EmailKind(),
    NameKind(),
    AddressKind(),
    DateKind(),
    TimeKind(),
    BirthKind(),
    DigitsKind(),
    MoneyKind(),
    ChoiceKind(),
    YesNoKind(),
    CardKind(),
)
KINDS: Mapping[str, Kind] = {one.name: one for one in _ALL}


def kind(name: str) -> Kind:
    """The kind of this name. Raises KeyError."""
    return KINDS[name]
