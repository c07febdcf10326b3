"""`@tool` makes a Python function a tool that the model may call. The JSON schema comes from the signature and the docstring, so
there is one place to change. Arguments that do not fit the schema never reach the function."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable
from typing import Annotated, Generic, Literal, ParamSpec, TypeVar, overload

import msgspec
from typing_extensions import override

from voiceagent.errors import ConfigError
from voiceagent.json_types import JsonObject
from voiceagent.tools.call_context import CallContext
from voiceagent.tools.tool import NAME, Effect, RunScope, Tool, ToolError, ToolPolicy, check_policy, json_object, policy_of

MOST_SPELLED = 64

# Hints for `Annotated`. They say what a tool's argument is if its type does not, so that callers get the time to say all of it:
# def find(order: Annotated[str, Digits(5)], mail: Annotated[str, Email], name: Annotated[str, Spelled]) -> ...
Email = msgspec.Meta(extra_json_schema={"format": "email"})
"""An e-mail address."""
Phone = msgspec.Meta(extra_json_schema={"format": "phone"})
"""A telephone number."""
Spelled = msgspec.Meta(extra_json_schema={"minLength": 2, "maxLength": MOST_SPELLED})
"""A name or a word that callers spell."""


def Digits(least: int, most: int | None = None) -> msgspec.Meta:
    """A number that is said digit by digit: of so many, or of `least` to `most`."""
    return msgspec.Meta(pattern=rf"^\d{{{least}}}$" if most is None else rf"^\d{{{least},{most}}}$")


P = ParamSpec("P")
R = TypeVar("R")

_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples|Note|Notes):\s*$")
_ARGUMENT = re.compile(r"^\s+(\w+)\s*(?:\([^)]*\))?:\s*(.+)$")


class FunctionTool(Tool, Generic[P, R]):
    """A Python function as a tool: still callable as the function it was made from."""

    def __init__(
        self,
        name: str,
        description: str,
        function: Callable[P, R],
        policy: ToolPolicy,
        parameters: dict[str, object],
        arguments: type[msgspec.Struct],
        context: str = "",
        state_type: type | None = None,
    ) -> None:
        """`arguments` is `parameters` as a type, with one field per parameter. `context` is the name of the parameter that takes
        the call; empty if there is none. `state_type` is the type of what it keeps of the call, if it names one."""
        self.name = name
        self.description = description
        self.function = function
        self.policy = policy
        self.parameters = parameters
        self.state_type = state_type
        self._arguments = arguments
        self._context = context

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function itself, unchecked."""
        return self.function(*args, **kwargs)

    async def run(self, given: JsonObject, scope: RunScope) -> object:
        """Run a plain function in a thread, an `async` one on the event loop."""
        function: Callable[..., object] = self.function
        if self._context:
            given = {**given, self._context: scope.call}
        if inspect.iscoroutinefunction(function):
            return await function(**given)
        return await scope.threads.run(functools.partial(function, **given))

    @override
    def parse(self, arguments: str) -> JsonObject:
        given = json_object(arguments)
        fields = {field.name: field for field in msgspec.structs.fields(self._arguments)}
        unknown = [name for name in given if name not in fields]
        if unknown:
            known = ", ".join(fields) or "none"
            raise ToolError(f"The tool has no argument {unknown[0]}; its arguments are: {known}.")
        kept = {n: _lenient(v, fields[n].type) for n, v in given.items() if v is not None or fields[n].required}
        try:
            checked = msgspec.convert(kept, self._arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolError(f"Wrong arguments: {self._readable(str(error))}.") from error
        return msgspec.structs.asdict(checked)

    def _readable(self, error: str) -> str:
        missing = re.match(r"Object missing required field `(\w+)`", error)
        if missing:
            return f"{missing[1]} is missing"
        problem, _, where = error.partition(" - at `$.")
        field = where.rstrip("`")
        problem = problem[:1].lower() + problem[1:].replace("`", "")
        allowed = self.parameters["properties"].get(field, {}).get("enum")
        if allowed:
            problem += f", expected one of {', '.join(map(str, allowed))}"
        return f"{field}: {problem}" if field else problem


def _lenient(value: object, expected: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool) and _bare(expected) is str:
        return str(value)
    return value


def _bare(annotation: object) -> object:
    """The type inside `Annotated` and `| None`."""
    if typing.get_origin(annotation) is Annotated:
        return _bare(typing.get_args(annotation)[0])
    members = [a for a in typing.get_args(annotation) if a is not type(None)]
    if len(members) == 1 and type(None) in typing.get_args(annotation):
        return _bare(members[0])
    return annotation


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str = ...,
    effect: Effect = ...,
    filler: str | tuple[str, ...] = ...,
    confirm: str | Literal[False] = ...,
    timeout_s: float | None = ...,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str = "",
    effect: Effect = "external",
    filler: str | tuple[str, ...] = (),
    confirm: str | Literal[False] = "",
    timeout_s: float | None = None,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a function (plain or `async`) a tool. Parameters need annotations: `str`, `int`, `float`, `bool`, `Literal`, lists and
    dicts of them, or `| None`. `Annotated[int, "how many guests"]` or an `Args:` section in the docstring describes a parameter.
    The docstring's first paragraph is the tool's description. A parameter of the type `CallContext` takes the call that it runs
    for. The model may leave out a parameter with a default. The result is
    given to the model as JSON.

    `effect`: what a run leaves behind. `filler`: what may be said while it runs. `confirm`: a question to ask first, such as
    `"Shall I book a table for {people}?"`, or False to have no advice about it. `timeout_s`: the longest run, instead of the
    agent's `turn.tool_timeout_s`. Raises ConfigError when no schema can be made, or a setting cannot be used."""
    policy = policy_of(effect, (filler,) if isinstance(filler, str) and filler else tuple(filler), confirm, timeout_s)
    if function is None:
        return lambda f: _make(f, name or f.__name__, policy)
    return _make(function, name or function.__name__, policy)


def _make(function: Callable[P, R], name: str, policy: ToolPolicy) -> FunctionTool[P, R]:
    if not NAME.fullmatch(name):
        raise ConfigError(f"tool {name!r}: expected a name of letters, digits, _ and - (at most 64)")
    description, described = _docstring(inspect.getdoc(function) or "")
    if not description:
        raise ConfigError(f"tool {name}: has no docstring; its first paragraph tells the model what the tool does")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(f"tool {name}: its annotations cannot be read ({error})") from error
    fields: list[tuple[str, object, object]] = []
    context, state_type = "", None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ConfigError(f"tool {name}: parameter {parameter} cannot be given by name; use plain parameters")
        if parameter.name not in hints:
            raise ConfigError(f"tool {name}: parameter {parameter.name} has no type; annotate it, e.g. {parameter.name}: str")
        if CallContext in (hints[parameter.name], typing.get_origin(hints[parameter.name])):
            if context:
                raise ConfigError(f"tool {name}: {context} and {parameter.name} both take the call; expected one such parameter")
            context, state_type = parameter.name, _state_type(name, hints[parameter.name])
            continue
        annotation = _annotated(hints[parameter.name], described.get(parameter.name, ""))
        default = msgspec.NODEFAULT if parameter.default is parameter.empty else _default(parameter.default)
        fields.append((parameter.name, annotation, default))
    try:
        arguments = msgspec.defstruct(name.replace("-", "_"), fields, kw_only=True)
        parameters = _inline(msgspec.json.schema(arguments))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"tool {name}: no JSON schema can be made of its parameters ({str(error).splitlines()[0]})") from error
    check_policy(name, policy, parameters["properties"])
    return FunctionTool(name, description, function, policy, parameters, arguments, context, state_type)


