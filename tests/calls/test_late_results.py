"""Tools that outlive their replies, in whole calls over real WebRTC: nobody is asked whether they are there while one runs, and
its result is told."""

from __future__ import annotations

from pathlib import Path

from tests.calls.scripted_model import Message, agent_on
from tests.fakes import Said
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

TOOLS = '''
import asyncio
from voiceagent.tools import tool

@tool
async def book_table() -> dict[str, str]:
    """Book a table."""
    await asyncio.sleep(8)
    return {"booked": "table"}

@tool(effect="none", filler="I am looking it up.")
async def find_table() -> dict[str, str]:
    """Find a free table."""
    await asyncio.sleep(10)
    return {"free": "table"}
'''
BOOKING = "Book a table for 4 people on Friday at 7 PM."
QUESTION = "What time is it in Paris?"
BOOKED = "Your table is booked for Friday."


def books(messages: list[Message]) -> str | tuple[str, str]:
    """Book when that is asked for, tell the result when it is there, and else say something short."""
    last = messages[-1]
    if last["role"] == "tool":
        return BOOKED
    return ("book_table", "{}") if "table" in last["content"] else "All right."


async def test_a_result_is_told_after_what_was_said_meanwhile_and_the_silence_does_not_count(tmp_path: Path, said: Said) -> None:
    booking, question = await said(BOOKING), await said(QUESTION)
    async with (
        agent_on(tmp_path, books, TOOLS, "turn: {silence_timeout_s: 1}\n") as server,
        Caller(server.url) as caller,
        Dialogue(caller) as dialogue,
    ):
        await dialogue.turn(BOOKING, *booking, interrupt_with=(QUESTION, question[0]), interrupt_after_s=0.3)
        await dialogue.wait_event(lambda event: event.type == "voiceagent.call_ended", 0, "the end of the call")
        events = [event.data for event in dialogue.events_since(0) if event.type == "voiceagent.heard"]
    heard = list({data["item_id"]: data["heard"] for data in events}.values())
    assert heard[1:] == ["All right.", BOOKED, "Are you still there?", "Goodbye."]
    assert dialogue.call_end_reason == "silence"


SEARCH = "Please find a free table for Friday."
PATIENCE = "All right, I will wait for it."
FOUND = "There is a free table at seven."


def finds(messages: list[Message]) -> str | tuple[str, str]:
    """Look for a table when that is asked for, tell the result when it is there, and else say something short."""
    last = messages[-1]
    if last["role"] == "tool":
        return FOUND
    return ("find_table", "{}") if "table" in last["content"] else "Thank you."


async def test_what_was_looked_up_is_told_to_a_caller_who_said_that_they_wait(tmp_path: Path, said: Said) -> None:
    search, patience = await said(SEARCH), await said(PATIENCE)
    async with (
        agent_on(tmp_path, finds, TOOLS, "turn: {silence_timeout_s: 1}\n") as server,
        Caller(server.url) as caller,
        Dialogue(caller) as dialogue,
    ):
        await dialogue.turn(SEARCH, *search, interrupt_with=(PATIENCE, patience[0]), interrupt_after_s=1.0)
        await dialogue.wait_event(lambda event: event.type == "voiceagent.call_ended", 0, "the end of the call")
        events = [event.data for event in dialogue.events_since(0) if event.type == "voiceagent.heard"]
    heard = list({data["item_id"]: data["heard"] for data in events}.values())
    assert heard[0].startswith("I am looking")
    assert heard[1:] == ["Thank you.", FOUND, "Are you still there?", "Goodbye."]
