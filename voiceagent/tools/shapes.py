"""The form of the values of a tool's arguments, read off its JSON schema (2020-12): `pattern`, `format`, lengths and `enum`. Only
the plain patterns that people write for codes are understood; no pattern is ever run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from voiceagent.turn_taking.language import bare_words
from voiceagent.turn_taking.patience import ValueShape

MAX_SHAPES = 32
"""The most shapes of one tool."""
MAX_PATTERN_CHARACTERS = 100
_PHONES = frozenset({"phone", "tel", "telephone", "phone-number"})
_NUMBERS = ("integer", "number")
_ATOM = re.compile(r"(?P<digit>\\d|\[0-9\])|(?P<other>\[[A-Za-z0-9-]+\]|\\w|[A-Za-z0-9-])")
_TIMES = re.compile(r"\{(\d{1,3})(?:,(\d{0,3}))?\}|([+*?])")


def shapes(parameters: Mapping[str, object]) -> tuple[ValueShape, ...]:
    """The shapes of a tool's `parameters`, an object's schema; arguments whose schema says nothing are left out."""
    properties = parameters.get("properties")
    found = (_shape(name, schema) for name, schema in properties.items()) if isinstance(properties, Mapping) else iter(())
    return tuple(shape for shape in found if shape is not None)[:MAX_SHAPES]


def _shape(name: str, schema: object) -> ValueShape | None:
    if not isinstance(schema, Mapping):
        return None
    hints = frozenset(bare_words(f"{name.replace('_', ' ')} {schema.get('description', '')}"))
    if schema.get("format") == "email":
        return ValueShape("email", hints=hints)
    if schema.get("format") in _PHONES:
        return ValueShape("phone", hints=hints)
    choices = schema.get("enum")
    if isinstance(choices, list):
        return ValueShape("choice", hints=hints, choices=tuple(choice for choice in choices if isinstance(choice, str)))
    if schema.get("type") in _NUMBERS:
        return ValueShape("number", hints=hints)
    return _code(schema, hints)


def _code(schema: Mapping[str, object], hints: frozenset[str]) -> ValueShape | None:
    """A code of that many characters."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and len(pattern) <= MAX_PATTERN_CHARACTERS:
        atoms = list(_atoms(pattern.removeprefix("^").removesuffix("$")))
        if atoms and None not in atoms:
            return _of_atoms([atom for atom in atoms if atom is not None], hints)
    shortest, longest = schema.get("minLength"), schema.get("maxLength")
    if schema.get("type") == "string" and isinstance(shortest, int) and shortest > 1 and isinstance(longest, int):
        return ValueShape("characters", shortest, longest, hints)
    return None


def _of_atoms(atoms: Sequence[tuple[bool, int, int]], hints: frozenset[str]) -> ValueShape:
    least = sum(low for _, low, _ in atoms)
    most = 0 if any(high == 0 for _, _, high in atoms) else sum(high for _, _, high in atoms)
    return ValueShape("digits" if all(digit for digit, _, _ in atoms) else "characters", least, most, hints)


def _atoms(pattern: str) -> Iterator[tuple[bool, int, int] | None]:
    """Yields for each part of a plain pattern: true for digits alone, and the fewest and most times it may stand (most 0: any
    number). Ends with None at a part that is not understood."""
    at = 0
    while at < len(pattern):
        atom = _ATOM.match(pattern, at)
        if atom is None:
            yield None
            return
        at = atom.end()
        times = _TIMES.match(pattern, at)
        least, most = 1, 1
        if times is not None:
            at = times.end()
            least, most = _count(times)
        if atom.group() != "-":
            yield atom["digit"] is not None, least, most


def _count(times: re.Match[str]) -> tuple[int, int]:
    if times[3]:
        return {"+": (1, 0), "*": (0, 0), "?": (0, 1)}[times[3]]
    least = int(times[1])
    return least, least if times[2] is None else int(times[2] or 0)
