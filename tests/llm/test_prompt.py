"""Token ids to text: control tokens that mark calls and thoughts are written, all others are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.llm.chat.prompt import ChatPrompt, Detokenizer
from voiceagent.llm.engine import GeneratedText, Unfinished

TEMPLATES = Path(__file__).parent / "templates"
WORDS = [
    "[UNK]",
    "It",
    "is",
    "noon.",
    "get_time",
    '{"city":',
    '"Oslo"}',
    '{"name":',
    '"get_time",',
    '"parameters":',
    "{}}",
    "user",
    "wants",
]
CONTROLS = ["<s>", "</s>", "[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]", "<|python_tag|>", "<|eom_id|>", "<|eot_id|>"]


def prompt(folder: Path, template: str) -> ChatPrompt:
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.add_special_tokens([AddedToken(control, special=True) for control in CONTROLS])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    (folder / "chat_template.jinja").write_text((TEMPLATES / template).read_text(encoding="utf-8"), encoding="utf-8")
    return ChatPrompt(folder)


def answered(model: ChatPrompt, tokens: str) -> tuple[str, list[tuple[str, str]]]:
    vocabulary = model.tokenizer.get_vocab()
    ids = [vocabulary[token] for token in tokens.split()]
    text, answer = Detokenizer(model), model.answer((Message("user", "Hello."),), [])
    found = [piece for token in ids for piece in answer.feed(text.add(token))]
    found += [*answer.feed(text.finish()), *answer.finish()]
    calls = [(piece.name, piece.arguments) for piece in found if isinstance(piece, ToolCall)]
    return "".join(piece.text for piece in found if isinstance(piece, GeneratedText)), calls


@pytest.mark.parametrize(
    ("template", "tokens", "said", "calls"),
    [
        ("mistral_small.jinja", '[TOOL_CALLS] get_time [ARGS] {"city": "Oslo"}', "", [("get_time", '{"city": "Oslo"}')]),
        ("mistral_small.jinja", "[THINK] user wants [/THINK] It is noon. </s>", "It is noon.", []),
        ("llama3.jinja", '<|python_tag|> {"name": "get_time", "parameters": {}}', "", [("get_time", "{}")]),
        ("llama3.jinja", "It is <|eot_id|> noon.", "It is noon.", []),
        ("phi35.jinja", "[THINK] user [/THINK] <s> It is noon.", "It is noon.", []),
    ],
)
def test_control_tokens_are_read_and_never_said(
    tmp_path: Path, template: str, tokens: str, said: str, calls: list[tuple[str, str]]
) -> None:
    assert answered(prompt(tmp_path, template), tokens) == (said, calls)


def test_a_call_ends_a_generation(tmp_path: Path) -> None:
    model = prompt(tmp_path, "llama3.jinja")
    assert model.stop_ids == {model.tokenizer.token_to_id("<|eom_id|>")}


def test_a_reply_that_goes_on_is_no_thought(tmp_path: Path) -> None:
    model = prompt(tmp_path, "deepseek_r1.jinja")
    talk = (Message("user", "Hello."), Unfinished("assistant", "It is "))
    assert model.text(talk, []).endswith("<think>\n</think>\n\nIt is")
    answer = model.answer(talk, [])
    assert answer.feed("noon.") != []
    assert model.answer(talk[:1], []).feed("user wants") == []


def test_text_with_control_tokens_loses_those_that_are_no_part_of_it(tmp_path: Path) -> None:
    assert (
        prompt(tmp_path, "mistral_small.jinja").hidden("<s>It is[TOOL_CALLS]get_time[ARGS]{}</s>")
        == "It is[TOOL_CALLS]get_time[ARGS]{}"
    )
