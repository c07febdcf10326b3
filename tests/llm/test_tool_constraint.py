"""Tool calls behind `<tool_call>` keep to the tools, on the bundled model's tokenizer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.chat.tool_constraint import ToolConstraint, ToolConstraints, closed
from voiceagent.resources import bundled_models_dir

BUNDLED = bundled_models_dir() / "lm" / "onnx"


def function(name: str, /, **properties: Any) -> dict[str, Any]:
    required = [key for key, schema in properties.items() if not schema.pop("optional", False)]
    return {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": properties, "required": required}},
    }


BOOK = function(
    "book_table", people={"type": "integer"}, kind={"enum": ["lunch", "dinner"]}, name={"type": "string", "optional": True}
)
DATE = function("get_date")


def on_one_line(folder: Path) -> None:
    """Have the template write calls without line breaks."""
    path = folder / "chat_template.jinja"
    written = path.read_text().replace("<tool_call>\\n", "<tool_call>").replace("}\\n</tool_call>", "}</tool_call>")
    assert "\\n</tool_call>" not in written
    path.write_text(written)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled tokenizer with nothing added to its vocabulary but the marks, and calls on one line."""
    found = tmp_path_factory.mktemp("plain")
    shutil.copytree(BUNDLED, found, dirs_exist_ok=True)
    whole = json.loads((found / "tokenizer.json").read_text())
    whole["added_tokens"] = [token for token in whole["added_tokens"] if token["content"].startswith("<")]
    (found / "tokenizer.json").write_text(json.dumps(whole))
    on_one_line(found)
    return found


@pytest.fixture(scope="module")
def prompt(folder: Path) -> ChatPrompt:
    return ChatPrompt(folder)


@pytest.fixture
def constraint(folder: Path, prompt: ChatPrompt) -> ToolConstraint:
    found = ToolConstraints(folder, prompt.template).of([BOOK, DATE])
    assert found is not None
    return found


class Writer:
    """Writes text a token at a time, as far as it is allowed."""

    def __init__(self, prompt: ChatPrompt, constraint: ToolConstraint) -> None:
        self._prompt = prompt
        self.constraint = constraint
        self.size = prompt.tokenizer.get_vocab_size()
        self.text = ""
        """All that stands there, what was forced included."""
        self.forced = 0

    def write(self, text: str) -> bool:
        """Whether it could be written to its end; what is forced on the way must be the same text."""
        goal = self.text + text
        while len(self.text) < len(goal):
            if tokens := self.constraint.forced():
                self.text += self.decoded(tokens)
                self.forced += len(tokens)
                continue
            rest = goal[len(self.text) :]
            token = self._prompt.encode(rest)[0][0]
            if self.constraint.inside:
                logits = np.zeros((1, 1, self.size), np.float32)
                self.constraint.allow(logits)
                if logits[0, 0, token] != 0:
                    return False
            self.constraint.took(token)
            self.text += self.decoded([token])
        return self.text.startswith(goal)

    def decoded(self, tokens: list[int]) -> str:
        return str(self._prompt.tokenizer.decode(tokens, skip_special_tokens=False))


CALL = '{"name": "book_table", "arguments": {"people": 4, "kind": "dinner", "name": "Anna"}}'


def test_a_call_of_a_tool_there_is_can_be_written(prompt: ChatPrompt, constraint: ToolConstraint) -> None:
    writer = Writer(prompt, constraint)
    assert writer.write("Just a moment.<tool_call>")
    assert constraint.inside
    assert writer.write(CALL)
    assert writer.write("</tool_call>")
    assert not constraint.inside
    assert writer.forced > len(prompt.encode(CALL)[0]) / 3, "most of a call can be nothing else"


def test_a_call_stands_on_lines_of_its_own_where_the_template_writes_it_so(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    shutil.copy(BUNDLED / "chat_template.jinja", tmp_path)
    prompt = ChatPrompt(tmp_path)
    found = ToolConstraints(tmp_path, prompt.template).of([BOOK])
    assert found is not None
    assert Writer(prompt, found).write(f"<tool_call>\n{CALL}\n</tool_call>")
    assert not found.inside


def test_a_mark_that_is_text_is_forced_from_its_first_letters_on(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    whole = json.loads((tmp_path / "tokenizer.json").read_text())
    whole["added_tokens"] = [token for token in whole["added_tokens"] if "tool" not in token["content"]]
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole))
    prompt = ChatPrompt(tmp_path)
    found = ToolConstraints(tmp_path, prompt.template).of([BOOK, DATE])
    assert found is not None
    writer = Writer(prompt, found)
    assert writer.write("Just a moment.<tool")
    assert found.inside
    assert writer.text.startswith("Just a moment.<tool")
    assert writer.write(
        '_call>{"name": "get_date", "arguments": {}}</tool_call>'[len(writer.text) - len("Just a moment.<tool") :]
    )
    assert not found.inside


def test_the_likeliest_token_that_may_come_is_taken_with_all_that_must_follow(
    prompt: ChatPrompt, constraint: ToolConstraint
) -> None:
    writer = Writer(prompt, constraint)
    assert writer.write("<tool_call>")
    opening = constraint.next(np.zeros((1, 1, writer.size), np.float32))
    assert writer.decoded(opening) == '{"name": "'
    logits = np.zeros((1, 1, writer.size), np.float32)
    logits[0, 0, prompt.encode("none")[0][0]] = 2
    logits[0, 0, prompt.encode("get")[0][0]] = 1
    assert writer.decoded(constraint.next(logits)) == 'get_date", "arguments": {}}</tool_call>'
    assert not constraint.inside


