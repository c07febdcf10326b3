"""Schemas that others wrote are made plain, and arguments are checked by them within bounds."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError

from voiceagent.tools import ToolError
from voiceagent.tools.schemas import ArgumentSchema

ADDRESS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Order",
    "type": "object",
    "$defs": {"Address": {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}},
    "properties": {
        "to": {"$ref": "#/$defs/Address", "description": "where to"},
        "count": {"type": "integer", "default": 1},
        "note": {"type": ["string", "null"]},
        "code": {"type": "string", "pattern": "(a+)+$"},
    },
    "required": ["to"],
}


def nested(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        node = {"type": "object", "properties": {"a": node}}
    return node


def growing(levels: int) -> dict[str, Any]:
    """A small schema that stands for a huge tree."""
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(levels):
        below = {"$ref": f"#/$defs/d{level}"}
        definitions[f"d{level + 1}"] = {"type": "object", "properties": dict.fromkeys("abcd", below)}
    return {"type": "object", "$defs": definitions, "properties": {"x": {"$ref": f"#/$defs/d{levels}"}}}


def test_references_are_resolved_and_what_a_model_need_not_know_is_left_out() -> None:
    street = {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}
    assert ArgumentSchema(ADDRESS).parameters == {
        "type": "object",
        "properties": {
            "to": {**street, "description": "where to"},
            "count": {"type": "integer"},
            "note": {"type": ["string", "null"]},
            "code": {"type": "string"},
        },
        "required": ["to"],
    }


def test_no_schema_means_no_arguments_are_asked_for() -> None:
    assert ArgumentSchema({}).parameters == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ('{"to": {"street": "Main"}}', {"to": {"street": "Main"}}),
        ('{"to": {"street": "Main"}, "count": "3"}', {"to": {"street": "Main"}, "count": 3}),
        ('{"to": {"street": "Main"}, "count": null}', {"to": {"street": "Main"}}),
        ('{"to": {"street": "Main"}, "note": null}', {"to": {"street": "Main"}, "note": None}),
        ('{"to": {"street": "Main"}, "code": 12}', {"to": {"street": "Main"}, "code": "12"}),
    ],
)
def test_arguments_are_taken_as_models_write_them(arguments: str, parsed: dict[str, Any]) -> None:
    assert ArgumentSchema(ADDRESS).parse(arguments) == parsed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"to": {}}', "to: 'street' is a required property"),
        ('{"to": null}', "to: None is not of type 'object'"),
        ('{"to": {"street": "Main"}, "count": "many"}', "count: 'many' is not of type 'integer'"),
        ("[" * 5000, "not valid JSON"),
        ('{"to": "\ud83d"}', "not valid JSON"),
        ('{"to": "' + "x" * 40_000 + '"}', "longer than 32000 characters"),
        ('{"to": "' + "x" * 4000 + '"}', "…"),
    ],
)
def test_wrong_arguments_are_explained_briefly(arguments: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        ArgumentSchema(ADDRESS).parse(arguments)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400


def test_another_ones_regular_expression_is_not_run() -> None:
    asked = {"to": {"street": "Main"}, "code": "a" * 40 + "!"}
    assert ArgumentSchema(ADDRESS).parse(str(asked).replace("'", '"')) == asked


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (None, "is a NoneType"),
        ({"type": "string"}, "is of type 'string', expected object"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "holds 'text' as 'type', which is not JSON schema"),
        ({"type": "object", "properties": {"a": {"type": [["string"]]}}}, "which is not JSON schema"),
        ({"type": "object", "properties": {"a": 1}}, "holds 1 where a schema is expected"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "nests deeper"),
        ({"properties": {"a": {"$ref": "https://example.com/schema"}}}, "expected a place in itself"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "which is not there"),
        (nested(40), "nests deeper"),
        (growing(5), "one schema may take 1000 parts and 65536 bytes"),
        ({"properties": {"a": {"description": "x" * 20_000}}}, "expected at most 16000"),
        ({"properties": {"a": {"pattern": "("}}}, "no regular expression"),
        ({"properties": {"a": {"enum": {1, 2}}}}, "is not JSON"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        ArgumentSchema(schema, own_patterns=True)


@pytest.mark.parametrize(
    ("keyword", "right", "wrong"),
    [
        ("type", ["string", "null"], []),
        ("enum", ["a", 1], "a"),
        ("required", ["a"], [1]),
        ("minimum", 1.5, "1"),
        ("multipleOf", 0.5, 0),
        ("maxLength", 3, -1),
        ("minItems", 3, True),
        ("uniqueItems", True, 1),
        ("description", "text", 1),
    ],
)
def test_what_is_taken_for_a_schema_is_one(keyword: str, right: Any, wrong: Any) -> None:
    taken = ArgumentSchema({"properties": {"a": {keyword: right}}})
    Draft202012Validator.check_schema(taken.parameters)
    with pytest.raises(ValueError, match="which is not JSON schema"):
        ArgumentSchema({"properties": {"a": {keyword: wrong}}})
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema({"properties": {"a": {keyword: wrong}}})


KEYWORDS = st.sampled_from(
    ["type", "properties", "items", "enum", "required", "anyOf", "not", "$ref", "pattern"]
) | st.sampled_from(
    ["const", "minimum", "maxLength", "additionalProperties", "prefixItems", "uniqueItems", "multipleOf", "a", "b", "$defs"]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["object", "string", "integer", "array", "#/properties/a", "#/$defs/b", "(", "x"]),
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4), max_leaves=12
)


@settings(deadline=None, max_examples=300)
@given(
    st.dictionaries(KEYWORDS, JSON, max_size=5), st.dictionaries(st.sampled_from("ab"), JSON, max_size=2) | st.text(max_size=9)
)
def test_whatever_is_given_as_a_schema_it_is_refused_or_it_checks(schema: dict[str, Any], given: Any) -> None:
    try:
        taken = ArgumentSchema(schema, own_patterns=True)
    except ValueError:
        return
    Draft202012Validator.check_schema(taken.parameters)
    with suppress(ToolError):
        assert isinstance(taken.parse(given if isinstance(given, str) else json.dumps(given)), dict)


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, '"nan"', '"inf"', '"1e999"'])
@pytest.mark.parametrize("limits", [{"multipleOf": 0.01}, {"minimum": 0, "maximum": 100}])
def test_a_number_that_is_none_or_too_large_is_the_models_mistake(number: str, limits: dict[str, Any]) -> None:
    schema = ArgumentSchema({"type": "object", "properties": {"x": {"type": "number", **limits}}})
    with pytest.raises(ToolError, match="Wrong arguments"):
        schema.parse(f'{{"x": {number}}}')


def test_arguments_that_nest_too_deep_are_the_models_mistake() -> None:
    schema = ArgumentSchema({"type": "object", "properties": {"x": {"type": "array", "uniqueItems": True}}})
    deep = "[" * 600 + "]" * 600
    with pytest.raises(ToolError, match="nests deeper than 64 levels"):
        schema.parse(f'{{"x": [{deep}, {deep}]}}')
