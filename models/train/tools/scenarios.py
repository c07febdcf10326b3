"""Agents whose callers' sentences were written by hand (scenarios/*.yaml), each with what is to be called and said:

- `tools`: `name(parameter: type, …) -- what it does => its result as JSON => what is said of it`: {field} of the result or an
  {argument}.
- `requests`: `what is said => the call, as Python writes it`; several calls with `;` between them.
- `dialogues`: the same, a dialogue's turns in a paragraph; `=> ? question` back for what is missing, `=> - answer` without
  a call.
- `none`: `what is said => the answer`, where no tool fits.
- `facts`: `question => the answer`, out of the instructions; `=> ?`: they do not tell it.

Files without tools are for the demo agent's. Callers' sentences are written as they are spoken: "four four one" is the code 441.
No agent is of a trade of bench/starter/sets, no tool and no sentence of its held-out part is here: a test looks."""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml

from models.train.tools.values import ONES
from voiceagent.tools.decorator import tool
from voiceagent.tools.tool import Tool
from voiceagent.tools.toolset import ToolSet

FOLDER = Path(__file__).with_name("scenarios")
SECTIONS = ("requests", "dialogues", "none", "facts")
ARROW = " => "
MISSING, NOTHING = "?", "-"
EXCHANGED_SHARE = 0.5
"""Of the values that can be."""


@dataclass(frozen=True)
class Call:
    """A right call."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """What a caller says, and the agent's calls or else its answer; an empty one says that it does not know."""

    said: str
    calls: tuple[Call, ...] = ()
    answer: str = ""
    is_fact: bool = False
    """True if the instructions are asked for something, whether they tell it or not."""


@dataclass(frozen=True)
class OwnTool:
    """One of a scenario's tools."""

    tool: Tool
    result: Mapping[str, Any]
    telling: str

    @property
    def schema(self) -> dict[str, Any]:
        """As a chat template takes it."""
        return ToolSet([self.tool]).schemas()[0]


@dataclass(frozen=True)
class Scenario:
    """A file; no tools for the demo agent's."""

    name: str
    instructions: str
    greeting: str
    tools: tuple[OwnTool, ...]
    dialogues: tuple[tuple[Turn, ...], ...]
    """Of one turn where it is a request, a fact or nothing to call by itself."""


@cache
def scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return tuple(scenario(path) for path in sorted(FOLDER.glob("*.yaml")))


def scenario(path: Path) -> Scenario:
    """As a file describes it."""
    file = yaml.safe_load(path.read_text(encoding="utf-8"))
    if unknown := file.keys() - {"instructions", "greeting", "tools", *SECTIONS}:
        raise ValueError(f"{path}: unknown section {sorted(unknown)[0]!r}")
    found: list[tuple[Turn, ...]] = []
    for section in SECTIONS:
        text = file.get(section, "").strip()
        paragraphs = re.split(r"\n\s*\n", text) if section == "dialogues" else lines(text)
        try:
            found += [tuple(_turn(line, section) for line in lines(paragraph)) for paragraph in paragraphs if paragraph]
        except (ValueError, SyntaxError) as error:
            raise ValueError(f"{path}: {error}") from error
    tools = tuple(own_tool(line) for line in lines(file.get("tools", "")))
    return Scenario(path.stem, " ".join(file.get("instructions", "").split()), file.get("greeting", ""), tools, tuple(found))


def lines(text: str) -> list[str]:
    """Those that hold something."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def own_tool(line: str) -> OwnTool:
    """The tool that a line describes."""
    signature, _, rest = line.partition(" -- ")
    description, result, telling = rest.split(ARROW)
    scope: dict[str, Any] = {"Annotated": Annotated, "Literal": Literal}
    exec(f"def {signature}:\n    return {{}}", scope)
    function = scope[signature.partition("(")[0]]
    function.__doc__ = description
    return OwnTool(tool(effect="none")(function), json.loads(result), telling)


def _turn(line: str, section: str) -> Turn:
    said, arrow, right = line.partition(ARROW)
    if not arrow or not right.strip():
        raise ValueError(f"nothing behind an arrow in: {line}")
    if section == "facts":
        return Turn(said, answer="" if right == MISSING else right, is_fact=True)
    if section == "none":
        return Turn(said, answer=right)
    if right[:2] in (f"{MISSING} ", f"{NOTHING} "):
        return Turn(said, answer=right[2:])
    return Turn(said, tuple(_calls(right)))


def _calls(text: str) -> Iterator[Call]:
    for statement in ast.parse(text).body:
        node = statement.value if isinstance(statement, ast.Expr) else statement
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            raise ValueError(f"no call with named arguments: {text}")
        yield Call(node.func.id, {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in node.keywords})


def with_other_values(dialogue: Sequence[Turn], values: Mapping[str, Sequence[str]], rng: random.Random) -> list[Turn]:
    """The dialogue with some of the values that are said in it exchanged for others of the same parameter."""
    turns = list(dialogue)
    for name, value in {
        (name, value): None for turn in dialogue for call in turn.calls for name, value in call.arguments.items()
    }:
        spoken, (new, new_spoken) = _spoken(value), _other(name, value, values, rng)
        everywhere = " ".join(turn.said for turn in turns)
        if (
            spoken
            and new != value
            and len(re.findall(_whole(spoken), everywhere))
            and not re.search(_whole(new_spoken), everywhere)
        ):
            turns = [_exchanged(turn, name, value, new, spoken, new_spoken) for turn in turns]
    return turns


def _exchanged(turn: Turn, name: str, value: Any, new: Any, spoken: str, new_spoken: str) -> Turn:
    calls = tuple(
        replace(call, arguments={key: new if (key, given) == (name, value) else given for key, given in call.arguments.items()})
        for call in turn.calls
    )
    said = re.sub(_whole(spoken), lambda _: new_spoken, turn.said)
    return replace(turn, said=said, calls=calls, answer=turn.answer.replace(spoken, new_spoken))


def _whole(words: str) -> str:
    return rf"(?<![\w']){re.escape(words)}(?![\w'])"


def _spoken(value: Any) -> str:
    """How a caller says it; nothing where that is not known."""
    if isinstance(value, bool) or value == "":
        return ""
    if isinstance(value, int):
        return ONES[value] if 2 <= value < len(ONES) else digit_by_digit(str(value)) if value > 99 else ""
    if isinstance(value, str):
        return digit_by_digit(value) if value.isdigit() and len(value) > 2 else value
    return ""


def digit_by_digit(code: str) -> str:
    """A code as it is read out."""
    return " ".join(ONES[int(digit)] for digit in code if digit.isascii() and digit.isdigit())


def _other(name: str, value: Any, values: Mapping[str, Sequence[str]], rng: random.Random) -> tuple[Any, str]:
    if rng.random() > EXCHANGED_SHARE or isinstance(value, bool):
        return value, ""
    if isinstance(value, int) and 2 <= value < len(ONES):
        number = rng.randrange(2, len(ONES))
        return number, ONES[number]
    if (isinstance(value, int) and value > 99) or (isinstance(value, str) and value.isdigit() and len(value) > 2):
        code = "".join(str(rng.randrange(1, 10)) for _ in str(value))
        return type(value)(code), digit_by_digit(code)
    if isinstance(value, str) and values.get(name):
        new = rng.choice(values[name])
        return new, new
    return value, ""
