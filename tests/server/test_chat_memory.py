"""What is remembered of written conversations: only for the same client and the same words, and only so much."""

from __future__ import annotations

from dataclasses import replace

from voiceagent.call.written_leg import AnswerEnd, WrittenMessage
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.server.http.chat_memory import REMEMBERED, ChatMemory

ME, OTHER = ("me", ""), ("other", "")
ASKED = (Message("user", "Cancel it."),)
ANSWER = Message("assistant", "Shall I?")
CALL = ToolCall("c", "cancel", "{}")
RAN = (Message("assistant", "", (CALL,)), Message("tool", "not yet", tool_call_id="c"))
END = AnswerEnd("stop", ran=RAN, confirming=CALL)
SAID = (*ASKED, ANSWER, Message("user", "Yes."))


async def test_the_same_conversation_finds_what_its_answers_did() -> None:
    memory = ChatMemory()
    memory.keep(ME, ASKED, ANSWER, END)
    plain = tuple(WrittenMessage(message) for message in SAID)
    expected = (plain[0], *(WrittenMessage(one) for one in RAN), WrittenMessage(ANSWER, CALL), plain[2])
    assert memory.recall(ME, SAID) == expected
    assert memory.recall(OTHER, SAID) == plain
    assert memory.recall(ME, SAID[1:]) == plain[1:]
    assert memory.recall(ME, (Message("user", "Keep it."), *SAID[1:]))[1:] == plain[1:]


async def test_an_answer_of_words_alone_needs_no_memory() -> None:
    memory = ChatMemory()
    memory.keep(ME, ASKED, ANSWER, AnswerEnd("stop"))
    assert len(memory) == 0


async def test_the_oldest_is_forgotten_first() -> None:
    memory = ChatMemory(replace(REMEMBERED, answers=2))
    for number in range(3):
        memory.keep(ME, (Message("user", str(number)),), ANSWER, END)
    assert len(memory) == 2
    first, last = ((Message("user", number), ANSWER) for number in "02")
    assert len(memory.recall(ME, first)) == 2
    assert len(memory.recall(ME, last)) == 4


async def test_one_that_is_larger_than_all_of_it_is_not_kept() -> None:
    memory = ChatMemory(replace(REMEMBERED, size_bytes=10))
    memory.keep(ME, ASKED, ANSWER, END)
    assert len(memory) == 0


async def test_it_is_forgotten_after_a_time() -> None:
    memory = ChatMemory(replace(REMEMBERED, seconds=0.0))
    memory.keep(ME, ASKED, ANSWER, END)
    assert len(memory.recall(ME, SAID)) == len(SAID)
    assert len(memory) == 0, "nothing of it is left"
