"""A caller's question in place of an answer to the agent's: "For how many people?" – "Do you have a terrace?" It is answered, and
the agent's stays open. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from voiceagent.conversation.history import Message, ToolCall, read_arguments
from voiceagent.grounding.language import GroundingWords
from voiceagent.grounding.said import Said, check
from voiceagent.grounding.words import words_of

_LAST_QUESTION = re.compile(r"[^.!?…]*\?\s*\Z")


def is_aside(call: ToolCall, messages: Sequence[Message], language: GroundingWords) -> bool:
    """Whether a call that lacks arguments follows a question of the caller's that says none of them, while the agent waits for an
    answer to a question of its own."""
    if not messages or messages[-1].role != "user" or not open_question(messages):
        return False
    last = messages[-1].content
    words = words_of(last, language)
    if not last.rstrip().endswith("?") and not (words and words[0].text in language.questions):
        return False
    given = {name: value for name, value in (read_arguments(call.arguments) or {}).items() if _is_of_words(value)}
    return len(check(given, {}, Said(messages[-1:], language), language).unsaid) == len(given)


def open_question(messages: Sequence[Message]) -> str:
    """The question with which the agent's last words end; empty if they end otherwise, or are its greeting."""
    before = messages[:-1]
    said = next((one.content for one in reversed(before) if one.role == "assistant" and one.content.strip()), "")
    found = _LAST_QUESTION.search(said) if any(one.role == "user" for one in before) else None
    return found[0].strip() if found else ""


def _is_of_words(value: object) -> bool:
    return value not in (None, "", [], {}) and not isinstance(value, bool)
