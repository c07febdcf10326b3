"""JSON schemas that others wrote, of MCP servers, webhooks and clients: made plain before the model is shown them and before
arguments are checked by them. A plain schema is a finite tree: references are resolved, nothing is fetched, and what could
take for ever (recursion, other people's regular expressions) is left out or refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from voiceagent.tools.tool import ToolError, json_object

MAX_SCHEMA_CHARACTERS = 16_000
MAX_NODES = 1000
MAX_DEPTH = 16
MAX_PROBLEM_CHARACTERS = 300

_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _type(value: Any) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and all(isinstance(kind, str) and kind in _TYPES for kind in kinds)


_KEPT: Mapping[str, Callable[[Any], bool]] = {
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
"""The keywords that are kept, and what their values must be: the meta-schema's own check takes a hundred times as long, on the
event loop of all calls."""
_ONE = frozenset({"items", "additionalProperties", "not"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})


class ArgumentSchema:
    """The schema of a tool's arguments, and their check."""

    def __init__(self, schema: object, *, own_patterns: bool = False) -> None:
        """`schema` as it was given; `pattern` counts only with `own_patterns`: whoever runs the tool checks it anyway. Raises
        ValueError, whose text says what is wrong with it."""
        if not isinstance(schema, dict):
            raise ValueError(f"is a {type(schema).__name__}, expected a JSON schema of type object")
        try:
            size = len(json.dumps(schema))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"is not JSON ({error})") from error
        if size > MAX_SCHEMA_CHARACTERS:
            raise ValueError(f"has {size} characters, expected at most {MAX_SCHEMA_CHARACTERS}")
        plain = _Plain(schema, own_patterns).node(schema, 0)
        if plain.setdefault("type", "object") != "object":
            raise ValueError(f"is of type {plain['type']!r}, expected object")
        properties = plain.setdefault("properties", {})
        self.parameters: Mapping[str, Any] = plain
        self._properties: Mapping[str, Any] = properties
        self._required = frozenset(plain.get("required", ()))
        self._validator = Draft202012Validator(plain)

    def parse(self, arguments: str) -> dict[str, Any]:
        """Check a JSON object of arguments. Raises ToolError in words that the model can act on."""
        given = {
            name: _lenient(value, self._properties.get(name))
            for name, value in json_object(arguments).items()
            if value is not None or name in self._required or "null" in _types(self._properties.get(name))
        }
        try:
            problem = best_match(self._validator.iter_errors(given))
        except (OverflowError, RecursionError) as error:  # a multiple of 0.01 is looked for in a number that no float holds
            raise ToolError("Wrong arguments: a number is too large, or they nest too deep.") from error
        if problem is None:
            return given
        where = ".".join(str(step) for step in problem.absolute_path)
        raise ToolError(f"Wrong arguments: {where + ': ' if where else ''}{_short(problem.message)}.")


class _Plain:
    def __init__(self, root: dict[str, Any], own_patterns: bool) -> None:
        self._root = root
        self._own_patterns = own_patterns
        self._nodes = 0

    def node(self, schema: Any, depth: int) -> dict[str, Any]:
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"nests deeper than {MAX_DEPTH} levels, or within itself; make it flatter")
        if self._nodes > MAX_NODES:
            raise ValueError(f"has more than {MAX_NODES} parts; make it smaller")
        if not isinstance(schema, dict):
            raise ValueError(f"holds {_short(repr(schema))} where a schema is expected")
        plain: dict[str, Any] = {}
        if "$ref" in schema:
            plain.update(self.node(self._resolve(schema["$ref"]), depth + 1))
        for key, value in schema.items():
            if key in _KEPT:
                if not _KEPT[key](value):
                    raise ValueError(f"holds {_short(repr(value))} as {key!r}, which is not JSON schema")
                plain[key] = value
            elif key == "pattern" and self._own_patterns:
                plain[key] = _expression(value)
            elif key in _ONE:
                plain[key] = value if isinstance(value, bool) else self.node(value, depth + 1)
            elif key in _LISTS and isinstance(value, list) and value:
                plain[key] = [self.node(choice, depth + 1) for choice in value]
            elif key == "properties" and isinstance(value, dict):
                plain[key] = {str(name): self.node(child, depth + 1) for name, child in value.items()}
        return plain

    def _resolve(self, reference: Any) -> Any:
        found: Any = self._root
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise ValueError(f"refers to {_short(repr(reference))}, expected a place in itself such as #/$defs/Address")
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or key not in found:
                raise ValueError(f"refers to {_short(reference)}, which is not there")
            found = found[key]
        return found


def _expression(value: Any) -> str:
    try:
        re.compile(value)
    except (TypeError, re.error) as error:
        raise ValueError(f"holds the pattern {_short(repr(value))}, which is no regular expression ({error})") from error
    return str(value)


def _types(schema: Any) -> tuple[str, ...]:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return tuple(kind) if isinstance(kind, list) else (kind,) if isinstance(kind, str) else ()


def _lenient(value: Any, schema: Any) -> Any:
    """What a model meant: `"4"` where a number is wanted, `4` where text is."""
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


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_PROBLEM_CHARACTERS else line[:MAX_PROBLEM_CHARACTERS] + " …"
