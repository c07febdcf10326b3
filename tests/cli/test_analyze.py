"""`voiceagent analyze` on recordings whose times are known: people's turns on the left, a voice on the right."""

import itertools
import json
import wave
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.conftest import Outcome
from tests.people.people import recordings
from tests.speech import RATE_HZ, noise, said, tone

Run = Callable[..., Outcome]
Pcm = NDArray[np.int16]
REPLY = "Certainly. The table is booked for seven in the evening, and the kitchen is open until eleven."


@dataclass
class Scene:
    """Two channels that are filled from their ends."""

    length_s: float
    caller: Pcm = field(init=False)
    agent: Pcm = field(init=False)

    def __post_init__(self) -> None:
        self.caller, self.agent = (np.zeros(int(self.length_s * RATE_HZ), np.int16) for _ in range(2))

    def put(self, side: Pcm, pcm: Pcm, at_s: float) -> float:
        start = round(at_s * RATE_HZ)
        side[start : start + len(pcm)] = pcm
        return at_s + len(pcm) / RATE_HZ

    def write(self, file: Path, *, noise_level: float = 0.0, caller_right: bool = False) -> str:
        sides = [
            side + noise(self.length_s * 1000, noise_level, seed)[: len(side)] if noise_level else side
            for seed, side in enumerate((self.caller, self.agent))
        ]
        with wave.open(str(file), "wb") as out:
            out.setnchannels(2)
            out.setsampwidth(2)
            out.setframerate(RATE_HZ)
            out.writeframes(np.stack(sides[::-1] if caller_right else sides, axis=1).astype("<i2").tobytes())
        return str(file)


def talks() -> Iterator[tuple[Scene, list[float]]]:
    """Calls of three turns of one person each, and where the replies begin."""
    turns = [turn.audio()[: round(turn.end_s * RATE_HZ)] for turn in recordings("turns")]
    for three in zip(*[iter(turns)] * 3, strict=False):
        scene, at_s, begins = Scene(sum(map(len, three)) / RATE_HZ + 30.0), 1.0, []
        for turn in three:
            begins.append(scene.put(scene.caller, turn, at_s) + 0.6)
            at_s = scene.put(scene.agent, said(REPLY), begins[-1]) + 1.0
        yield scene, begins


def analyzed(voiceagent: Run, *args: str) -> dict[str, list[dict[str, float | None]]]:
    outcome = voiceagent("analyze", *args, "--format", "json")
    assert outcome.code == 0, outcome.err
    found: dict[str, list[dict[str, float | None]]] = json.loads(outcome.out)
    return found


@pytest.mark.parametrize("noise_level", [0.0, 0.002, 0.01])
def test_a_delay_that_was_put_in_is_found_within_10_ms(voiceagent: Run, tmp_path: Path, noise_level: float) -> None:
    for delay_ms, (scene, begins) in zip(itertools.cycle((7, 33, 101, 240)), talks(), strict=False):
        later = Scene(scene.length_s)
        later.caller = scene.caller
        later.put(later.agent, scene.agent[: -RATE_HZ * delay_ms // 1000], delay_ms / 1000)
        before, after = (
            analyzed(voiceagent, one.write(tmp_path / "call.wav", noise_level=noise_level))["turns"] for one in (scene, later)
        )
        assert len(before) == len(after) == len(begins)
        for one, other, begin_s in zip(before, after, begins, strict=True):
            assert other["response_ms"] - one["response_ms"] == pytest.approx(delay_ms, abs=10)  # type: ignore[operator]
            assert one["caller_end_s"] + one["response_ms"] / 1000 == pytest.approx(begin_s, abs=0.03)  # type: ignore[operator]


def test_the_agent_stops_for_words_and_goes_on_over_a_backchannel(voiceagent: Run, tmp_path: Path) -> None:
    scene = Scene(30.0)
    scene.put(scene.caller, said("Tell me all about it, please."), 1.0)
    scene.put(scene.agent, said(" ".join([REPLY] * 2)), 4.0)
    scene.put(scene.caller, next(iter(recordings("backchannels"))).audio(), 6.0)
    reply_s = scene.put(scene.agent, said(" ".join([REPLY] * 2)), 17.0)
    scene.put(scene.caller, said("Stop, I have another question."), 20.0)
    scene.agent[round(20.180 * RATE_HZ) : round(reply_s * RATE_HZ)] = 0
    backchannel, stop = analyzed(voiceagent, scene.write(tmp_path / "call.wav"))["interruptions"]
    assert backchannel["onset_s"] == pytest.approx(6.0, abs=0.4)
    assert backchannel["stop_ms"] is None
    assert stop["onset_s"] == pytest.approx(20.0, abs=0.03)
    assert stop["stop_ms"] == pytest.approx(180, abs=60)  # espeak's words end where its sound dips below the threshold


def test_an_agent_that_begins_while_the_caller_speaks_cut_in(voiceagent: Run, tmp_path: Path) -> None:
    scene = Scene(20.0)
    scene.put(scene.caller, said("I would like to book a table for two people at seven"), 1.0)
    scene.put(scene.agent, said(REPLY), 2.5)
    found = analyzed(voiceagent, scene.write(tmp_path / "call.wav"))
    assert found["turns"] == []
    assert [one["onset_s"] for one in found["cut_ins"]] == [pytest.approx(2.5, abs=0.03)]


def test_an_echo_of_the_agent_is_not_the_caller(voiceagent: Run, tmp_path: Path) -> None:
    scene, begins = next(talks())
    scene.caller += (scene.agent / 60).astype(np.int16)
    found = analyzed(voiceagent, scene.write(tmp_path / "call.wav"))
    assert len(found["turns"]) == len(begins)
    assert found["interruptions"] == []


def test_the_caller_may_be_right_and_calls_are_pooled(voiceagent: Run, tmp_path: Path) -> None:
    scene, begins = next(talks())
    left, right = (scene.write(tmp_path / f"{name}.wav", caller_right=name == "right") for name in ("left", "right"))
    assert analyzed(voiceagent, right, "--caller", "right") == analyzed(voiceagent, left)
    assert len(analyzed(voiceagent, left, left)["turns"]) == 2 * len(begins)
    assert "response" in voiceagent("analyze", left).out


def test_sounds_that_are_no_speech_are_measured_and_said(voiceagent: Run, tmp_path: Path) -> None:
    scene = Scene(8.0)
    scene.put(scene.caller, said("Is anybody there?"), 1.0)
    scene.put(scene.agent, tone(1500, 440), 4.0)
    outcome = voiceagent("analyze", scene.write(tmp_path / "call.wav"), "--format", "json")
    assert outcome.code == 0
    assert "no speech in the right channel, the agent" in outcome.err
    assert len(json.loads(outcome.out)["turns"]) == 1


@pytest.mark.parametrize("case", ["absent", "mono", "text", "silent"])
def test_what_cannot_be_measured_is_one_line(voiceagent: Run, tmp_path: Path, case: str) -> None:
    file = tmp_path / "call.wav"
    if case == "mono":
        with wave.open(str(file), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(RATE_HZ)
            out.writeframes(tone(500, 440).tobytes())
    elif case == "text":
        file.write_text("not a recording")
    elif case == "silent":
        scene = Scene(3.0)
        scene.put(scene.caller, said("Hello?"), 1.0)
        scene.write(file)
    outcome = voiceagent("analyze", str(file))
    assert outcome.code == (2 if case == "silent" else 1)
    assert len(outcome.err.strip().splitlines()) == 1
    assert str(file) in outcome.err
