"""Forms in which model families write tool calls: the marks around a call, and its reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from voiceagent.llm.chat.call_texts import (
    UNREADABLE,
    Calls,
    Schemas,
    deepseek_calls,
    gemma_calls,
    harmony_calls,
    json_calls,
    kimi_calls,
    mistral_calls,
    pair_calls,
    python_calls,
    xml_calls,
)


@dataclass(frozen=True, slots=True)
class CallMarks:
    """The marks around a call."""

    opener: str
    closer: str
    """Empty: the call goes on to the generation's end."""
    read: Callable[[str, Schemas], Calls]


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """One form of tool calls."""

    name: str
    marks: tuple[CallMarks, ...] = ()
    bare: str = ""
    """`json` or `python`: calls may stand without marks."""
    inner: tuple[str, ...] = ()
    """Further control tokens inside calls."""
    told_by: tuple[str, ...] = ()
    """Texts that a template contains, all of them, if it asks for this form in words but shows no call."""
    silent: tuple[str, ...] = ()
    """Control tokens around text that are not part of it."""

    @property
    def control(self) -> tuple[str, ...]:
        """All control tokens that the parser must see."""
        around = [mark for marks in self.marks for mark in (marks.opener, marks.closer) if mark]
        return (*around, *self.inner, *self.silent)


_FUNCTION = CallMarks("<function=", "</function>", lambda body, schemas: xml_calls(f"<function={body}</function>", schemas))

FORMATS = (
    ToolFormat(
        "harmony",
        (CallMarks("to=functions.", "<|call|>", harmony_calls),),
        inner=("<|constrain|>",),
        told_by=("<|channel|>", "to=functions"),
        silent=(
            "<|start|>assistant",
            "<|channel|>final <|constrain|>json<|message|>",
            "<|channel|>final<|message|>",
            "<|channel|>commentary<|message|>",
            "<|channel|>commentary",
            "<|end|>",
            "<|return|>",
        ),
    ),
    ToolFormat("minimax", (CallMarks("<minimax:tool_call>", "</minimax:tool_call>", xml_calls),)),
    ToolFormat(
        "kimi",
        (CallMarks("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", kimi_calls),),
        inner=("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"),
    ),
    ToolFormat(
        "deepseek",
        (
            CallMarks("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", deepseek_calls),
            CallMarks(
                "<｜tool▁call▁begin｜>",
                "<｜tool▁call▁end｜>",
                lambda body, schemas: deepseek_calls(f"<｜tool▁call▁begin｜>{body}", schemas),
            ),
        ),
        inner=("<｜tool▁sep｜>",),
        told_by=("<｜tool▁call▁begin｜>",),
    ),
    ToolFormat(
        "mistral", (CallMarks("[TOOL_CALLS]", "", mistral_calls),), inner=("[ARGS]", "[CALL_ID]"), told_by=("[TOOL_CALLS]",)
    ),
    ToolFormat("functiongemma", (CallMarks("<start_function_call>", "<end_function_call>", gemma_calls),), inner=("<escape>",)),
    ToolFormat("gemma4", (CallMarks("<|tool_call>", "<tool_call|>", gemma_calls),), inner=('<|"|>',)),
    ToolFormat(
        "qwen_xml", (CallMarks("<tool_call>", "</tool_call>", xml_calls), _FUNCTION), told_by=("<function=", "<parameter=")
    ),
    ToolFormat("glm", (CallMarks("<tool_call>", "</tool_call>", pair_calls),), told_by=("<tool_call>", "<arg_key>")),
    ToolFormat("hermes", (CallMarks("<tool_call>", "</tool_call>", json_calls),), told_by=("<tool_call>",)),
    ToolFormat(
        "phi",
        (
            CallMarks("<|tool_call|>", "<|/tool_call|>", json_calls),
            CallMarks("functools[", "", lambda body, s: json_calls(f"[{body}", s)),
        ),
        told_by=("<|tool_call|>",),
    ),
    ToolFormat("lfm2", (CallMarks("<|tool_call_start|>", "<|tool_call_end|>", python_calls),), told_by=("<|tool_call_start|>",)),
    ToolFormat("jamba", (CallMarks("<tool_calls>", "</tool_calls>", json_calls),), told_by=("<tool_calls>",)),
    ToolFormat("olmo", (CallMarks("<function_calls>", "</function_calls>", python_calls),), told_by=("<function_calls>",)),
    ToolFormat(
        "internlm",
        (CallMarks("<|action_start|>", "<|action_end|>", lambda body, s: json_calls(body.replace("<|plugin|>", ""), s)),),
        inner=("<|plugin|>",),
        told_by=("<|action_start|>",),
    ),
    ToolFormat("command", (CallMarks("<|START_ACTION|>", "<|END_ACTION|>", json_calls),), told_by=("<|START_ACTION|>",)),
    ToolFormat("tool_code", (CallMarks("```tool_code", "```", python_calls),), told_by=("```tool_code",)),
    ToolFormat(
        "llama",
        (
            CallMarks(
                "<|python_tag|>", "", lambda body, s: json_calls(body, s) if body.strip()[:1] in "{[" else python_calls(body, s)
            ),
            _FUNCTION,
        ),
        bare="json",
        told_by=('"name": function name, "parameters"',),
    ),
    ToolFormat(
        "pythonic", (CallMarks("<|python_start|>", "<|python_end|>", python_calls),), bare="python", told_by=("[func_name1(",)
    ),
)
BY_NAME = {form.name: form for form in FORMATS}
HERMES = BY_NAME["hermes"]
_UNMISTAKABLE = (
    "harmony",
    "minimax",
    "kimi",
    "deepseek",
    "mistral",
    "functiongemma",
    "gemma4",
    "hermes",
    "phi",
    "lfm2",
    "internlm",
    "command",
    "pythonic",
    "llama",
)
ANY_FORMAT = ToolFormat(
    "any",
    (
        *(marks for name in _UNMISTAKABLE for marks in BY_NAME[name].marks if name != "hermes"),
        CallMarks("<invoke ", "</invoke>", lambda body, s: xml_calls(f"<invoke {body}</invoke>", s)),
        CallMarks("<tool_call>", "</tool_call>", lambda body, s: _first_read(body, s, (json_calls, xml_calls, pair_calls))),
    ),
    bare="json python",
    silent=BY_NAME["harmony"].silent,
)
"""The form for text of a server whose own parser did not know the model either."""


def _first_read(body: str, schemas: Schemas, readers: Sequence[Callable[[str, Schemas], Calls]]) -> Calls:
    *others, last = readers
    for read in others:
        try:
            return read(body, schemas)
        except UNREADABLE:
            continue
    return last(body, schemas)
