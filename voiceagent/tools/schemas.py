"""JSON schemas of MCP servers, webhooks and clients. They are made plain before the model sees them and before arguments are
checked by them. A plain schema is a finite tree. References are resolved and nothing is fetched. Parts that could take for ever
(recursion, other people's regular expressions) are left out or refused. With references a small text can stand for a huge tree,
so its size is counted while it grows, and the work stops when there is no more room. The forms of the values of a tool's
arguments (2020-12: `pattern`, `format`, lengths and `enum`) are read off a schema, too; no pattern is ever run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, TypeGuard

from voiceagent.json_types import JsonObject
from voiceagent.turn_taking.language import bare_words
from voiceagent.turn_taking.patience import ValueShape

MAX_SCHEMA_CHARACTERS = 16_000
"""The most characters of one schema as it is written."""
MAX_PARTS = 1000
"""The most parts of one schema with its references resolved."""
MAX_PLAIN_BYTES = 65_536
"""The most bytes of its JSON, which a language model reads in every turn."""
MAX_DEPTH = 16
MAX_STEPS = 64
"""The most steps of a reference."""
MAX_PROBLEM_CHARACTERS = 300

_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


@dataclass(slots=True)
class Room:
    """The space left for schemas that share one limit."""

    left_parts: int
    left_bytes: int
    of: str
    """The owner of the room and its size at first, for the refusal: `all of a client's tools together may take …`."""

    def take(self, parts: int, size_bytes: int) -> None:
        """Raises ValueError when there is not enough room."""
        self.left_parts -= parts
        self.left_bytes -= size_bytes
        if self.left_parts < 0 or self.left_bytes < 0:
            raise ValueError(f"grows too large with its references resolved: {self.of}")


def room_of_one() -> Room:
    """The room of a schema by itself."""
    return Room(MAX_PARTS, MAX_PLAIN_BYTES, f"one schema may take {MAX_PARTS} parts and {MAX_PLAIN_BYTES} bytes")


def _number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: object) -> bool:
    return isinstance(value, str)


def _type(value: object) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and all(isinstance(kind, str) and kind in _TYPES for kind in kinds)


_KEPT: Mapping[str, Callable[[object], bool]] = {
    "type": _type,
    "description": _text,
    "format": _text,
    "enum": lambda value: isinstance(value, list) and bool(value),
    "const": lambda value: True,
    "required": lambda value: isinstance(value, list) and all(map(_text, value)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    "multipleOf": lambda value: _number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    "uniqueItems": lambda value: isinstance(value, bool),
}
"""The keywords that are kept, and the values that they must have. The meta-schema's own check takes a hundred times as long, on
the event loop of all calls."""
_ONE = frozenset({"items", "additionalProperties", "not"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})


def plain(schema: object, *, own_patterns: bool = False, room: Room | None = None) -> JsonObject:
    """The plain schema of a tool's arguments, of type object and with `properties`. Its size is taken from `room` too. Raises
    ValueError, whose text says what is wrong with it; then nothing was taken from `room`."""
    if not isinstance(schema, dict):
        raise ValueError(f"is a {type(schema).__name__}, expected a JSON schema of type object")
    try:
        size = len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from error
    if size > MAX_SCHEMA_CHARACTERS:
        raise ValueError(f"has {size} characters, expected at most {MAX_SCHEMA_CHARACTERS}")
    mine = room_of_one()
    if room is not None and (room.left_parts < mine.left_parts or room.left_bytes < mine.left_bytes):
        mine = Room(min(room.left_parts, mine.left_parts), min(room.left_bytes, mine.left_bytes), room.of)
    parts, size_bytes = mine.left_parts, mine.left_bytes
    tree = _Plain(schema, own_patterns, mine).node(schema, 0)
    if tree.setdefault("type", "object") != "object":
        raise ValueError(f"is of type {tree['type']!r}, expected object")
    tree.setdefault("properties", {})
    if room is not None:
        room.take(parts - mine.left_parts, size_bytes - mine.left_bytes)
    return tree


class _Plain:
    def __init__(self, root: dict[str, object], own_patterns: bool, room: Room) -> None:
        self._root = root
        self._own_patterns = own_patterns
        self._room = room

    def node(self, schema: object, depth: int) -> dict[str, object]:
        if depth > MAX_DEPTH:
            raise ValueError(f"nests deeper than {MAX_DEPTH} levels, or within itself; make it flatter")
        if not isinstance(schema, dict):
            raise ValueError(f"holds {short(repr(schema))} where a schema is expected")
        self._room.take(1, 2)
        plain: dict[str, object] = {}
        if "$ref" in schema:
            plain.update(self.node(self._resolve(schema["$ref"]), depth + 1))
        for key, value in schema.items():
            if key in _KEPT:
                if not _KEPT[key](value):
                    raise ValueError(f"holds {short(repr(value))} as {key!r}, which is not JSON schema")
                self._room.take(0, len(key) + 4 + _json_length(value))
                plain[key] = value
            elif key == "pattern" and self._own_patterns:
                plain[key] = _expression(value)
            elif key in _ONE:
                self._room.take(0, len(key) + 9)
                plain[key] = value if isinstance(value, bool) else self.node(value, depth + 1)
            elif key in _LISTS and isinstance(value, list) and value:
                self._room.take(0, len(key) + 6 + len(value))
                plain[key] = [self.node(choice, depth + 1) for choice in value]
            elif key == "properties" and isinstance(value, dict):
                plain[key] = {str(name): self._property(str(name), child, depth + 1) for name, child in value.items()}
        return plain

    def _property(self, name: str, child: object, depth: int) -> dict[str, object]:
        self._room.take(0, len(encode_basestring_ascii(name)) + 2)
        return self.node(child, depth)

    def _resolve(self, reference: object) -> object:
        found: object = self._root
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise ValueError(f"refers to {short(repr(reference))}, expected a place in itself such as #/$defs/Address")
        for step in reference[2:].split("/", MAX_STEPS):
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or key not in found:
                raise ValueError(f"refers to {short(reference)}, which is not there")
            found = found[key]
        return found


def _json_length(value: object) -> int:
    return len(encode_basestring_ascii(value)) if isinstance(value, str) else len(json.dumps(value))


def _expression(value: Any) -> str:
    try:
        re.compile(value)  # a client's value, of which re itself says what is wrong with it
    except (TypeError, re.error) as error:
        raise ValueError(f"holds the pattern {short(repr(value))}, which is no regular expression ({error})") from error
    return str(value)


def short(text: str) -> str:
    """The text as one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_PROBLEM_CHARACTERS else line[:MAX_PROBLEM_CHARACTERS] + " …"


# --- the forms of values ----------------------------------------------------------------------------------------------

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
            least, most = _repetitions(times)
        if atom.group() != "-":
            yield atom["digit"] is not None, least, most


def _repetitions(times: re.Match[str]) -> tuple[int, int]:
    if times[3]:
        return {"+": (1, 0), "*": (0, 0), "?": (0, 1)}[times[3]]
    least = int(times[1])
    return least, least if times[2] is None else int(times[2] or 0)
