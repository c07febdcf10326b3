"""Whole calls over real WebRTC with the bundled models, timed on the audio that the caller sent and received: how long after the
end of its speech the answer is heard, how soon the agent is silent when interrupted, five calls at once, memory."""

from __future__ import annotations

import argparse
import asyncio
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bench.harness import Figure, at_most
from bench.server import Server, running
from models.train.espeak import Espeak
from voiceagent.audio.levels import VoicedSpan
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import compare, distribution, load_budgets
from voiceagent.latency.spans import Stage
from voiceagent.resources import default_budgets_file
from voiceagent.store.database import local_store
from voiceagent.store.turns import read_turns

RATE_HZ = 16_000
VOICE = "en-us"
TURNS = 50
TURNS_A_CALL = 10
CALLS_AT_ONCE = 5
BARGE_IN_AFTER_S = 0.4
TURN_GAP_MS = 500.0
MEMORY_CALLS = (10, 100)
STEP_TIMEOUT_S = 20.0
QUESTIONS = (
    "What time is it in Paris?",
    "What's the weather in London tomorrow?",
    "Where is my order 48213?",
    "What is 12 plus 30?",
    "Set a timer for 10 minutes.",
    "Book a table for 4 people on Friday at 7 PM.",
    "How are you?",
    "What's the weather in Rome?",
    "What can you do?",
    "Cancel my table.",
)
INTERRUPTION = "No, what time is it in Berlin?"

Speech = NDArray[np.int16]


