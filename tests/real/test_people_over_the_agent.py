"""People's backchannels, rooms and words over the agent's voice, heard by the published recogniser: VAD, sound, words and turn
engine of a real call in audio time (`bench.virtual_call`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from bench.virtual_call import RATE_HZ, Overlap, Remembered, SpokenOver, over_speech
from tests.people.people import Recording, recordings
from tests.real.conftest import PROFILE
from voiceagent.engines import load_stt
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import profile

AUDIBLE_MS = 250.0
MOST_BACKCHANNELS = 0.25
STOP_P50_MS = 140.0
"""A call over WebRTC adds about 60 ms."""
REQUESTS = 24
COMMANDS = {"stop", "no"}


@pytest.fixture(scope="module")
def recogniser() -> Iterator[Remembered]:
    engine = Remembered(load_stt(profile(PROFILE).stt))
    yield engine
    asyncio.run(engine.close())


def spoken_over(recogniser: Remembered, sounds: Sequence[Recording]) -> list[Overlap]:
    """What becomes of each of them over a long reply."""

    async def play() -> list[Overlap]:
        outcomes = []
        for sound in sounds:
            pcm = sound.audio()[int(sound.start_s * RATE_HZ) : int(sound.end_s * RATE_HZ)]
            outcomes.append(await SpokenOver(recogniser).overlap_coded(over_speech(pcm), len(pcm) * 1000 / RATE_HZ))
        return outcomes

    return asyncio.run(play())


def silenced(outcomes: Sequence[Overlap]) -> int:
    return sum(outcome.yielded or outcome.gap_ms > AUDIBLE_MS for outcome in outcomes)


def test_few_backchannels_of_people_silence_the_agent_for_a_quarter_of_a_second(recogniser: Remembered) -> None:
    outcomes = spoken_over(recogniser, recordings("backchannels"))
    assert silenced(outcomes) <= MOST_BACKCHANNELS * len(outcomes), [outcome.gap_ms for outcome in outcomes]


def test_no_room_of_people_does(recogniser: Remembered) -> None:
    assert silenced(spoken_over(recogniser, recordings("rooms"))) == 0


def test_requests_of_people_stop_the_agent_soon(recogniser: Remembered) -> None:
    requests = [each for each in recordings("utterances") if each.kind == "request to an assistant"][:: 96 // REQUESTS]
    outcomes = spoken_over(recogniser, requests)
    assert all(outcome.yielded for outcome in outcomes)
    assert percentile([outcome.stopped_ms for outcome in outcomes], 50) <= STOP_P50_MS


def test_people_who_say_stop_or_no_stop_the_agent(recogniser: Remembered) -> None:
    commands = [each for each in recordings("utterances") if each.text in COMMANDS]
    outcomes = spoken_over(recogniser, commands)
    unheard = [(each.path.name, outcome.words) for each, outcome in zip(commands, outcomes, strict=True) if not outcome.yielded]
    assert len(unheard) <= len(commands) // 5, unheard
