"""Streaming transcription: how soon words are shown and settled, what it costs, and what it gets wrong, on held-out sentences in
held-out voices; beside it offline decoding, WhisperLiveKit on the same model and the same audio, and both at the cost of
published model shapes. All streams run in virtual time (`bench.stt.streaming`); CPU seconds are the process's own."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from bench.bundled import speech as bundled_speech
from bench.bundled.speech import word_error_rate
from bench.harness import Figure, at_most
from bench.stt import peer_environment
from bench.stt.batches import cost_of_eight, streams_at_once
from bench.stt.decodes import Decode, LoggedExtractor, LoggedModel, Repeater
from bench.stt.shapes import SHAPES, WhisperShape, random_whisper
from bench.stt.speech import RATE_HZ, Spoken, bundled_voice, held_out_voices, monologue, two_sentences
from bench.stt.streaming import Listener, Streamed
from bench.stt.word_latency import Shown, word_latencies
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import profile, resolve
from voiceagent.settings.agent import TurnSettings
from voiceagent.stt.engine import Policy, StreamOptions
from voiceagent.stt.short_whisper import frames_to_encode
from voiceagent.stt.whisper import WhisperEngine, WhisperOptions, create

NOTES = """\
Everything is streamed in virtual time: the clock is the audio received plus the wall time that each decode took, frames of
20 ms pass through the real VAD, and a partial is begun every `turn.partial_interval_ms` of speech (180 by default; 200 where
it stands beside the peer) unless one still runs. Speech is synthetic: held-out sentences in six held-out voices of espeak-ng,
and in the bundled voice (which training heard, in other sentences).

- *shown for good*: from the end of a word's sound until it is shown, stable or not, and stays in its place up to the final.
- *stable*: until it is among the stable words; the last words become so with the final, begun after 100 ms of silence.
- *offline*: the same model, the whole utterance in one decode, faster-whisper's own `transcribe`.
- *WhisperLiveKit*, ten utterances after ten of ours: its LocalAgreement processor on its faster-whisper backend with the same
  CTranslate2 model, one thread, fed in virtual time as its server feeds it. By its defaults it decodes whenever 40 ms of audio
  have come and it is free; *a decode every 200 ms* is its `asr_coalesce_min_s` at our cadence. `bench/stt/peer.py` says what
  was set for the bundled model, all in the peer's favour: 10 s windows, a third of what it would encode for a published model,
  and no prompts. VAD is counted for neither. Its default policy, SimulStreaming, needs PyTorch weights, which this model has
  not. It never decodes again what it has committed: what was wrong stays wrong.
- *base, small shape*: the decodes of both, logged on the bundled model and repeated on random weights of the published shape:
  as many runs of the encoder, as many tokens written, by as many beams; a decode that would begin while another runs is left
  out. Ours gives the encoder the audio and 2.6 s of padding, in steps of one second; faster-whisper gives it 30 s.
"""
VOICES, BUNDLED = 100, 50
PEER_UTTERANCES, SHAPE_UTTERANCES = 60, 10
TWO_SENTENCES = 40
STREAMED_AT_ONCE = 64
MONOLOGUE_MINUTES = 10
EDGES_MS = (200.0, 400.0)
"""The edges of AlignAtt."""
TURN_ABOUT = 10
"""Number of utterances that are streamed by ours, then by the peer, before the next."""
CADENCE_S = 0.2
"""Ours, and the peer's when it is told to wait for as much audio between two decodes."""
ENCODER_FRAMES = 3000
"""Frames that faster-whisper gives a published model's encoder, however short the audio."""


