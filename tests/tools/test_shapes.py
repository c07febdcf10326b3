"""What a tool's schema tells of its values, and the hints that put it there."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from voiceagent.tools import Digits, Email, Phone, Spelled, tool
from voiceagent.tools.schemas import shapes
from voiceagent.turn_taking.patience import ValueShape


def shape_of(schema: dict[str, Any]) -> ValueShape | None:
    return next(iter(shapes({"type": "object", "properties": {"code": {"type": "string", **schema}}})), None)


@pytest.mark.parametrize(
    ("pattern", "kind", "least", "most"),
    [
        (r"^\d{5}$", "digits", 5, 5),
        (r"[0-9]{4,6}", "digits", 4, 6),
        (r"^\d{3}-\d{4}$", "digits", 7, 7),
        (r"^\d+$", "digits", 1, 0),
        (r"^[A-Z]{2}\d{4}$", "characters", 6, 6),
        (r"^[A-Z]{2}-?\d{4}$", "characters", 6, 6),
    ],
)
def test_plain_patterns_tell_how_much_is_to_come(pattern: str, kind: str, least: int, most: int) -> None:
    found = shape_of({"pattern": pattern})
    assert found is not None
    assert (found.kind, found.least, found.most) == (kind, least, most)


@pytest.mark.parametrize("schema", [{"pattern": r"^(a|b)+$"}, {"pattern": r"\d" * 60}, {"pattern": "^.*$"}, {"minLength": 1}, {}])
def test_other_patterns_and_plain_text_tell_nothing(schema: dict[str, Any]) -> None:
    assert shape_of(schema) is None


def test_the_hints_of_a_function_are_in_its_schema() -> None:
    @tool(effect="none")
    def find(
        order_number: Annotated[str, Digits(5)],
        mail: Annotated[str, Email],
        phone: Annotated[str, Phone],
        surname: Annotated[str, "the family name", Spelled],
        days: int,
    ) -> str:
        """Find an order."""
        return order_number + mail + phone + surname + str(days)

    found = shapes(find.parameters)
    assert [(shape.kind, shape.least, shape.most) for shape in found] == [
        ("digits", 5, 5),
        ("email", 0, 0),
        ("phone", 0, 0),
        ("characters", 2, 64),
        ("number", 0, 0),
    ]
    assert found[0].hints == {"order", "number"}
    assert {"surname", "family", "name"} <= found[3].hints