def _state_type(tool: str, hint: object) -> type | None:
    """The type of the call's state. Raises ConfigError unless it can be made without arguments and written as JSON."""
    state_type: type | None = next(iter(typing.get_args(hint)), None)
    if state_type is None or typing.get_origin(state_type) is dict:
        return None
    try:
        msgspec.json.encode(state_type())
    except Exception as error:
        raise ConfigError(
            f"tool {tool}: CallContext[{getattr(state_type, '__name__', state_type)}] cannot keep the call's state ({error}); "
            "expected a dataclass or a msgspec.Struct whose fields all have defaults and are JSON"
        ) from error
    return state_type


def _default(value: object) -> object:
    if isinstance(value, list | dict | set):
        return msgspec.field(default_factory=lambda: type(value)(value))
    return value


def _annotated(hint: object, described: str) -> object:
    """Turn `Annotated[T, "text"]` and docstring text into what msgspec writes into the schema."""
    if typing.get_origin(hint) is Annotated:
        base, *extras = typing.get_args(hint)
        metas = [msgspec.Meta(description=e) if isinstance(e, str) else e for e in extras]
        metas = [m for m in metas if isinstance(m, msgspec.Meta)]
        return Annotated[(base, *metas)] if metas else base
    return Annotated[hint, msgspec.Meta(description=described)] if described else hint


def _inline(schema: JsonObject) -> JsonObject:
    """The schema of a flat struct without `$ref`, titles and defaults: only what a model's prompt needs."""
    definitions = schema.get("$defs", {})
    found: JsonObject = definitions[schema["$ref"].rsplit("/", 1)[-1]]

    def clean(node: object) -> object:
        if isinstance(node, list):
            return [clean(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return clean(definitions[node["$ref"].rsplit("/", 1)[-1]])
        return {k: clean(v) for k, v in node.items() if k not in ("title", "default")}

    properties = {name: _without_null(clean(node)) for name, node in found.get("properties", {}).items()}
    return {"type": "object", "properties": properties, "required": list(found.get("required", []))}


def _without_null(node: object) -> object:
    if not isinstance(node, dict):
        return node
    choices = [choice for choice in node.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        rest = {k: v for k, v in node.items() if k != "anyOf"}
        return {**choices[0], **rest}
    return node


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """The first paragraph on one line, and the descriptions of an `Args:` section."""
    paragraph = text.split("\n\n", 1)[0]
    lines = [line for line in paragraph.splitlines() if not _SECTION.match(line)]
    described: dict[str, str] = {}
    section = current = ""
    for line in text.splitlines():
        heading = _SECTION.match(line)
        if heading:
            section, current = heading[1], ""
        elif section in ("Args", "Arguments", "Parameters"):
            argument = _ARGUMENT.match(line)
            if argument:
                current = argument[1]
                described[current] = argument[2].strip()
            elif current and line.strip():
                described[current] += " " + line.strip()
    return " ".join(" ".join(lines).split()), described
