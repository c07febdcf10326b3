"""What is drafted of a tool call may always be written, and is what the caller's words make likely."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm.test_tool_constraint import BOOK, DATE, folder, prompt
from voiceagent.conversation.history import Message
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.chat.tool_constraint import NoCall, ToolConstraint, ToolConstraints
from voiceagent.llm.embedded.drafts import Drafts

__all__ = ["folder", "prompt"]
STOP = 2
SAID = (Message("user", "Book dinner for 4 people, the name is Anna."),)
CALL = '<tool_call>{"name": "book_table", "arguments": {"people": 4, "kind": "dinner", "name": "Anna"}}</tool_call>'


@pytest.fixture
def constraint(folder: Path, prompt: ChatPrompt) -> ToolConstraint:
    found = ToolConstraints(folder, prompt.template).of([BOOK, DATE])
    assert found is not None
    return found


def ids(prompt: ChatPrompt, text: str) -> list[int]:
    return prompt.encode(text)[0]


def test_a_call_is_drafted_before_its_first_word(prompt: ChatPrompt, constraint: ToolConstraint) -> None:
    drafts = Drafts(prompt, ids(prompt, SAID[0].content), SAID, constraint, [9, STOP])
    assert prompt.tokenizer.decode(drafts.next([], 40), skip_special_tokens=False).startswith('<tool_call>{"name": "')
    assert not constraint.called, "a draft is no word of the answer"


def test_what_is_drafted_of_a_call_may_be_written(prompt: ChatPrompt, constraint: ToolConstraint) -> None:
    drafts = Drafts(prompt, ids(prompt, SAID[0].content), SAID, constraint, [9, STOP])
    written: list[int] = []
    right = 0
    for token in ids(prompt, CALL):
        draft = drafts.next(written, 11)
        if constraint.matcher is not None:
            reader = constraint.matcher.copy()
            assert all(reader.is_over or reader.take(drafted) for drafted in draft), prompt.tokenizer.decode(draft)
            right += draft[:1] == [token]
        constraint.took(token)
        written.append(token)
    assert right > 10, "hardly anything was drafted right"
    assert drafts.next(written, 11) == [STOP]


def test_the_callers_words_are_drafted_where_they_may_stand(prompt: ChatPrompt, constraint: ToolConstraint) -> None:
    drafts = Drafts(prompt, ids(prompt, SAID[0].content), SAID, constraint, [9, STOP])
    begun = ids(prompt, '<tool_call>{"name": "book_table", "arguments": {"people": 4, "kind": "')
    for token in begun:
        constraint.took(token)
    assert prompt.tokenizer.decode(drafts.next(begun, 11)).startswith("dinner")


def test_an_agent_without_tools_has_no_call_drafted(folder: Path, prompt: ChatPrompt) -> None:
    none = ToolConstraints(folder, prompt.template).of([])
    assert isinstance(none, NoCall)
    drafts = Drafts(prompt, ids(prompt, SAID[0].content), SAID, none, [9, STOP])
    assert drafts.next([], 11) == []
