"""The sets: files of agents with what callers say to them and what is right then. One file an agent, in `sets/<split>/`; its
sections are lines, so that they can be read through:

- `tools`: `name(parameter: type, …) -- what it does => its result as JSON`; a call's arguments are in its result too. Its schema
  is the one that `@tool` makes of such a function.
- `requests`: `what is said => the call, as Python writes it`; several calls with `;` between them. An argument's value is what
  was said; a list holds all ways in which it may be put, `None` among them where it may be left out.
- `dialogues`: the same, a dialogue's turns in a paragraph. `=> -`: no call fits; `=> ?`: something is missing, to be asked for.
- `none`: what is said where no tool fits.
- `facts`: `question => key | key`: the answer holds one of the keys; of `key & key` both; `re:` begins a regular expression.
  `=> ?`: the instructions do not say it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import yaml

from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.tools.decorator import tool
from voiceagent.tools.modules import load_tools
from voiceagent.tools.tool import Tool

SETS = Path(__file__).resolve().parent / "sets"
DEMO = "demo"
"""The file of requests to the demo agent, which has its own instructions and tools."""
ARROW = " => "
NOTHING, MISSING = "-", "?"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that is right: by argument, the values that are; None among them where it may be left out."""

    name: str
    arguments: dict[str, tuple[Any, ...]]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={values[0]!r}' for name, values in self.arguments.items())})"


@dataclass(frozen=True, slots=True)
class Turn:
    """A caller's turn, and the right reply to it."""

    set: Literal["demo", "unseen", "none", "facts"]
    said: str
    kind: Literal["call", "none", "ask", "fact", "absent"]
    calls: tuple[Call, ...] = ()
    keys: tuple[str, ...] = ()
    """Keys of a fact: each one that the answer may hold."""


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent's file as it is written."""

    instructions: str = ""
    """None in the demo's file."""
    greeting: str = ""
    tools: str = ""
    requests: str = ""
    dialogues: str = ""
    none: str = ""
    facts: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent and all dialogues with it; a request by itself is a dialogue of one turn."""

    name: str
    instructions: str
    greeting: str
    own_tools: str
    dialogues: tuple[tuple[Turn, ...], ...]

    def tools(self) -> list[Tool]:
        """Its tools, as new: the demo's keep what was booked."""
        if self.name == DEMO:
            return list(load_tools("tools.py", demo_agent_file().parent))
        return [made_tool(line) for line in _lines(self.own_tools)]


def agents(split: str) -> list[Agent]:
    """All agents of a split."""
    return [_agent(path) for path in sorted((SETS / split).glob("*.yaml"))]


def _agent(path: Path) -> Agent:
    file = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), File)
    name = path.stem
    instructions, greeting = file.instructions.strip(), file.greeting
    if name == DEMO:
        config = load_agent(demo_agent_file())
        instructions, greeting = config.instructions, config.phrases.text("greeting") or ""
    try:
        dialogues = tuple(_dialogues(name, file))
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"{path}: {error}") from error
    return Agent(name, instructions, greeting, file.tools, dialogues)


def _dialogues(name: str, file: File) -> Iterator[tuple[Turn, ...]]:
    for line in _lines(file.requests):
        yield (_turn(name, line),)
    for paragraph in file.dialogues.strip().split("\n\n"):
        if paragraph:
            yield tuple(_turn(name, line) for line in _lines(paragraph))
    for line in _lines(file.none):
        yield (Turn("none", line, "none"),)
    for line in _lines(file.facts):
        said, _, keys = line.partition(ARROW)
        if keys == MISSING:
            yield (Turn("facts", said, "absent"),)
        else:
            yield (Turn("facts", said, "fact", keys=tuple(key.strip() for key in keys.split(" | "))),)


def _turn(name: str, line: str) -> Turn:
    said, arrow, right = line.partition(ARROW)
    if not arrow:
        raise ValueError(f"no {ARROW.strip()} in: {line}")
    if right == NOTHING:
        return Turn("none", said, "none")
    group: Literal["demo", "unseen"] = "demo" if name == DEMO else "unseen"
    if right == MISSING:
        return Turn(group, said, "ask")
    statements = ast.parse(right).body
    calls = tuple(_call(statement.value) for statement in statements if isinstance(statement, ast.Expr))
    return Turn(group, said, "call", calls)


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise ValueError(f"no call with named arguments: {ast.unparse(node)}")
    values = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in node.keywords}
    return Call(node.func.id, {key: tuple(value) if isinstance(value, list) else (value,) for key, value in values.items()})


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def made_tool(line: str) -> Tool:
    """The tool that a line of `tools` describes."""
    signature, _, rest = line.partition(" -- ")
    description, _, result = rest.partition(ARROW)
    given = json.loads(result or '{"ok": true}')
    scope: dict[str, Any] = {"Annotated": Annotated, "Literal": Literal, "result": lambda arguments: _told(arguments) | given}
    exec(f"def {signature}:\n    return result(locals())", scope)
    function = scope[signature.partition("(")[0]]
    function.__doc__ = description
    return tool(effect="none")(function)


def _told(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value not in ("", None)}