@dataclass(slots=True)
class Run:
    """The results of some utterances under one policy."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    intervals_ms: list[float] = field(default_factory=list)
    shown_ms: list[float] = field(default_factory=list)
    stable_ms: list[float] = field(default_factory=list)
    stable_words: int = 0
    contradicted: int = 0
    """Stable words that the final does not have."""
    rejected: int = 0
    cpu_s: float = 0.0
    audio_s: float = 0.0

    def add(self, spoken: Spoken, text: str, timeline: Sequence[Shown], cpu_s: float) -> None:
        """Count one utterance."""
        self.pairs.append((spoken.text, text))
        for latency in word_latencies(spoken.text, spoken.word_ends_ms, timeline):
            self.shown_ms += [] if latency.shown_ms is None else [latency.shown_ms]
            self.stable_ms += [] if latency.stable_ms is None else [latency.stable_ms]
        before_final = timeline[-2].stable if len(timeline) > 1 else ""
        kept, settled = word_latencies(before_final, [0.0] * len(before_final.split()), timeline[-1:]), before_final.split()
        self.stable_words += len(settled)
        self.contradicted += sum(1 for word in kept if word.stable_ms is None)
        self.cpu_s += cpu_s
        self.audio_s += len(spoken.audio) / RATE_HZ

    @property
    def cost(self) -> float:
        """CPU seconds an audio second."""
        return self.cpu_s / self.audio_s


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about ten minutes, and some more where WhisperLiveKit is to be installed first."""
    utterances = [*held_out_voices(VOICES), *bundled_voice(BUNDLED)]
    spec = profile("embedded").stt
    engine = create(resolve(spec.model), spec.options)
    try:
        chosen = engine.stream
        ours = await stream_run(engine, utterances, chosen)
        policies = [("agreement", _with(chosen, "agreement"))]
        policies += [(f"alignatt, edge {edge_ms:g} ms", _with(chosen, "alignatt", edge_ms)) for edge_ms in EDGES_MS]
        others = [(name, await stream_run(engine, utterances, policy)) for name, policy in policies]
        figures = [*_our_figures(ours, utterances), *_policy_figures(others)]
        pairs = two_sentences(TWO_SENTENCES)
        whole = word_error_rate((await stream_run(engine, pairs, _uncut(chosen))).pairs)
        cut = word_error_rate((await stream_run(engine, pairs, chosen)).pairs)
        figures.append(Figure("turns of two sentences, not cut in their pause: word error rate", whole, "%", "", True))
        figures.append(Figure("turns of two sentences, cut in their pause: word error rate", cut, "%", "", True))
        figures += await _monologue_figures(engine, chosen)
        figures += cost_of_eight(engine, [spoken.audio for spoken in utterances])
        figures += await streams_at_once(engine, utterances[:STREAMED_AT_ONCE])
        sample = utterances[:: len(utterances) // PEER_UTTERANCES][:PEER_UTTERANCES]
        ours_logged: list[tuple[Streamed, list[Decode]]] = []
        at_once: list[dict[str, Any]] = []
        at_cadence: list[dict[str, Any]] = []
        for start in range(0, len(sample), TURN_ABOUT):  # so that a machine that slows down does so for all of them
            part = sample[start : start + TURN_ABOUT]
            audio = [spoken.audio for spoken in part]
            ours_logged += await _logged(engine, part)
            at_once += peer_environment.stream(resolve(spec.model), audio, 0.0)
            at_cadence += peer_environment.stream(resolve(spec.model), audio, CADENCE_S)
    finally:
        await engine.close()
    figures += _peer_figures(sample, ours_logged, at_once, at_cadence)
    for shape in SHAPES:
        figures += _shape_figures(shape, ours_logged[:SHAPE_UTTERANCES], at_cadence[:SHAPE_UTTERANCES])
    return figures


def _with(options: StreamOptions, policy: Policy, edge_ms: float = 400.0) -> StreamOptions:
    return msgspec.structs.replace(options, policy=policy, edge_ms=edge_ms)


def _uncut(options: StreamOptions) -> StreamOptions:
    return msgspec.structs.replace(options, sentence_pause_ms=math.inf, cut_pause_ms=math.inf)


async def stream_run(engine: WhisperEngine, utterances: Sequence[Spoken], options: StreamOptions) -> Run:
    """Stream the utterances one after the other; the first is heard once before that, not to count what is slow at first."""
    listener = Listener(engine, options, TurnSettings().partial_interval_ms)
    await listener.hear(utterances[0])
    run = Run()
    for spoken in utterances:
        streamed = await listener.hear(spoken)
        run.add(spoken, streamed.text, streamed.timeline, sum(streamed.cpu_s))
        run.intervals_ms += streamed.intervals_ms
        run.rejected += streamed.rejected
    return run


def _our_figures(run: Run, utterances: Sequence[Spoken]) -> Iterator[Figure]:
    offline = _offline(utterances)
    streaming = word_error_rate(run.pairs)
    yield Figure("utterances", len(run.pairs), "", "", True)
    yield at_most("partial interval p50", round(percentile(run.intervals_ms, 50)), 200, "ms")
    yield at_most("partial interval p95", round(percentile(run.intervals_ms, 95)), 200, "ms")
    yield at_most("word latency p50: word end → shown for good", round(percentile(run.shown_ms, 50)), 500, "ms")
    yield Figure("word latency p95: word end → shown for good", round(percentile(run.shown_ms, 95)), "ms", "", True)
    yield at_most("word latency p50: word end → stable", round(percentile(run.stable_ms, 50)), 500, "ms")
    yield Figure("word latency p95: word end → stable", round(percentile(run.stable_ms, 95)), "ms", "", True)
    yield Figure("word error rate, offline", offline, "%", "", True)
    yield at_most("word error rate, streaming", streaming, round(offline + 1, 1), "%")
    yield at_most("held-out utterances refused by a gate", run.rejected, 0, "")
    yield Figure("CPU seconds an audio second", round(run.cost, 4), "", "", True)


def _offline(utterances: Sequence[Spoken]) -> float:
    """The word error rate of the same model on whole utterances, in one decode each."""
    listener = bundled_speech.Listener(resolve("micro-whisper"))
    quiet = np.zeros(RATE_HZ // 10, np.float32)
    heard = [listener.hear(np.concatenate([quiet, spoken.audio.astype(np.float32) / 32768, quiet])) for spoken in utterances]
    return word_error_rate([(spoken.text, text) for spoken, text in zip(utterances, heard, strict=True)])


def _policy_figures(runs: Iterable[tuple[str, Run]]) -> Iterator[Figure]:
    for name, run in runs:
        contradicted = 100 * run.contradicted / max(1, run.stable_words)
        yield Figure(f"{name}: word end → stable p50", round(percentile(run.stable_ms, 50)), "ms", "", True)
        yield Figure(f"{name}: stable words that the final does not have", round(contradicted, 2), "%", "", True)
        yield Figure(f"{name}: CPU seconds an audio second", round(run.cost, 4), "", "", True)


async def _monologue_figures(engine: WhisperEngine, chosen: StreamOptions) -> list[Figure]:
    """Ten minutes without a pause that ends the turn."""
    spoken = monologue(MONOLOGUE_MINUTES)
    figures = []
    for policy in ("agreement", "alignatt"):
        options = chosen if policy == chosen.policy else _with(chosen, policy)
        streamed = await Listener(engine, options, TurnSettings().partial_interval_ms).hear(spoken)
        first, last = (sum(streamed.cpu_s[at : at + 60]) / 60 for at in (0, 60 * (MONOLOGUE_MINUTES - 1)))
        errors = word_error_rate([(spoken.text, streamed.text)])
        figures.append(Figure(f"10-minute monologue, {policy}: word error rate", errors, "%", "", True))
        if policy == chosen.policy:
            figures.append(Figure("10-minute monologue: CPU seconds a second, first minute", round(first, 4), "", "", True))
            figures.append(at_most("10-minute monologue: last minute against the first", round(last / first, 2), 1.1, "×"))
    return figures


async def _logged(engine: WhisperEngine, sample: Sequence[Spoken]) -> list[tuple[Streamed, list[Decode]]]:
    """Our streams with a log of the model's work."""
    log: list[Decode] = []
    whisper = engine.decoder.model
    plain = whisper.model, whisper.feature_extractor
    whisper.model, whisper.feature_extractor = LoggedModel(plain[0], log), LoggedExtractor(plain[1], log)
    listener = Listener(engine, None, CADENCE_S * 1000, log)
    logged = []
    for spoken in sample:
        log.clear()
        streamed = await listener.hear(spoken)
        logged.append((streamed, [decode for decode in log if decode.steps]))
    whisper.model, whisper.feature_extractor = plain
    return logged


def _peer_figures(
    sample: Sequence[Spoken],
    ours: Sequence[tuple[Streamed, list[Decode]]],
    at_once: Sequence[dict[str, Any]],
    at_cadence: Sequence[dict[str, Any]],
) -> Iterator[Figure]:
    mine = Run()
    for spoken, (streamed, _) in zip(sample, ours, strict=True):
        mine.add(spoken, streamed.text, streamed.timeline, sum(streamed.cpu_s))
    peers = []
    for streams in (at_once, at_cadence):
        run = Run()
        for spoken, stream in zip(sample, streams, strict=True):
            run.add(spoken, stream["text"], [Shown(*shown) for shown in stream["timeline"]], stream["cpu_s"])
        peers.append(run)
    default, slowed = peers
    name = f"WhisperLiveKit {peer_environment.WHISPERLIVEKIT}"
    yield Figure("the same model and audio: utterances", len(sample), "", "", True)
    yield Figure("the same: ours, CPU seconds an audio second", round(mine.cost, 4), "", "", True)
    yield Figure(f"the same: {name}, its defaults", round(default.cost, 4), "", "", True)
    yield Figure(f"the same: {name}, a decode every 200 ms", round(slowed.cost, 4), "", "", True)
    yield at_most(f"ours against {name}, a decode every 200 ms", round(mine.cost / slowed.cost, 3), 0.5, "×")
    yield at_most(f"ours against {name}, its defaults", round(mine.cost / default.cost, 3), 0.5, "×")
    for label, run in (("ours", mine), (f"{name}, its defaults", default), (f"{name}, a decode every 200 ms", slowed)):
        yield Figure(f"{label}: word error rate", word_error_rate(run.pairs), "%", "", True)
        yield Figure(f"{label}: word end → shown for good p50", round(percentile(run.shown_ms, 50)), "ms", "", True)
        yield Figure(f"{label}: word end → stable p50", round(percentile(run.stable_ms, 50)), "ms", "", True)


def _shape_figures(
    shape: WhisperShape, ours: Sequence[tuple[Streamed, list[Decode]]], peer: Sequence[dict[str, Any]]
) -> Iterator[Figure]:
    """Both streams' decodes repeated on a published shape."""
    folder = random_whisper(shape)
    mine = Repeater(folder, _our_frames)
    theirs = Repeater(folder, lambda samples: ENCODER_FRAMES)
    audio_s = sum(streamed.audio_s for streamed, _ in ours)
    peer_log = [[Decode(decode["at_ms"], decode["steps"]) for decode in stream["decodes"]] for stream in peer]
    costs = []
    for name, repeater, logs in (("ours", mine, [log for _, log in ours]), ("WhisperLiveKit", theirs, peer_log)):
        repeated = [repeater.repeat(log) for log in logs]
        costs.append(sum(cpu_s for cpu_s, _ in repeated) / audio_s)
        gaps = list(chain.from_iterable(np.diff(ended).tolist() for _, ended in repeated))
        yield Figure(f"{shape.name} shape, {name}: CPU seconds an audio second", round(costs[-1], 3), "", "", True)
        yield Figure(f"{shape.name} shape, {name}: partial interval p50", round(percentile(gaps, 50)), "ms", "", True)
    yield at_most(f"{shape.name} shape: ours against WhisperLiveKit, CPU", round(costs[0] / costs[1], 3), 0.5, "×")


def _our_frames(samples: int) -> int:
    """Returns the frames that our engine's defaults hand to a published model's encoder."""
    options = WhisperOptions()
    return frames_to_encode(
        samples // 160,
        margin_frames=options.margin_frames,
        min_frames=options.min_frames,
        feature_size=80,
        step_frames=options.step_frames,
    )
