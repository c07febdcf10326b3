"""A recording's file: private, playable while it is written, ended by a full disk, deleted for a caller who refuses."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
import time
import wave
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import av
import msgspec
import numpy as np
import pytest

from tests.telephone.fed_call import FedCall
from tests.telephone.sip_parts import until
from voiceagent.audio.format import HEARD_HZ
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import ReplyEnded
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.leg import DeliverAudio, InboundFrame, Leg
from voiceagent.media.playout import Playout
from voiceagent.media.websocket.event_audio import Encoding
from voiceagent.settings.telephone import RecordingSettings, TelephonySettings
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.features.recording import DAY_S, RECORDING_TIMES, Recording, RecordingTimes, delete_old
from voiceagent.telephone.features.recording_file import open_recording
from voiceagent.turn_taking.languages.en import ENGLISH

TONE = np.round(8000 * np.sin(2 * np.pi * 440 * np.arange(HEARD_HZ) / HEARD_HZ)).astype(np.int16)
WORDS = replace(ENGLISH, sayings=replace(ENGLISH.sayings, recording_deleted="It is deleted."))
SOON = RecordingTimes(written_every_s=0.01)
BOTH = np.stack([TONE, TONE // 2], axis=1)


class QuietLeg:
    """A leg with frames at a push."""

    def __init__(self) -> None:
        self.playout = Playout()
        self.cleaner = AudioCleaner()
        self.kind = LegKind.TELEPHONE
        self.end_reason = ""
        self.counters: dict[str, int] = {}
        self.drops: dict[str, int] = {}
        self.waiting: asyncio.Queue[InboundFrame | None] = asyncio.Queue()

    async def frames(self) -> AsyncIterator[InboundFrame]:
        while (frame := await self.waiting.get()) is not None:
            yield frame

    async def client_events(self) -> AsyncIterator[str]:
        return
        yield ""

    def send_event(self, event: dict[str, object]) -> None: ...

    def deliver_audio(self, deliver: DeliverAudio) -> None: ...

    def take_jitter_ms(self) -> tuple[float | None, float | None]:
        return None, None

    def use(self, taken: Encoding, given: Encoding) -> None: ...

    async def wait_connected(self) -> bool:
        return True

    async def close(self) -> None: ...


def settings(**more: Any) -> RecordingSettings:
    return RecordingSettings(**{"folder": "calls", "announcement": "This call is recorded.", "min_free_mb": 1, **more})


@dataclass
class Begun:
    """A recording that has begun."""

    recording: Recording
    inner: QuietLeg
    leg: Leg
    call: FedCall


def begun(folder: Path, times: RecordingTimes = RECORDING_TIMES, **more: Any) -> Begun:
    recording, inner, call = Recording(settings(**more), folder, TaskOwner(), WORDS, times), QuietLeg(), FedCall()
    leg = recording.wrap(inner)
    recording.begin(call)
    return Begun(recording, inner, leg, call)


def kept(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def played(path: Path) -> np.ndarray:
    """As a player reads it: shape (samples, 2), at 16 kHz."""
    with av.open(str(path)) as container:
        resampler = av.AudioResampler(format="s16", layout="stereo", rate=HEARD_HZ)
        frames = [part for frame in container.decode(audio=0) for part in resampler.resample(frame)]
    return np.concatenate([frame.to_ndarray().reshape(-1, 2) for frame in frames])


@pytest.mark.parametrize("kind", ["wav", "opus"])
def test_a_file_is_private_and_can_be_played_though_nobody_closed_it(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "calls" / f"rtc_1.{kind}"
    file = open_recording(path, kind, HEARD_HZ)
    for _ in range(20):
        file.write(BOTH)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    so_far = played(path)
    assert len(so_far) >= (20 if kind == "wav" else 8) * HEARD_HZ
    left, right = (float(np.sqrt(np.mean(so_far[HEARD_HZ : 5 * HEARD_HZ, side].astype(float) ** 2))) for side in (0, 1))
    assert left / right == pytest.approx(2.0, rel=0.1)
    file.close()
    assert len(played(path)) == pytest.approx(20 * HEARD_HZ, abs=HEARD_HZ // 20)
    with pytest.raises(FileExistsError):
        open_recording(path, kind, HEARD_HZ)


async def test_what_both_say_is_in_the_file_once_the_call_is_over(tmp_path: Path) -> None:
    made = begun(tmp_path)
    recording, leg = made.recording, made.inner
    for _ in range(10):
        leg.waiting.put_nowait(InboundFrame(TONE[:320], 0.0, concealed=False))
    leg.waiting.put_nowait(None)
    leg.playout.push(1, 0, np.full(4800, 5000, np.int16), complete=True)
    assert len([frame async for frame in made.leg.frames()]) == 10
    for _ in range(10):
        leg.playout.next_frame()
    await until(lambda: bool(recording.file_name))
    await asyncio.sleep(0.25)  # the time of the audio itself
    await made.leg.close()
    with wave.open(str(tmp_path / recording.file_name)) as file:
        pcm = np.frombuffer(file.readframes(1 << 20), "<i2").reshape(-1, 2)
    assert np.abs(pcm[:3200, 0]).max() > 7000
    assert pcm[800:2400, 1].min() > 4500


@pytest.mark.parametrize("fills", [False, True])
async def test_audio_that_stalls_and_comes_as_a_burst_is_in_the_file_where_it_was_said(tmp_path: Path, fills: bool) -> None:
    made, now = begun(tmp_path, RecordingTimes(written_every_s=0.001)), 0.0
    recording, leg = made.recording, made.inner
    recording._clock = lambda: now
    recording._began_s = recording._written_s = 0.0
    frames = made.leg.frames()

    async def hear(peak: int, *, concealed: bool = False) -> None:
        leg.waiting.put_nowait(InboundFrame(np.full(320, peak, np.int16), 0.0, concealed=concealed))
        await anext(frames)

    await until(lambda: bool(recording.file_name))
    for number in range(400):
        now = number * 0.02
        if number < 200 or number >= 300:
            await hear(1000)
        elif fills:
            await hear(0, concealed=True)
        if number == 299:
            for _ in range(100):
                await hear(2000)
        await asyncio.sleep(0.001)
    now = 8.0
    await made.leg.close()
    with wave.open(str(tmp_path / recording.file_name)) as file:
        caller = np.frombuffer(file.readframes(1 << 20), "<i2").reshape(-1, 2)[:, 0].reshape(-1, 320)
    assert (caller == caller[:, :1]).all()
    assert caller[:, 0].tolist() == [1000] * 200 + [2000] * 100 + [1000] * 100


async def test_a_disk_without_room_ends_the_recording_in_one_line_and_the_call_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = begun(tmp_path, SOON, min_free_mb=10**9)
    recording = made.recording
    with caplog.at_level(logging.ERROR):
        assert recording._writing is not None
        await asyncio.wait_for(asyncio.shield(recording._writing), 5)
    (line,) = caplog.messages
    assert line.startswith(f"call rtc_1 is recorded no further: {tmp_path} has ")
    assert "expected 1000000000 or more (telephony.recording.min_free_mb)" in line
    assert made.call.recorded == [True, False]
    await made.leg.close()


@pytest.mark.parametrize("how", ["stalls", "breaks"])
async def test_what_waits_for_a_disk_that_stalls_or_a_file_that_breaks_is_bounded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    def write(_: Path) -> object:
        hangs.set()
        if how == "breaks":
            raise RuntimeError("the file is broken")
        goes_on.wait(10)
        return shutil._ntuple_diskusage(1 << 40, 0, 1 << 40)

    monkeypatch.setattr(shutil, "disk_usage", write)
    made = begun(tmp_path, RecordingTimes(written_every_s=0.01, stalled_s=0.2, finished_s=0.2))
    recording, leg = made.recording, made.inner
    try:
        await until(hangs.is_set)
        await until(lambda: recording._clock() - recording._written_s > 0.25)
        with caplog.at_level(logging.ERROR):
            for frame in (InboundFrame(TONE[:320], 0.0, concealed=False), None):
                leg.waiting.put_nowait(frame)
            assert len([frame async for frame in made.leg.frames()]) == 1
        assert not recording._is_on
        assert [line for line in caplog.messages if "recorded no further" in line]
        assert not recording._timeline._pieces["caller"], "what can no more be written is not kept"
        await asyncio.wait_for(made.leg.close(), 2)
        assert any("is not complete after 0.2 s: the disk stalls" in line for line in caplog.messages) is (how == "stalls")
    finally:
        goes_on.set()
    assert recording._finishing is not None
    await asyncio.wait_for(recording._finishing, 5)


async def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    made = begun(tmp_path / "file")
    recording = made.recording
    assert recording._writing is not None
    await asyncio.wait_for(asyncio.shield(recording._writing), 5)
    await made.leg.close()
    assert recording.file_name == ""
    assert len(caplog.messages) == 1
    assert made.call.recorded == []


async def test_a_caller_who_refuses_has_the_recording_deleted_and_is_told_so(tmp_path: Path) -> None:
    made = begun(tmp_path, SOON)
    recording, call = made.recording, made.call
    await until(lambda: call.recorded == [True])
    recording.refuse()
    recording.refuse()
    assert call.recorded == [True, False]
    said = await asyncio.wait_for(call.fed.get(), 5)
    assert said == ev.Announce(0.0, "It is deleted.")
    assert not kept(tmp_path)
    await made.leg.close()
    assert (recording.file_name, kept(tmp_path), call.fed.qsize()) == ("", [], 0)


async def test_an_announcement_that_was_spoken_over_is_said_again(tmp_path: Path) -> None:
    made = begun(tmp_path)
    recording, call = made.recording, made.call
    recording.stepped(ev.CallStarted(0.0), (ReplyEnded(1, "interrupted", "This call is", "recorded. Hello."),))
    assert call.fed.empty(), "not over the caller"
    recording.stepped(ev.CallStarted(0.0), (ReplyEnded(2, "completed", "It is noon.", ""),))
    assert call.fed.get_nowait() == ev.Announce(0.0, "This call is recorded.")
    recording.stepped(ev.CallStarted(0.0), (ReplyEnded(3, "completed", "This call is recorded.", ""),))
    recording.stepped(ev.CallStarted(0.0), (ReplyEnded(4, "completed", "Goodbye.", ""),))
    assert call.fed.empty()
    await made.leg.close()


async def test_a_caller_who_refuses_over_the_announcement_does_not_hear_it_again(tmp_path: Path) -> None:
    made = begun(tmp_path)
    recording, call = made.recording, made.call
    recording.refuse()
    recording.stepped(ev.CallStarted(0.0), (ReplyEnded(1, "cancelled", "This call is", "recorded. Hello."),))
    assert await asyncio.wait_for(call.fed.get(), 5) == ev.Announce(0.0, "It is deleted.")
    recording.stepped(ev.CallStarted(0.0), (ReplyEnded(2, "completed", "It is deleted.", ""),))
    assert call.fed.empty()
    await made.leg.close()


def test_old_recordings_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    now_s = time.time()
    for name, days in {"rtc_old.wav": 31, "rtc_new.wav": 29, "rtc_old.opus": 40, "mine.wav": 99, "rtc_old.txt": 99}.items():
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (now_s - days * DAY_S, now_s - days * DAY_S))
    delete_old(tmp_path, 30, now_s)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.wav", "rtc_new.wav", "rtc_old.txt"]
    delete_old(tmp_path / "missing", 30, now_s)


def test_nothing_is_recorded_that_the_caller_is_not_told_of() -> None:
    with pytest.raises(msgspec.ValidationError, match="announcement is empty, expected what callers are told"):
        msgspec.convert({"recording": {"folder": "calls"}}, TelephonySettings)
    assert not TelephonySettings().recording.folder