@dataclass(slots=True)
class Measured:
    """The measurements of the calls of one part."""

    voice_to_voice_ms: list[float] = field(default_factory=list)
    barge_in_stop_ms: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Turns without an answer, calls that failed: one line each."""


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about ten minutes for 50 turns."""
    turns: int = options.turns or TURNS
    speeches = {text: spoken(text) for text in (*QUESTIONS, INTERRUPTION)}
    async with running() as server:
        alone = Measured()
        for _ in range(-(-turns // TURNS_A_CALL)):
            await converse(server, alone, speeches, QUESTIONS[:TURNS_A_CALL])
        stages = _stage_rows(server)
        interrupted = Measured()
        for _ in range(-(-turns // TURNS_A_CALL)):
            await interrupt(server, interrupted, speeches, QUESTIONS)
        together = Measured()
        shifted = [QUESTIONS[i:] + QUESTIONS[:i] for i in range(CALLS_AT_ONCE)]
        await asyncio.gather(*(converse(server, together, speeches, questions) for questions in shifted))
    async with running() as server:
        memory_mb = await memory_after(server, speeches[QUESTIONS[0]])
    return itertools.chain(_rows(alone, interrupted, together), _memory_rows(memory_mb), stages)


def spoken(text: str) -> Speech:
    """`text` by espeak-ng, without silence around it; mono at `RATE_HZ`, peak at half of full scale."""
    audio = Espeak().say(text, VOICE).resampled(RATE_HZ)
    loud = np.flatnonzero(np.abs(audio) > np.abs(audio).max() / 30)
    audio = audio[loud[0] : loud[-1] + 1]
    scaled: Speech = (audio / np.abs(audio).max() * 0.5 * 32767).astype(np.int16)
    return scaled


async def converse(server: Server, measured: Measured, speeches: dict[str, Speech], questions: Sequence[str]) -> None:
    """One call: the questions, one after the other."""
    try:
        async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            for question in questions:
                (exchange,) = await dialogue.turn(question, speeches[question], RATE_HZ)
                if exchange.voice_to_voice_ms is not None:
                    measured.voice_to_voice_ms.append(exchange.voice_to_voice_ms)
    except MediaError as error:
        measured.problems.append(str(error))


async def interrupt(server: Server, measured: Measured, speeches: dict[str, Speech], questions: Sequence[str]) -> None:
    """One call whose every answer is interrupted. The stop is read off the received audio: the end of the voiced stretch that the
    interruption met. Answers that were over by then do not count."""
    try:
        async with Caller(server.url) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            for question in questions:
                events, spans = dialogue.event_count, len(caller.said.spans)
                await dialogue.turn(
                    question,
                    speeches[question],
                    RATE_HZ,
                    interrupt_with=(INTERRUPTION, speeches[INTERRUPTION]),
                    interrupt_after_s=BARGE_IN_AFTER_S,
                )
                if not any(event.type == "output_audio_buffer.cleared" for event in dialogue.events_since(events)):
                    continue
                onset_ms = _interruption_onset_ms(caller.said.spans[spans:])
                met = [span for span in caller.heard.spans if span.onset_ms <= onset_ms]
                measured.barge_in_stop_ms.append(max(0.0, met[-1].offset_ms - onset_ms))
    except MediaError as error:
        measured.problems.append(str(error))


def _interruption_onset_ms(said: Sequence[VoicedSpan]) -> float:
    """The question and the interruption are further apart than the words of either: between them the answer began."""
    return next(later.onset_ms for earlier, later in itertools.pairwise(said) if later.onset_ms - earlier.offset_ms > TURN_GAP_MS)


async def memory_after(server: Server, question: Speech) -> list[float]:
    """The server's memory after each number of calls in `MEMORY_CALLS`, in MB; every call asks one question."""
    done = 0
    found: list[float] = []
    ignored = Measured()
    for target in MEMORY_CALLS:
        while done < target:
            batch = min(CALLS_AT_ONCE, target - done)
            await asyncio.gather(*(converse(server, ignored, {"": question}, [""]) for _ in range(batch)))
            done += batch
        await asyncio.sleep(2.0)
        found.append(server.memory_mb())
    return found


def _rows(alone: Measured, interrupted: Measured, together: Measured) -> Iterator[Figure]:
    budget = load_budgets(default_budgets_file()).of("embedded")[Stage.VOICE_TO_VOICE]
    yield Figure("turns", len(alone.voice_to_voice_ms), "", "≥ 50", len(alone.voice_to_voice_ms) >= 50)
    if alone.voice_to_voice_ms:
        one = distribution(alone.voice_to_voice_ms)
        yield at_most("voice to voice p50", round(one.p50_ms, 1), 350, "ms")
        yield at_most("voice to voice p95", round(one.p95_ms, 1), 650, "ms")
        yield Figure("voice to voice p99", round(one.p99_ms, 1), "ms", "", True)
    yield Figure("interruptions", len(interrupted.barge_in_stop_ms), "", "", True)
    if interrupted.barge_in_stop_ms:
        stop = distribution(interrupted.barge_in_stop_ms)
        yield at_most("barge-in stop p50", round(stop.p50_ms, 1), 120, "ms")
        yield at_most("barge-in stop p95", round(stop.p95_ms, 1), 180, "ms")
    if together.voice_to_voice_ms:
        five = distribution(together.voice_to_voice_ms)
        yield Figure("5 calls at once: turns", five.count, "", "≥ 50", five.count >= CALLS_AT_ONCE * TURNS_A_CALL)
        yield at_most("5 calls at once: voice to voice p50", round(five.p50_ms, 1), budget.p50_ms, "ms")
        yield at_most("5 calls at once: voice to voice p95", round(five.p95_ms, 1), budget.p95_ms, "ms")
    problems = [*alone.problems, *interrupted.problems, *together.problems]
    for problem in problems:
        print(f"problem: {problem}")
    yield at_most("failed turns", len(problems), 0, "")


def _memory_rows(memory_mb: Sequence[float]) -> Iterator[Figure]:
    few, many = memory_mb
    yield Figure(f"memory after {MEMORY_CALLS[0]} calls", round(few, 1), "MB", "", True)
    yield Figure(f"memory after {MEMORY_CALLS[1]} calls", round(many, 1), "MB", "", True)
    yield at_most("memory growth", round((many / few - 1) * 100, 2), 5, "%")


def _stage_rows(server: Server) -> list[Figure]:
    """The server's own view of the undisturbed turns: each stage's p95 against its budget."""
    limits = load_budgets(default_budgets_file()).of("embedded")
    stages = compare(read_turns(local_store(server.data_dir)), limits)
    answer = next(stage.measured for stage in stages if stage.stage is Stage.ANSWER)
    assert answer is not None
    return [
        at_most("commit → first frame p50 (server)", round(answer.p50_ms, 1), 20, "ms"),
        at_most("commit → first frame p95 (server)", round(answer.p95_ms, 1), 60, "ms"),
        *(
            at_most(f"stage {stage.stage} p95 (server)", round(stage.measured.p95_ms, 1), stage.limits.p95_ms, "ms")
            for stage in stages
            if stage.measured is not None
        ),
    ]
