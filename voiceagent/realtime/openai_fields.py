"""Fields of OpenAI's session and response objects: for each one what is done with it, and how a value is checked. The table in
docs/realtime.md is made from these, so what it says of a field is what happens to it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.settings import invalid

Support = Literal["supported", "differs", "refused"]

Check = Callable[[object], object]
"""Returns the value as it is kept. Raises ValueError with what is expected."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object that a client sends."""

    check: Check
    support: Support = "supported"
    note: str = ""


def text(longest: int) -> Check:
    """A string of at most so many characters."""

    def check(value: object) -> object:
        if not isinstance(value, str) or len(value) > longest:
            raise ValueError(f"must be text of at most {longest} characters")
        return value

    return check


def number(least: float, most: float) -> Check:
    """A number within bounds."""

    def check(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(f"must be a number from {least:g} to {most:g}")
        return float(value)

    return check


def integer(least: int, most: int) -> Check:
    """A whole number within bounds."""

    def check(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return value

    return check


def flag(value: object) -> object:
    """A boolean."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def one_of(*names: str) -> Check:
    """One of these strings."""

    def check(value: object) -> object:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return value

    return check


def optional(check: Check) -> Check:
    """The same, or null."""
    return lambda value: None if value is None else check(value)


def only(*accepted: object, why: str) -> Field:
    """A field that is refused unless it asks for nothing."""

    def check(value: object) -> object:
        if not any(value == one and type(value) is type(one) for one in accepted):
            raise ValueError(f"is not supported: {why}")
        return value

    return Field(check, "refused", why)


def read_fields(given: Mapping[str, object], fields: Mapping[str, Field], prefix: str, event_id: str | None) -> dict[str, object]:
    """The checked values of an object with these fields, by the names of the fields. A name with dots is a field of an object
    within. Raises ClientEventError for the first value that cannot be used, and for a field that is not known."""
    values: dict[str, object] = {}
    _read(given, fields, prefix, "", event_id, values)
    return values


def _read(
    given: Mapping[str, object],
    fields: Mapping[str, Field],
    prefix: str,
    inside: str,
    event_id: str | None,
    values: dict[str, object],
) -> None:
    for name, value in given.items():
        path = f"{inside}{name}"
        param = (f"{prefix}.{path}" if prefix else path)[:200]
        field = fields.get(path)
        if field is not None:
            values[path] = checked(field, value, param, event_id)
        elif any(known.startswith(f"{path}.") for known in fields):
            if value is None:
                continue
            if not isinstance(value, dict):
                raise invalid(f"{param} must be an object.", param, event_id)
            _read(value, fields, prefix, f"{path}.", event_id, values)
        else:
            raise unknown(param, fields, inside, event_id)


def checked(field: Field, value: object, param: str, event_id: str | None) -> object:
    """The value of one field. Raises ClientEventError."""
    try:
        return field.check(value)
    except ValueError as error:
        code = "unsupported_value" if field.support == "refused" or "not supported" in str(error) else "invalid_value"
        raise invalid(f"{param} {error}.", param, event_id, code) from error


def unknown(param: str, fields: Mapping[str, Field], inside: str, event_id: str | None) -> ClientEventError:
    """The error for a field that is not known."""
    known = sorted({path.removeprefix(inside).split(".")[0] for path in fields if path.startswith(inside)})
    return invalid(f"{param} is not known; expected one of {', '.join(known)}.", param, event_id, "unknown_parameter")
