"""Checks arguments that a language model wrote against the schema of a tool. The check is lenient where models are imprecise,
takes bounded time, and leaves the event loop if it takes longer than a moment."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.validators import extend
from typing_extensions import override

from voiceagent.json_types import JsonObject
from voiceagent.tools.schemas import Room, plain, short
from voiceagent.tools.tool import Tool, ToolError, ToolPolicy, json_object

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
