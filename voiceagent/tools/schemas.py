"""JSON schemas of MCP servers, webhooks and clients, and the check of a language model's arguments against them. Schemas are
made plain before the model sees them and before arguments are checked by them. A plain schema is a finite tree. References are
resolved and nothing is fetched. Parts that could take for ever (recursion, other people's regular expressions) are left out or
refused. With references a small text can stand for a huge tree, so its size is counted while it grows, and the work stops when
there is no more room. The forms of the values of a tool's arguments (2020-12: `pattern`, `format`, lengths and `enum`) are read
off a schema, too; no pattern is ever run. The check is lenient where models are imprecise, takes bounded time, and leaves the
event loop if it takes longer than a moment."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, TypeGuard

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend
from typing_extensions import override

from voiceagent.json_types import JsonObject
from voiceagent.tools.tool import Tool, ToolError, ToolPolicy, json_object
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


# --- the check of arguments -------------------------------------------------------------------------------------------

LOOP_CHECKS = 120
"""Most checks that run on the event loop. One takes some 10 µs; a message about it takes longer for longer arguments. More checks
go to a thread."""
MAX_CHECKS = 10_000
LONG_CHARACTERS = 2000
"""Length of arguments, in characters, for which a check costs as much again, because messages quote the arguments."""


class TooMuchToCheck(Exception):
    """The checks would take too long."""


class ArgumentSchema:
    """The schema of a tool's arguments, and their check."""

    def __init__(self, schema: object, *, own_patterns: bool = False, room: Room | None = None) -> None:
        """`schema` is the schema as given. `pattern` counts only with `own_patterns`; otherwise whoever runs the tool checks it.
        The schema takes its part of `room`. Raises ValueError, whose text says what is wrong with it."""
        self.parameters: JsonObject = plain(schema, own_patterns=own_patterns, room=room)
        self._properties: dict[str, object] = self.parameters["properties"]
        self._required = frozenset(self.parameters.get("required", ()))
        self._validator = _Counting(self.parameters)

    async def check(self, arguments: str) -> dict[str, object]:
        """See `parse`; a check that takes more than a moment runs in a thread."""
        try:
            return self._parsed(arguments, LOOP_CHECKS)
        except TooMuchToCheck:
            return await asyncio.to_thread(self.parse, arguments)

    def parse(self, arguments: str) -> dict[str, object]:
        """Check a JSON object of arguments. Raises ToolError in words that the model can act on."""
        try:
            return self._parsed(arguments, MAX_CHECKS)
        except TooMuchToCheck as error:
            raise ToolError("The arguments are too much to check; send fewer of them.") from error

    def _parsed(self, arguments: str, checks: int) -> dict[str, object]:
        given = {
            name: _lenient(value, self._properties.get(name))
            for name, value in json_object(arguments).items()
            if value is not None or name in self._required or "null" in _types(self._properties.get(name))
        }
        token = _budget.set(_Budget(checks, 1 + len(arguments) // LONG_CHARACTERS))
        try:
            problem = best_match(self._validator.iter_errors(given))
        except (OverflowError, RecursionError) as error:  # for a multiple of 0.01, the number may exceed what a float holds
            raise ToolError("Wrong arguments: a number is too large, or they nest too deep.") from error
        finally:
            _budget.reset(token)
        if problem is None:
            return given
        where = ".".join(str(step) for step in problem.absolute_path)
        raise ToolError(f"Wrong arguments: {where + ': ' if where else ''}{short(problem.message)}.")


class SchemaTool(Tool):
    """A tool whose arguments are checked against a JSON schema. Subclasses run it."""

    def __init__(self, name: str, description: str, policy: ToolPolicy, arguments: ArgumentSchema) -> None:
        self.name = name
        self.description = description
        self.policy = policy
        self.parameters = arguments.parameters
        self._arguments = arguments

    @override
    def parse(self, arguments: str) -> dict[str, object]:
        return self._arguments.parse(arguments)

    @override
    async def check(self, arguments: str) -> dict[str, object]:
        return await self._arguments.check(arguments)


class _Budget:
    """The budget of one check of arguments."""

    def __init__(self, left: int, price: int) -> None:
        self.left = left
        self._price = price

    def spend(self, checks: int) -> None:
        """Raises TooMuchToCheck."""
        self.left -= checks * self._price
        if self.left < 0:
            raise TooMuchToCheck


_budget: ContextVar[_Budget] = ContextVar("budget")


def _unique(value: object, instance: object) -> int:
    """Lists whose items can be ordered are sorted; others are compared item by item."""
    if not isinstance(instance, list) or not value:
        return 0
    ordered = all(isinstance(item, str) for item in instance) or all(isinstance(item, int | float) for item in instance)
    return len(instance) // 10 if ordered else len(instance) ** 2 // 10


def _size(of: object) -> int:
    return len(of) if isinstance(of, list | dict) else 0


def _free(value: object, instance: object) -> int:
    return 0


_COSTS: Mapping[str, Callable[[object, object], int]] = {
    "enum": lambda value, instance: _size(value) // 5,
    "required": lambda value, instance: _size(value) // 2,
    "properties": lambda value, instance: _size(value) // 10 + min(_size(value), _size(instance)),
    "additionalProperties": lambda value, instance: _size(instance),
    "items": lambda value, instance: _size(instance),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), lambda value, instance: _size(value)),
    "uniqueItems": _unique,
}
"""Costs of a keyword besides one check, from its value and the value being checked."""


_Check = Callable[[object, object, object, object], Iterable[ValidationError] | None]
"""A keyword's check by jsonschema, of a validator, the keyword's value, the value being checked and the schema."""


def _counted(keyword: str, check: _Check) -> Callable[..., Iterator[ValidationError]]:
    cost = _COSTS.get(keyword, _free)

    def counted(validator: object, value: object, instance: object, schema: object) -> Iterator[ValidationError]:
        _budget.get().spend(1 + cost(value, instance))
        yield from check(validator, value, instance, schema) or ()

    return counted


_Counting: type[Draft202012Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {keyword: _counted(keyword, check) for keyword, check in Draft202012Validator.VALIDATORS.items()}
)


def _types(schema: object) -> tuple[str, ...]:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return tuple(kind) if isinstance(kind, list) else (kind,) if isinstance(kind, str) else ()


def _lenient(value: object, schema: object) -> object:
    """The value that a model meant: a number for `"4"` where a number is wanted, text for `4` where text is."""
    types = _types(schema)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value) if types == ("string",) else value
    if isinstance(value, str) and "string" not in types:
        if value in ("true", "false") and "boolean" in types:
            return value == "true"
        with suppress(ValueError):
            if "integer" in types:
                return int(value)
            if "number" in types and math.isfinite(number := float(value)):  # "nan" would pass every limit, and JSON has none
                return number
    return value
