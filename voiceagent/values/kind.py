"""The interface of a kind of value, such as a telephone number: it hears the value in the caller's words, and writes it to be
read back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from voiceagent.turn_taking.language import Language
from voiceagent.turn_taking.languages import language


@dataclass(frozen=True, slots=True)
class HeardValue:
    """The caller's words, as a kind of value hears them. Its repr holds no value: a card's number stands in no log."""

    value: str | None = field(default=None, repr=False)
    """The whole value in its written form."""
    partial: str = field(default="", repr=False)
    """The part of it that is known, with what was known before."""
    about_it: bool = False
    """True if the words are about the value."""
    doubtful: bool = False
    """True if the value may be another one."""
    growing: bool = False
    """True if more may follow what is a whole value already."""


ELSEWHERE = HeardValue()
UNCLEAR = HeardValue(about_it=True)


@dataclass(frozen=True, slots=True)
class Frame:
    """The circumstances in which a value is told."""

    language: str
    today: date = date.min
    region: str = ""
    """The code of a country (ISO 3166-1)."""
    options: Mapping[str, object] = field(default_factory=dict)
    """The kind's own."""

    @property
    def words(self) -> Language:
        """The data of the language."""
        return language(self.language)

    def number(self, *names: str, default: int = 0) -> int:
        """The first of these options that is a whole number."""
        given = (self.options.get(name) for name in names)
        return next((one for one in given if isinstance(one, int) and not isinstance(one, bool)), default)

    def text(self, name: str, default: str = "") -> str:
        """An option that is a text."""
        given = self.options.get(name)
        return given if isinstance(given, str) else default


class Kind(Protocol):
    """A kind of value."""

    @property
    def name(self) -> str:
        """Its name in settings."""
        ...

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """Hear the value in the caller's words. `so_far` is the part that is known, or the whole value if it was read back."""
        ...

    def confirm(self, value: str, frame: Frame) -> str:
        """The value as it is read back."""
        ...

    def hint(self, frame: Frame) -> str:
        """Such answers, for the recogniser."""
        ...

    def schema(self) -> dict[str, object]:
        """The JSON schema of its written form."""
        ...
