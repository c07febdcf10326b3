"""Keys of the telephone: none is lost or doubled over a real leg, the first stops the agent's voice, and the agent may say how a
number ends."""

from __future__ import annotations

import json
import random

import pytest

from tests.telephone.conftest import EchoCall, EchoServer
from tests.telephone.peers import Peer
from voiceagent.telephone.features.key_tools import COLLECT_DIGITS as NAME
from voiceagent.telephone.features.key_tools import CollectDigits
from voiceagent.telephone.keys import ANSWER, MAX_KEYS, PAUSE_S, STOP, Keypad, KeyRule
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.turn_taking.languages import LANGUAGES, OTHER, language

DIGITS = 1000


def numbers(call: EchoCall) -> list[str]:
    """What was keyed in, number by number."""
    events = [json.loads(text) for text in call.typed]
    return [event["item"]["content"][0]["text"] for event in events if event["type"] == "conversation.item.create"]


@pytest.mark.parametrize("vendor", ["twilio", "vonage"])
async def test_a_thousand_digits_come_without_an_error_while_both_speak(echo: EchoServer, vendor: str) -> None:
    rng = random.Random(7)
    sent: list[str] = []
    while sum(map(len, sent)) < DIGITS:
        sent.append("".join(rng.choices("0123456789*ABCD", k=rng.randint(1, min(24, DIGITS - sum(map(len, sent)))))))
    async with Peer(echo.session, echo.url, vendor, patience_s=30.0) as peer:
        await peer.wait(lambda: bool(echo.calls))
        (call,) = echo.calls
        for count, number in enumerate(sent, 1):
            await peer.press(number + "#")
            spoken = peer.frames_sent + len(number) // 2  # no faster than 100 keys a second
            await peer.wait(lambda count=count, spoken=spoken: len(numbers(call)) >= count and peer.frames_sent >= spoken)  # type: ignore[misc]
        assert not {"events_dropped_in", "packets_malformed", "packets_refused"} & {k for k, n in call.leg.counters.items() if n}
    assert sum(map(len, sent)) == DIGITS
    assert numbers(call) == sent


async def test_the_first_key_stops_the_voice_before_the_number_is_complete(echo: EchoServer) -> None:
    async with Peer(echo.session, echo.url, "twilio") as peer:
        await peer.wait(lambda: bool(echo.calls))
        (call,) = echo.calls
        await peer.press("4")
        await peer.wait(lambda: len(call.typed) == 1)
        assert call.typed == [STOP]
        await peer.press("2#")
        await peer.wait(lambda: len(call.typed) == 3)
    assert call.typed[2] == ANSWER
    assert numbers(call) == ["42"]


async def test_the_agent_says_how_the_next_number_ends_and_the_one_after_ends_as_usual(echo: EchoServer) -> None:
    async with Peer(echo.session, echo.url, "twilio") as peer:
        await peer.wait(lambda: bool(echo.calls))
        (call,) = echo.calls
        tools = CallTools(ToolSet(), (CollectDigits(call.leg.client.keys.collect, language("en").phone),))
        outcome = await tools.run("c1", NAME, '{"max_digits": 4, "terminator": ""}', 5)
        assert outcome.ok
        await peer.press("12#4")
        await peer.press("56#")
        await peer.wait(lambda: len(numbers(call)) == 2)
        await tools.run("c2", NAME, '{"timeout_between_digits_s": 0.5, "terminator": "*"}', 5)
        await peer.press("7")
        await peer.wait(lambda: len(numbers(call)) == 3)
    assert numbers(call) == ["12#4", "56", "7"]
    assert await closed_without_a_timer(call)


async def closed_without_a_timer(call: EchoCall) -> bool:
    await call.leg.close()
    return call.leg.client.keys._timer is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [('{"max_digits": 0}', "max_digits"), ('{"terminator": "5"}', "terminator"), ('{"timeout_between_digits_s": 90}', "timeout")],
)
async def test_the_model_is_told_which_argument_cannot_be(arguments: str, told: str) -> None:
    tools = CallTools(ToolSet(), (CollectDigits(lambda rule: None, language("en").phone),))
    outcome = await tools.run("c1", NAME, arguments, 5)
    assert not outcome.ok
    assert told in outcome.output


def test_a_number_ends_with_its_terminator_its_length_or_a_pause_by_the_rule_that_was_asked_for() -> None:
    pad = Keypad()
    pad.collect(KeyRule("*", 3, 0.5))
    assert [pad.press(key, 0.0) for key in "1#"] == ["", ""]
    assert pad.poll(0.4) == ""
    assert pad.poll(0.5) == "1#"
    assert pad.press("1", 1.0) == ""
    assert pad.due_s == 1.0 + PAUSE_S, "the rule held for one number"
    assert pad.press("#", 1.0) == "1"
    pad.collect(KeyRule("#", 3))
    assert [pad.press(key, 0.0) for key in "123"] == ["", "", "123"]
    pad.collect(KeyRule())
    assert pad.press("#", 0.0) == "#", "nothing was keyed in, and the caller says so"
    assert [pad.press("1", 0.0) for _ in range(MAX_KEYS)][-1] == "1" * MAX_KEYS


def test_a_terminator_behind_a_number_that_its_last_key_has_ended_is_no_number() -> None:
    for key, at_s, spare in (("#", 1.0, True), ("#", PAUSE_S, False), ("4", 1.0, False)):
        pad = Keypad()
        pad.collect(KeyRule(max_keys=3))
        assert [pad.press(one, 0.0) for one in "123"] == ["", "", "123"]
        pad.collect(KeyRule())
        assert pad.is_spare(key, at_s) is spare
        assert not pad.is_spare("#", at_s), "one is enough"


@pytest.mark.parametrize("code", [*LANGUAGES, ""])
def test_every_language_tells_the_model_of_the_tool(code: str) -> None:
    words = language(code).phone
    assert words.collect_digits
    assert words.collecting
    assert code or language(code) is OTHER


def test_the_agents_own_tool_of_that_name_goes_before_the_telephones() -> None:
    from voiceagent.tools import tool

    @tool(name=NAME)
    def mine() -> str:
        """Mine."""
        return ""

    tools = CallTools(ToolSet([mine]), (CollectDigits(lambda rule: None, language("en").phone),))
    assert [schema["function"]["description"] for schema in tools.schemas()] == ["Mine."]
