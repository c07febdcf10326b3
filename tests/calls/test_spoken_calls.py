"""Whole calls of an agent whose words are prescribed: a recording as greeting, and what a tool marks to be said exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.fakes import Said
from tests.server_process import ServerProcess, running_server
from tests.tts.test_clips import write
from voiceagent.audio.format import PLAYED_HZ
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file

AGENT = """
name: Exact
instructions: You are a friendly voice assistant. Answer in one short sentence.
tools: [tools.py]
phrases: {greeting: "Hello, how can I help <verbatim>you</verbatim>?"}
speech:
  clips: {greeting: greeting.wav}
  lexicon: {Paris: pæɹˈiː}
"""
RESULT = '"weather": weather'
"""In what the demo's weather tool returns; it is marked."""
WEATHER = "What's the weather in Paris tomorrow?"


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("exact")
    (folder / "agent.yaml").write_text(AGENT)
    tools = (demo_agent_file().parent / "tools.py").read_text()
    assert RESULT in tools
    (folder / "tools.py").write_text(tools.replace(RESULT, '"weather": f"<verbatim>{weather}</verbatim>"'))
    write(folder / "greeting.wav")
    with running_server(folder, "--config", str(folder / "agent.yaml")) as running:
        yield running


async def test_a_greeting_is_its_recording_and_marks_are_for_the_voice_alone(exact: ServerProcess, said: Said) -> None:
    caller = Caller(exact.url)
    async with caller, Dialogue(caller) as dialogue:
        assert await dialogue.wait_greeting() == "Hello, how can I help you?"
        heard = caller.recording.agent.pcm()
        (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
        events = [str(event.data) for event in dialogue.events_since(0)]
    assert {440, 660} <= await asyncio.to_thread(loudest_hz, heard)
    assert "Paris" in turn.heard
    assert turn.tools
    assert not any("verbatim" in event for event in events)


def loudest_hz(pcm: np.ndarray) -> set[int]:
    """The loudest frequency of each 100 ms, to 20 Hz."""
    size = PLAYED_HZ // 10
    blocks = pcm[: len(pcm) // size * size].reshape(-1, size)
    spectrum = np.abs(np.fft.rfft(blocks * np.hanning(size)))
    return {round(int(peak) * 10 / 20) * 20 for peak in spectrum.argmax(axis=1)}
