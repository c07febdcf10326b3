"""Chat templates of the usual families: what they are given, how they have the model write calls, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import ANY_TOOL
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm.chat.chat_template import ChatTemplate
from voiceagent.llm.chat.tool_parser import ToolParser

TEMPLATES = Path(__file__).parent / "templates"
FORMS = {
    "hermes": "hermes",
    "smollm2": "hermes",
    "llama3": "llama",
    "llama4": "pythonic",
    "mistral_nemo": "mistral",
    "mistral_small": "mistral",
    "gemma3_pythonic": "pythonic",
    "tool_code": "tool_code",
    "qwen3_coder": "qwen_xml",
    "glm": "glm",
    "deepseek_r1": "deepseek",
    "deepseek_v31": "deepseek",
    "phi4_mini": "phi",
    "granite": "phi",
    "lfm2": "lfm2",
    "functiongemma": "functiongemma",
    "kimi": "kimi",
}
WITHOUT_TOOLS = ("gemma2", "phi35")
ENDINGS = ("<|im_end|>", "<|eot_id|>", "<|eot|>", "<end_of_turn>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "<|end|>")
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
        },
    }
]
ONE, TWO = (
    ToolCall("call_0123456789abcdef", "get_weather", '{"city": "Paris"}'),
    ToolCall("call_x", "get_weather", '{"city": "Rome"}'),
)
CALL = (
    Message("system", "Be brief."),
    Message("assistant", "Hello, this is the hotel."),
    Message("user", "The weather in Paris and Rome?"),
    Message("assistant", "", (ONE, TWO)),
    Message("tool", "sunny in Paris", tool_call_id=ONE.call_id),
    Message("tool", "rainy in Rome", tool_call_id=TWO.call_id),
    Message("assistant", "Sunny, and rainy.", interrupted=True),
    Message("assistant", "Are you still there?"),
    Message("user", "Yes."),
    Message("user", "And tomorrow?"),
)


def loaded(folder: Path, template: str | list[dict[str, str]], tool_format: str = "", **options: object) -> ChatTemplate:
    config: dict[str, object] = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "model_max_length": 1}
    if isinstance(template, list):
        config["chat_template"] = template
    else:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return ChatTemplate(folder, options, frozenset(ENDINGS), tool_format)


def family(folder: Path, name: str) -> ChatTemplate:
    return loaded(folder, (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "form"), FORMS.items())
def test_the_form_of_calls_is_read_from_the_template(tmp_path: Path, name: str, form: str) -> None:
    template = family(tmp_path, name)
    assert template.form is not None
    assert (template.form.name, template.no_tools) == (form, "")


@pytest.mark.parametrize("name", [*FORMS, *WITHOUT_TOOLS])
def test_nothing_of_a_conversation_is_lost(tmp_path: Path, name: str) -> None:
    template = family(tmp_path, name)
    talk = CALL if name in FORMS else tuple(message for message in CALL if not message.tool_calls and message.role != "tool")
    text = template.text(talk, TOOLS if name in FORMS else [])
    said = [word for message in talk for word in message.content.split()]
    at = 0
    for message in talk[1:]:
        if message.content:
            at = text.index(message.content, at)
    assert all(word in text for word in said)
    if name in FORMS:
        assert text.index("Paris", text.index("The weather in Paris") + 30) < text.index("sunny in Paris")
        assert text.index("rainy in Rome") > text.rindex("sunny in Paris")


@pytest.mark.parametrize(("name", "form"), FORMS.items())
def test_the_calls_that_a_template_writes_are_those_that_are_read(tmp_path: Path, name: str, form: str) -> None:
    template = family(tmp_path, name)
    assert template.form is not None
    text = template.text((*CALL[:3], Message("assistant", "", (ONE,))), TOOLS)
    before = template.text(CALL[:3], TOOLS)
    same = next((index for index, (a, b) in enumerate(zip(before, text, strict=False)) if a != b), len(before))
    written = text[same:]
    for ending in (*ENDINGS, "</s>"):
        written = written.partition(ending)[0]
    parser = ToolParser(template.form, TOOLS)
    pieces = [*parser.feed(written), *parser.finish()]
    calls = [(call.name, json.loads(call.arguments)) for call in pieces if isinstance(call, ToolCall)]
    assert calls == [("get_weather", {"city": "Paris"})]


@pytest.mark.parametrize("name", FORMS)
def test_the_beginning_of_a_call_is_that_of_a_call_that_the_template_writes(tmp_path: Path, name: str) -> None:
    template = family(tmp_path, name)
    written = template.text((*CALL[:3], Message("assistant", "", (ONE,)), CALL[4]), TOOLS)
    whole, name_is_free = template.opening("get_weather"), template.opening(ANY_TOOL)
    assert "get_weather" in whole
    assert "Paris" not in whole
    assert whole in written
    assert whole.startswith(name_is_free)
    assert name_is_free.strip()


def test_a_prompt_begins_with_the_token_that_models_are_trained_to_begin_with(tmp_path: Path) -> None:
    for name in ("llama3", "mistral_nemo", "gemma2"):
        assert family(tmp_path, name).text(CALL[2:3], []).startswith("<s>")


def test_instructions_stand_before_the_first_words_where_there_is_no_role_for_them(tmp_path: Path) -> None:
    text = family(tmp_path, "gemma2").text((*CALL[:1], *CALL[2:3]), [])
    assert "<start_of_turn>user\nBe brief.\n\nThe weather in Paris" in text
    alone = family(tmp_path, "gemma2").text(CALL[:1], [])
    assert alone == "<s><start_of_turn>user\nBe brief.<end_of_turn>\n<start_of_turn>model\n"


def test_an_agent_that_speaks_first_is_never_taken_for_the_caller(tmp_path: Path) -> None:
    text = family(tmp_path, "llama3").text(CALL[:3], TOOLS)
    assert "assistant<|end_header_id|>\n\nHello, this is the hotel." in text
    assert "[INST][/INST]Hello, this is the hotel." in family(tmp_path, "mistral_nemo").text(CALL[:3], [])


def test_several_calls_are_messages_of_their_own_where_only_one_is_allowed(tmp_path: Path) -> None:
    text = family(tmp_path, "llama3").text(CALL, TOOLS)
    order = ['"parameters": {"city": "Paris"}', "sunny in Paris", '"parameters": {"city": "Rome"}', "rainy in Rome"]
    assert [text.index(one) for one in order] == sorted(text.index(one) for one in order)


def test_ids_are_as_long_as_a_template_counts_and_belong_together(tmp_path: Path) -> None:
    text = family(tmp_path, "mistral_nemo").text(CALL, TOOLS)
    call_id = text.partition('"id": "')[2][:9]
    assert call_id.isalnum()
    assert f'"call_id": "{call_id}"' in text


def test_words_beside_a_call_are_not_lost(tmp_path: Path) -> None:
    talk = (*CALL[:3], Message("assistant", "One moment.", (ONE,)), CALL[4], CALL[8])
    text = family(tmp_path, "deepseek_r1").text(talk, TOOLS)
    assert text.index("One moment.") < text.index('```json\n{"city": "Paris"}') < text.index("sunny in Paris")


def test_a_thought_that_every_prompt_begins_is_known(tmp_path: Path) -> None:
    assert family(tmp_path, "deepseek_r1").begun == "</think>"
    assert all(not family(tmp_path, name).begun for name in ("hermes", "glm", "deepseek_v31"))


@pytest.mark.parametrize("name", WITHOUT_TOOLS)
def test_a_template_without_tools_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    template = family(tmp_path, name)
    file = f"{tmp_path}/chat_template.jinja"
    assert (
        template.no_tools
        == f"{file}: this chat template has no place for tools; take a model that has, or an agent without tools"
    )
    with pytest.raises(EngineError, match="no place for tools"):
        template.text(CALL[2:3], TOOLS)
    assert template.text(CALL[2:3], [])


def test_a_form_that_is_not_known_is_told_in_one_line_and_can_be_named(tmp_path: Path) -> None:
    source = (TEMPLATES / "functionary.jinja").read_text(encoding="utf-8")
    why = loaded(tmp_path, source).no_tools
    assert "chat_template.jinja: this chat template writes tool calls in a form that is not known here ('probe_lookup" in why
    assert "hermes" in why
    assert "\n" not in why
    named = loaded(tmp_path, source, "hermes")
    assert (named.no_tools, named.form and named.form.name) == ("", "hermes")
    with pytest.raises(ConfigError, match="there is no form 'herms'; expected one of harmony"):
        loaded(tmp_path, source, "herms")


def test_a_form_that_is_only_told_in_words_is_found(tmp_path: Path) -> None:
    silent = (
        (TEMPLATES / "functionary.jinja").read_text(encoding="utf-8").replace("'namespace functions '", "'Use <tool_call>. '")
    )
    form = loaded(tmp_path, silent).form
    assert form is not None
    assert form.name == "hermes"


def test_a_template_of_no_conversations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"chat_template\.jinja: .*only one.*made for conversations"):
        loaded(
            tmp_path, "{% if messages|length > 1 %}{{ raise_exception('only one message') }}{% endif %}{{ messages[0].content }}"
        )
    with pytest.raises(ModelError, match="chat template is broken"):
        loaded(tmp_path, "{% if %}")


def test_of_several_templates_the_one_for_tools_is_used_with_tools(tmp_path: Path) -> None:
    templates = [
        {"name": "default", "template": (TEMPLATES / "phi35.jinja").read_text(encoding="utf-8")},
        {"name": "tool_use", "template": (TEMPLATES / "hermes.jinja").read_text(encoding="utf-8")},
    ]
    template = loaded(tmp_path, templates)
    assert template.form is not None
    assert template.form.name == "hermes"
    assert "<|user|>" in template.text(CALL[2:3], [])
    assert "<tools>" in template.text(CALL[2:3], TOOLS)


def test_marks_for_training_and_todays_date_are_understood(tmp_path: Path) -> None:
    source = (
        "{{ strftime_now('%Y') }}{% for m in messages %}[{{ m.role }}]{% if m.role == 'assistant' %}"
        "{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}"
    )
    assert (
        loaded(tmp_path, source).text(CALL[6:9], [])[4:]
        == "[assistant]Sunny, and rainy.[assistant]Are you still there?[user]Yes."
    )
