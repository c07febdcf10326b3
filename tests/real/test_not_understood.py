"""People who speak and of whom the recogniser understands no word are told so, in whole calls. A cough, a door and a keyboard are
not answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import aiohttp
import numpy as np
import pytest
from numpy.typing import NDArray

from models.train.not_speech import SUDDEN_KINDS, sudden_sound
from tests.kept_calls import latest_log
from tests.people.muffled import muffled
from tests.people.people import RATE_HZ, recordings
from tests.real.conftest import PROFILE
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller, ReceivedEvent
from voiceagent.client.dialogue import QUIET_MS, Dialogue
from voiceagent.conversation.machine import replay
from voiceagent.turn_taking.languages import LANGUAGES

SAYINGS = LANGUAGES["en"].sayings
MUMBLED = ("ibm013", "ibm011", "pvcheeta011")
CLEAR = "s2i103"
QUIET = np.zeros(3 * RATE_HZ, np.int16)
"""Longer than the silence that ends any turn."""


AGENT = """
name: Strict
phrases: {greeting: "Hello."}
options: {stt: {stream: {limits: {log_probability: -0.5}}}}
"""
"""Its recogniser believes no guesses: those at muffled speech have -1.1 to -2.6 here, the words of the clear utterance -0.2."""


@pytest.fixture(scope="module")
def server(models: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("strict")
    (folder / "agent.yaml").write_text(AGENT)
    options = ("--config", str(folder / "agent.yaml"), "--profile", PROFILE, "--event-logs", "50")
    with running_server(folder, *options) as running:
        yield running


def utterance(name: str) -> NDArray[np.int16]:
    """A person's utterance."""
    return next(each for each in recordings("utterances") if each.path.stem == name).audio()


def is_reply(event: ReceivedEvent) -> bool:
    return event.type == "response.done" and event.data["response"]["status"] == "completed"


def answers(dialogue: Dialogue, since: int) -> list[str]:
    return [event.data["answer"] for event in dialogue.events_since(since) if event.type == "voiceagent.not_understood"]


async def test_a_caller_not_understood_is_told_twice_then_asked_whether_they_are_there(
    server: ServerProcess,
) -> None:
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        since = dialogue.event_count
        for name in MUMBLED:
            before = dialogue.event_count
            caller.say(muffled(utterance(name)), RATE_HZ)
            await dialogue.wait_event(is_reply, before, f"an answer to {name}")
            await caller.wait_quiet(QUIET_MS)
        assert [turn.heard for turn in dialogue.turns[1:]] == [SAYINGS.not_understood, SAYINGS.not_understood, SAYINGS.check_in]
        assert answers(dialogue, since) == ["phrase", "phrase", "check_in"]
        (understood,) = await dialogue.turn(CLEAR, utterance(CLEAR), RATE_HZ)
        assert understood.caption
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as response:
        metrics = await response.text()
    assert 'voiceagent_not_understood_total{answer="check_in"} 1' in metrics
    head, steps = latest_log(server.data, caller.location.rpartition("/")[2])
    assert all(step.same for step in replay(head.rules, ((step.event, step.actions) for step in steps)))


def sudden_sounds() -> list[NDArray[np.int16]]:
    return [(sudden_sound(kind, 1) * 32767).astype(np.int16) for kind in SUDDEN_KINDS]


def rooms() -> list[NDArray[np.int16]]:
    return [each.audio() for each in recordings("rooms")[::3]]


@pytest.mark.parametrize("made", [sudden_sounds, rooms])
async def test_coughs_doors_keyboards_and_rooms_are_not_answered(
    server: ServerProcess, made: Callable[[], list[NDArray[np.int16]]]
) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        since = dialogue.event_count
        caller.say(np.concatenate([part for sound in made() for part in (sound, QUIET)]), RATE_HZ)
        await caller.wait_said()
        assert not [event.type for event in dialogue.events_since(since) if event.type == "response.created"]
        assert not answers(dialogue, since)
        (understood,) = await dialogue.turn(CLEAR, utterance(CLEAR), RATE_HZ)
        assert understood.caption
