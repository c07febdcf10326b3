"""A function's signature and docstring become the schema; arguments that do not fit never reach it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from voiceagent.errors import ConfigError
from voiceagent.tools import ToolError, tool
from voiceagent.tools.tool import ToolPolicy


@tool(effect="idempotent")
def reserve(
    people: Annotated[int, "how many guests"],
    day: str,
    smoking: bool = False,
    dishes: list[str] | None = None,
    kind: Literal["table", "room"] = "table",
    deposit: float | None = None,
) -> dict[str, Any]:
    """Reserve a place
    for guests.

    More that the model need not know.

    Args:
        day: the day as the caller said it,
            such as Friday
        smoking (bool): in the smoking room
    """
    return {"people": people, "day": day}


def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    function = reserve.schema["function"]
    assert function["name"] == "reserve"
    assert function["description"] == "Reserve a place for guests."
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "people": {"type": "integer", "description": "how many guests"},
            "day": {"type": "string", "description": "the day as the caller said it, such as Friday"},
            "smoking": {"type": "boolean", "description": "in the smoking room"},
            "dishes": {"type": "array", "items": {"type": "string"}},
            "kind": {"enum": ["room", "table"]},
            "deposit": {"type": "number"},
        },
        "required": ["people", "day"],
    }
    assert reserve.policy.effect == "idempotent"


def test_a_tool_is_still_callable_as_the_function_it_was() -> None:
    assert reserve(2, "Friday") == {"people": 2, "day": "Friday"}


def test_effects_are_external_unless_declared() -> None:
    @tool
    def ring() -> None:
        """Ring the bell."""

    assert ring.policy.effect == "external"
    assert ring.parameters == {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ('{"people": 4, "day": "Friday"}', {"people": 4, "day": "Friday"}),
        ('{"people": "4", "day": "Friday", "deposit": null}', {"people": 4, "day": "Friday"}),
        ('{"people": 4.0, "day": 3}', {"people": 4, "day": "3"}),
        ('{"people": 4, "day": "Friday", "deposit": "2.5"}', {"people": 4, "day": "Friday", "deposit": 2.5}),
    ],
)
def test_arguments_are_coerced_as_models_write_them(arguments: str, parsed: dict[str, Any]) -> None:
    defaults = {"smoking": False, "dishes": None, "kind": "table", "deposit": None}
    assert reserve.parse(arguments) == defaults | parsed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"people": 4}', "day is missing"),
        ('{"people": "many", "day": "Friday"}', "people: expected int"),
        ('{"people": 4, "day": "Friday", "colour": 1}', "no argument colour"),
        ('{"people": 4, "day": "Friday", "kind": "sofa"}', "expected one of room, table"),
        ('{"people": null, "day": "Friday"}', "people: expected int"),
        ('{"people": 4, ', "not valid JSON"),
        ("[1]", "must be a JSON object"),
    ],
)
def test_wrong_arguments_are_explained_to_the_model(arguments: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        reserve.parse(arguments)


def test_a_tool_says_what_is_said_and_asked_around_it() -> None:
    @tool(filler=("Let me see.", "One moment."), confirm="Shall I book a table for {people} on {day}?", timeout_s=3)
    def book(people: int, day: str) -> None:
        """Book."""

    assert book.policy == ToolPolicy(
        "external", ("Let me see.", "One moment."), "Shall I book a table for {people} on {day}?", timeout_s=3
    )
    assert reserve.policy == ToolPolicy("idempotent")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"effect": "some"}, "effect 'some' is not one of none, idempotent, external"),
        ({"filler": " "}, "filler ' ' cannot be said"),
        ({"filler": ("x",) * 17}, "17 fillers"),
        ({"timeout_s": 0}, "timeout_s is 0, expected more than 0"),
        ({"confirm": "Sure {why}?"}, r"confirm holds {why}, which is no argument; the arguments are: {people}"),
        ({"confirm": "Sure {people.__class__}?"}, "is no argument"),
        ({"confirm": "Sure {people!r}?"}, "is no argument"),
        ({"confirm": "Sure {?"}, "is no template"),
        ({"confirm": "?" * 301}, "301 characters"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(rule: dict[str, Any], said: str) -> None:
    def book(people: int) -> None:
        """Book."""

    with pytest.raises(ConfigError, match=said) as caught:
        tool(**rule)(book)
    assert "\n" not in str(caught.value)


def test_functions_without_a_schema_are_refused_in_one_line() -> None:
    def untyped(x):  # type: ignore[no-untyped-def]  # wrong on purpose
        """Do something."""

    def silent(x: int) -> None: ...

    def starred(*x: int) -> None:
        """Do something."""

    def odd(x: object) -> None:
        """Do something."""

    for function, said in [(untyped, "x has no type"), (silent, "no docstring"), (starred, "by name"), (odd, "no JSON schema")]:
        with pytest.raises(ConfigError, match=said) as caught:
            tool(function)
        assert "\n" not in str(caught.value)
