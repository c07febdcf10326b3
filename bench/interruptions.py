"""Interruptions at random moments of replies, on received audio: how soon the agent is silent, and whether anything of the
dropped reply is heard after that. Each reply is a tone of its own (`marked_server`); hearing, deciding, pacing and sending are
a real call's, over WebRTC on a good network and on one that loses 5 % of the packets."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bench.bundled.speech import held_out
from bench.floor_curve import STOP_P50_MS, STOP_P95_MS
from bench.harness import Figure, at_least, at_most
from bench.marked_server import RATE_HZ, TONES_HZ
from bench.server import Server, running
from models.train.espeak import Espeak
from voiceagent.audio.levels import dbfs
from voiceagent.client.caller import AgentFrame, Caller
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import distribution

SAID_RATE_HZ = 16_000
INTERRUPTIONS = {0.0: 1000, 0.05: 1000}
"""Number of interruptions, by the share of packets that is lost."""
CALLS_AT_ONCE = 16
UTTERANCES = 60
LONGEST_WAIT_S = 2.5
"""A reply is interrupted at a moment up to this long after its beginning."""
ANSWER_TIMEOUT_S = 12.0
EVENTS_TIMEOUT_S = 20.0
"""The data channel's handshake waits for 3 s and more for each lost packet (RFC 9260 §16)."""
GAP_MS = 60.0
"""The agent is silent where none of a reply was received for this long."""
LOST_MS = 120.0
"""Between two frames of one reply, at most: up to five packets in a row may be lost. Between two replies it is more."""
SURE_FRAMES = 3
SURE_MS = 100.0
"""A reply is being heard when so many frames of it came in so little time."""
MAX_CONNECTIONS = 20
"""That one caller makes, if calls fail."""
YIELD_TIMEOUT_S = 3.0
"""The agent that has not dropped its reply so long after the interruption has not yielded."""
QUIET_DBFS = -45.0
STEP_SAMPLES = RATE_HZ * 5 // 1000
NOTES = """The agent is eager (`turn.overlap`): softer at once, silent after a tenth of a second of sound. Replies are ten seconds
of a tone each, written and synthesised piece by piece; the VAD, Whisper, the turn engine, the playout and WebRTC are those
of `voiceagent serve`. The interruptions are sentences of the held-out list in its voices, at random moments. A packet
that was lost and is made up from the one before it is not a frame received. A frame that is of no tone is taken for the
beginning of the next reply where sound goes on from it to that one's tone, or the server has announced that one; else for
the end of the reply before it. Where the agent went on for a moment first, the sentence began with a word that might have
been a backchannel ("Good. In Venice, please."), or had a gap a third of a second after its onset."""

Speech = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class ToneFrame:
    """20 ms of a reply, as received."""

    at_ms: float
    end_ms: float
    """Time at which the last of it that can be heard is heard."""
    tone: int
    """Its index in `TONES_HZ`; -1 where none stands out."""
    concealed: bool


@dataclass(slots=True)
class Measured:
    """The measurements of the calls on one network."""

    stops_ms: list[float] = field(default_factory=list)
    """From the onset of the interruption to the agent's silence."""
    went_on: int = 0
    """Interruptions after which the reply went on."""
    hesitated: int = 0
    """Interruptions in which the agent was silent, went on, and was silent again."""
    stale_frames: int = 0
    """Frames of a reply that were received after the server had said that it was dropped."""
    made_again: int = 0
    """Calls that did not come up whole: the server's events never came."""
    problems: list[str] = field(default_factory=list)


class Listener:
    """Tells the replies in a caller's received audio apart."""

    def __init__(self) -> None:
        self.frames: list[ToneFrame] = []
        self.dropped_ms: list[float] = []
        self.announced_ms: list[float] = []
        """Times at which the server announced a reply."""
        self.told = asyncio.Event()
        """Set once the server's events come."""
        self._heard = asyncio.Event()

    async def read(self, caller: Caller) -> None:
        """Note when the server says that it dropped a reply, or begins one."""
        async for event in caller.events():
            self.told.set()
            if event.type == "response.created":
                self.announced_ms.append(event.received_ms)
            if event.type == "response.done" and event.data["response"]["status"] == "cancelled":
                self.dropped_ms.append(event.received_ms)
                self._heard.set()

    def hear(self, frame: AgentFrame) -> None:
        """Take a received frame."""
        loud = [
            end for end in range(STEP_SAMPLES, len(frame.pcm) + 1, STEP_SAMPLES) if _audible(frame.pcm[end - STEP_SAMPLES : end])
        ]
        if loud:
            end_ms = frame.received_ms + loud[-1] * 1000.0 / RATE_HZ
            self.frames.append(ToneFrame(frame.received_ms, end_ms, tone_of(frame.pcm), frame.concealed))
        self._heard.set()

    async def playing(self) -> int:
        """Wait until a reply is being heard; its tone."""
        while True:
            latest = self.frames[-SURE_FRAMES:]
            tones = {frame.tone for frame in latest}
            recent = len(latest) == SURE_FRAMES and latest[0].at_ms > time.monotonic() * 1000.0 - SURE_MS
            if recent and len(tones) == 1 and -1 not in tones:
                return latest[0].tone
            self._heard.clear()
            await self._heard.wait()

    async def dropped_after(self, at_ms: float) -> float:
        """Wait for the server to drop a reply; when it said so."""
        while not self.dropped_ms or self.dropped_ms[-1] < at_ms:
            self._heard.clear()
            await self._heard.wait()
        return next(dropped_ms for dropped_ms in self.dropped_ms if dropped_ms >= at_ms)