def test_a_model_with_pieces_of_calls_in_its_vocabulary_is_left_alone() -> None:
    assert ToolConstraints(BUNDLED, ChatPrompt(BUNDLED).template).of([BOOK]) is None


@pytest.mark.parametrize(
    "call",
    [
        '{"name": "book_room", "arguments": {}}',
        '{"name": "book_table", "arguments": {"people": "four", "kind": "dinner"}}',
        '{"name": "book_table", "arguments": {"people": 4, "kind": "breakfast"}}',
        '{"name": "book_table", "arguments": {"people": 4}}',
        '{"name": "book_table", "arguments": {"people": 4, "kind": "lunch", "day": "Friday"}}',
        '{"name": "get_date", "arguments": {"day": "Friday"}}',
    ],
)
def test_what_no_tool_takes_cannot_be_written(prompt: ChatPrompt, constraint: ToolConstraint, call: str) -> None:
    writer = Writer(prompt, constraint)
    assert not writer.write(f"<tool_call>{call}</tool_call>")


def test_two_calls_follow_each_other_and_text_stays_free(prompt: ChatPrompt, constraint: ToolConstraint) -> None:
    writer = Writer(prompt, constraint)
    date = '<tool_call>{"name": "get_date", "arguments": {}}</tool_call>'
    assert writer.write(f'{date}\n{date} The tools are {{"name": "none"}}.')


def test_a_tool_with_an_unusable_schema_takes_any_arguments_and_leaves_others_theirs(
    folder: Path, prompt: ChatPrompt, caplog: pytest.LogCaptureFixture
) -> None:
    odd = function("odd", code={"type": "string", "pattern": "(?=lookahead)x"})
    constraints = ToolConstraints(folder, prompt.template)

    def can_write(call: str) -> bool:
        found = constraints.of([odd, BOOK])
        assert found is not None
        return Writer(prompt, found).write(f"<tool_call>{call}</tool_call>")

    assert can_write('{"name": "odd", "arguments": {"code": 5}}')
    assert "arguments of odd are not constrained: " in caplog.text
    assert "look-around" in caplog.text
    assert not can_write('{"name": "anything", "arguments": {}}')
    assert can_write(CALL)
    assert not can_write(CALL.replace("4", '"four"'))
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
        {"type": "array", "items": {"enum": ["a", "b"]}, "contains": {"const": "a"}},
        {"type": "array", "items": {"enum": ["a", "b"], "not": {"const": ""}}},
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"], "format": "letter"}},
    ],
)
def test_what_a_grammar_cannot_say_of_a_schema_is_left_out_and_the_rest_is_kept(
    folder: Path, prompt: ChatPrompt, schema: dict[str, Any]
) -> None:
    def can_write(values: str) -> bool:
        found = ToolConstraints(folder, prompt.template).of([function("pick", values=schema)])
        assert found is not None
        return Writer(prompt, found).write(f'<tool_call>{{"name": "pick", "arguments": {{"values": {values}}}}}</tool_call>')

    assert can_write('["a", "b"]')
    assert not can_write('["c"]')
    assert not can_write('"a"')


def test_an_agent_without_tools_begins_no_call(folder: Path, prompt: ChatPrompt) -> None:
    found = ToolConstraints(folder, prompt.template).of([])
    assert found is not None
    assert found.inside
    call, word = prompt.encode("<tool_call>")[0][0], prompt.encode("Breakfast")[0][0]
    logits = np.zeros((1, 1, prompt.tokenizer.get_vocab_size()), np.float32)
    logits[0, 0, call], logits[0, 0, word] = 2, 1
    assert found.next(logits) == [word]
    assert not found.inside, "the rest is free"


def test_objects_inside_take_no_property_that_their_schema_does_not_name(prompt: ChatPrompt, folder: Path) -> None:
    guest = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    by_reference = {"type": "array", "items": {"$ref": "#/$defs/Guest"}}
    parameters = {"type": "object", "$defs": {"Guest": guest}, "properties": {"guests": by_reference}, "required": ["guests"]}
    made = {"type": "function", "function": {"name": "invite", "parameters": parameters}}
    constraints = ToolConstraints(folder, prompt.template)
    for text, fits in (('[{"age": 7}]', True), ('[{"age": 7, "size": 3}]', False)):
        matcher = constraints.matcher([made], "")
        assert matcher is not None
        written = f'{{"name": "invite", "arguments": {{"guests": {text}}}}}'
        assert matcher.take(*prompt.encode(written)[0]) is fits


def test_a_schema_is_closed_where_it_leaves_that_open() -> None:
    inner: dict[str, Any] = {"properties": {"a": {}}}
    shut = {**inner, "additionalProperties": False}
    assert closed({"properties": {"x": inner}}) == {"properties": {"x": shut}, "additionalProperties": False}
    assert closed({"oneOf": [inner, {"type": "string"}]}) == {"oneOf": [shut, {"type": "string"}]}
    assert closed({"items": inner, "prefixItems": [inner]}) == {"items": shut, "prefixItems": [shut]}
    assert closed({**inner, "additionalProperties": True}) == {**inner, "additionalProperties": True}
    assert closed({"additionalProperties": {"type": "boolean"}}) == {"additionalProperties": {"type": "boolean"}}
    composed = {"allOf": [inner, {"properties": {"b": {}}}]}
    assert closed({"properties": {"x": composed}})["properties"] == {"x": composed}