def _audible(pcm: Speech) -> bool:
    return dbfs(pcm) >= QUIET_DBFS


def tone_of(pcm: Speech) -> int:
    """The index in `TONES_HZ` of the tone that a frame is of, -1 when it is of none; mono at `RATE_HZ`, shape (480,)."""
    spectrum = np.square(np.abs(np.fft.rfft(pcm * np.hanning(len(pcm)))))
    bin_hz = RATE_HZ / len(pcm)
    at = int(np.argmax(spectrum))
    if spectrum[max(0, at - 1) : at + 2].sum() < 0.5 * spectrum.sum():
        return -1
    nearest = min(range(len(TONES_HZ)), key=lambda index: abs(TONES_HZ[index] - at * bin_hz))
    return nearest if abs(TONES_HZ[nearest] - at * bin_hz) <= bin_hz else -1


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about a quarter of an hour."""
    utterances = utterances_of_voices()
    async with running(program=("bench.marked_server",)) as server:
        networks = {loss: await _network(server, utterances, loss, count) for loss, count in INTERRUPTIONS.items()}
    rows = [_rows(f"{loss * 100:g} % loss: " if loss else "", networks[loss], count) for loss, count in INTERRUPTIONS.items()]
    return itertools.chain.from_iterable(rows)


def utterances_of_voices(seed: int = 0) -> list[Speech]:
    """Sentences of three words or more, each in its voice of the held-out list; mono at `SAID_RATE_HZ`."""
    entries = [entry for entry in held_out("voices") if len(entry.spoken.split()) >= 3]
    espeak, utterances = Espeak(), []
    for entry in random.Random(seed).sample(entries, UTTERANCES):
        audio = espeak.say(entry.spoken, entry.voice, words_per_minute=entry.words_per_minute, pitch=entry.pitch).resampled(
            SAID_RATE_HZ
        )
        loud = np.flatnonzero(np.abs(audio) > np.abs(audio).max() / 30)
        audio = audio[loud[0] : loud[-1] + 1]
        utterances.append((audio / np.abs(audio).max() * 0.5 * 32767).astype(np.int16))
    return utterances


async def _network(server: Server, utterances: Sequence[Speech], loss: float, count: int) -> Measured:
    measured = Measured()
    each = -(-count // CALLS_AT_ONCE)
    await asyncio.gather(*(_call(server, measured, utterances, each, loss, seed) for seed in range(CALLS_AT_ONCE)))
    return measured


async def _call(server: Server, measured: Measured, utterances: Sequence[Speech], count: int, loss: float, seed: int) -> None:
    """One call of which every reply is interrupted; the interruption asks for the next one."""
    rng = random.Random(seed)
    listener = Listener()
    tries = done = 0
    while done < count and tries < MAX_CONNECTIONS:
        listener.told.clear()
        relay = ImpairedRelay(Impairment(loss=loss, seed=seed + 1000 * tries)) if loss else None
        tries += 1
        try:
            async with Caller(server.url, relay=relay) as caller, asyncio.TaskGroup() as group:
                caller.on_frame = listener.hear
                reading = group.create_task(listener.read(caller))
                async with asyncio.timeout(EVENTS_TIMEOUT_S):
                    await listener.told.wait()
                caller.say(rng.choice(utterances), SAID_RATE_HZ)
                while done < count:
                    await caller.wait_said()
                    await _reply(listener)
                    await asyncio.sleep(rng.uniform(0.0, LONGEST_WAIT_S))
                    await _interrupt(caller, listener, measured, rng.choice(utterances))
                    done += 1
                reading.cancel()
        except* (MediaError, TimeoutError) as errors:
            if listener.told.is_set():
                measured.problems.append(f"call {seed}: {errors.exceptions[0] or 'no answer in time'}")
                done += 1
            else:
                measured.made_again += 1


async def _reply(listener: Listener) -> int:
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        return await listener.playing()


async def _interrupt(caller: Caller, listener: Listener, measured: Measured, utterance: Speech) -> None:
    """Interrupt the reply that is being heard."""
    tone = await _reply(listener)
    since, spans, began_ms = len(listener.frames), len(caller.said.spans), time.monotonic() * 1000.0
    caller.say(utterance, SAID_RATE_HZ)
    await caller.wait_said()
    try:
        async with asyncio.timeout(YIELD_TIMEOUT_S):
            dropped_ms = await listener.dropped_after(began_ms)
    except TimeoutError:
        measured.went_on += 1
        return
    await _reply(listener)
    onset_ms = caller.said.spans[min(spans, len(caller.said.spans) - 1)].onset_ms
    next_ms = next((at_ms for at_ms in listener.announced_ms if at_ms >= dropped_ms), math.inf)
    mine = frames_of(listener.frames[max(0, since - 10) :], tone, next_ms)
    stopped_ms = silence_after(mine, onset_ms)
    measured.stops_ms.append(stopped_ms - onset_ms)
    measured.hesitated += any(stopped_ms < frame.at_ms <= dropped_ms for frame in mine)
    stale = [frame for frame in mine if frame.at_ms > dropped_ms]
    if stale:
        after = [(round(f.at_ms - dropped_ms), f.tone, f.concealed) for f in listener.frames if f.at_ms > dropped_ms]
        print(f"heard of tone {tone} after its end: {len(stale)} frames; ms, tone and whether made up: {after[:20]}")
    measured.stale_frames += len(stale)


def frames_of(frames: Sequence[ToneFrame], tone: int, next_ms: float = math.inf) -> list[ToneFrame]:
    """A reply's frames, without those that were made up: the ones of its tone, and the ones of no tone that come after it until
    the next reply is announced, at `next_ms`. Those of no tone from which sound goes on without a gap to another tone are that
    reply's beginning. What was made up with the reply's tone tells nothing, for it may be made of the last that was received,
    long before; with another tone it does."""
    mine: list[ToneFrame] = []
    owner = tone
    for run in _without_gaps(frames):
        telling = [frame for frame in run if frame.tone >= 0 and not (frame.concealed and frame.tone == tone)]
        owner = telling[0].tone if telling else owner
        for frame in run:
            owner = frame.tone if frame in telling else owner
            if owner == tone and not frame.concealed and (frame.tone == tone or frame.at_ms < next_ms):
                mine.append(frame)
    return mine


def _without_gaps(frames: Sequence[ToneFrame]) -> list[list[ToneFrame]]:
    runs: list[list[ToneFrame]] = []
    for frame in frames:
        if not runs or frame.at_ms - runs[-1][-1].at_ms > LOST_MS:
            runs.append([])
        runs[-1].append(frame)
    return runs


def silence_after(frames: Sequence[ToneFrame], onset_ms: float) -> float:
    """Returns the time at which a reply falls silent, at or after `onset_ms`: the end of the last frame before a gap of
    `GAP_MS`."""
    stopped_ms = onset_ms
    for frame in frames:
        if frame.at_ms <= onset_ms:
            stopped_ms = max(stopped_ms, frame.end_ms)
        elif frame.at_ms - stopped_ms <= GAP_MS:
            stopped_ms = frame.end_ms
    return stopped_ms


def _rows(network: str, measured: Measured, wanted: int) -> Iterator[Figure]:
    for problem in measured.problems:
        print(f"problem: {network}{problem}")
    count = len(measured.stops_ms) + measured.went_on
    yield at_least(f"{network}interruptions", count, wanted, "")
    yield at_least(f"{network}the agent yielded", round(100 * len(measured.stops_ms) / max(1, count), 2), 98, "%")
    if measured.stops_ms:
        stop = distribution(measured.stops_ms)
        yield at_most(f"{network}barge-in stop p50", round(stop.p50_ms, 1), STOP_P50_MS, "ms")
        yield at_most(f"{network}barge-in stop p95", round(stop.p95_ms, 1), STOP_P95_MS, "ms")
        yield Figure(f"{network}barge-in stop p99", round(stop.p99_ms, 1), "ms", "", True)
    yield Figure(f"{network}the agent went on for a moment first", measured.hesitated, "", "", True)
    yield at_most(f"{network}frames of a dropped reply after its end", measured.stale_frames, 0, "")
    yield Figure(f"{network}calls whose events never came, made again", measured.made_again, "", "", True)
    yield at_most(f"{network}failed calls", len(measured.problems), 0, "")
