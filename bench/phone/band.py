"""The telephone's band and levels: what Whisper and the VAD make of callers who are too quiet, too loud, or press keys that are
heard as tones, and how loud the agent's voices are on the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.harness import Figure, plain
from bench.stt.everyday import by_piper, sentences
from bench.stt.speech import Spoken
from bench.stt.spelling import word_errors
from bench.trial import SAID_DBFS
from models.train.telephone import telephone_speech
from voiceagent.audio import g711
from voiceagent.audio.levels import first_audible_sample
from voiceagent.audio.tones import HIGH_HZ, LOW_HZ, is_key_tone
from voiceagent.engines import load_tts
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import profile, resolve
from voiceagent.stt.whisper import WhisperEngine, create
from voiceagent.telephone.codec import PhoneDecoder, PhoneEncoder
from voiceagent.telephone.messages import AudioFormat
from voiceagent.vad.detector import DetectorOptions, SpeechDetector, SpeechOnset

RATE_HZ, PHONE_HZ = 16_000, 8_000
FRAME = RATE_HZ // 50
EVERY, SCALE = 2, 1.0
MODELS = {
    "tiny.en": ("real-speech", "whisper-tiny.en", {}),
    "base": ("real-speech", "whisper-base", {"margin_frames": 200, "margin_fill": "silence", "min_frames": 800}),
}
USUAL_DBOV, QUIET_DBOV, LOUD_DBOV = -26.0, -40.0, -6.0
"""The active level of the telephone's speech (ITU-T P.56); at the loud one peaks are cut."""
KEY_S, BETWEEN_S = (0.08, 0.16, 0.4), 0.12
KEY_DBOV = (-10.0, -20.0)
CUT = 32_124
"""µ-law's highest level."""
VOICED_WITHIN_DB = 15.9
"""ITU-T P.56: speech is active where its envelope is not further below the active level."""
SENTENCES = (
    "It will be sunny in London tomorrow, 21 degrees.",
    "I have booked a table for four people on Friday at 7 PM.",
    "Your order is on its way and arrives on Monday.",
    "It is half past three in Berlin.",
)

Audio = NDArray[np.int16]


def active_level_dbov(pcm: Audio, rate_hz: int) -> float:
    """The level of speech without its pauses, after ITU-T P.56 (method B, in steps of 1 dB): int16, shape (samples,)."""
    signal = pcm.astype(np.float64) / 32768
    decay = float(np.exp(-1 / (rate_hz * 0.03)))
    envelope = np.abs(signal)
    for _ in range(2):
        envelope = _smoothed(envelope, decay)
    hang = int(0.2 * rate_hz)
    energy, numbers = float(np.sum(signal**2)), np.arange(len(signal))
    for threshold_db in range(-20, -80, -1):
        above = envelope >= 10 ** (threshold_db / 20)
        last = np.maximum.accumulate(np.where(above, numbers, -hang))
        active = int((numbers - last < hang).sum())
        if not active:
            continue
        level_db = 10 * np.log10(energy / active)
        if level_db - threshold_db >= VOICED_WITHIN_DB:
            return float(level_db)
    return -120.0


def _smoothed(signal: NDArray[np.float64], decay: float) -> NDArray[np.float64]:
    out, state = np.empty_like(signal), 0.0
    for index, value in enumerate(signal):
        state = decay * state + (1 - decay) * value
        out[index] = state
    return out


def at_level(pcm: Audio, rate_hz: int, dbov: float) -> Audio:
    """The speech at an active level; what is over full scale is cut."""
    gain = 10 ** ((dbov - active_level_dbov(pcm, rate_hz)) / 20)
    scaled: Audio = np.clip(pcm * gain, -32768, 32767).astype(np.int16)
    return scaled


def by_line(pcm: Audio) -> Audio:
    """Audio at 16 kHz as it arrives by telephone: 300 to 3,400 Hz, µ-law at 8 kHz, and up again as in a call."""
    sent = telephone_speech(pcm, RATE_HZ)
    up = PhoneDecoder(AudioFormat(), RATE_HZ)
    return np.concatenate([up.decode(g711.encode(sent[at : at + FRAME // 2])) for at in range(0, len(sent), FRAME // 2)])


CONDITIONS: dict[str, Callable[[Audio], Audio]] = {
    "wide band": lambda pcm: at_level(pcm, RATE_HZ, USUAL_DBOV),
    f"by telephone, {USUAL_DBOV:g} dBov": lambda pcm: by_line(at_level(pcm, RATE_HZ, USUAL_DBOV)),
    f"by telephone, {QUIET_DBOV:g} dBov": lambda pcm: by_line(at_level(pcm, RATE_HZ, QUIET_DBOV)),
    f"by telephone, {LOUD_DBOV:g} dBov, peaks cut": lambda pcm: by_line(at_level(pcm, RATE_HZ, LOUD_DBOV)),
}


def keys(length_s: float, dbov: float, count: int = 12) -> Audio:
    """Keys one after the other, as tones at 16 kHz; each of the two has the level `dbov` less 3 dB."""
    time_s = np.arange(int(length_s * RATE_HZ)) / RATE_HZ
    tones = [sum(np.sin(2 * np.pi * hz * time_s) for hz in (low, high)) for low in LOW_HZ for high in HIGH_HZ[:3]]
    scale = 32768 * 10 ** (dbov / 20)
    pause = np.zeros(int(BETWEEN_S * RATE_HZ))
    return np.concatenate([part for tone in tones[:count] for part in (pause, np.asarray(tone) * scale)]).astype(np.int16)


def before_keys(pcm: Audio) -> Audio:
    """Speech by telephone, and four keys at once after it."""
    return by_line(np.concatenate((at_level(pcm, RATE_HZ, USUAL_DBOV), keys(KEY_S[1], KEY_DBOV[0], 4))))


def without_keys(pcm: Audio) -> Audio:
    """As a telephone's leg hands it on."""
    frames = pcm[: len(pcm) // FRAME * FRAME].reshape(-1, FRAME)
    return np.concatenate([np.zeros_like(frame) if is_key_tone(frame) else frame for frame in frames])


BESIDE_KEYS: dict[str, Callable[[Audio], Audio]] = {
    "as it arrives": before_keys,
    "as a leg hands it on": lambda pcm: without_keys(before_keys(pcm)),
}


async def heard_rows() -> list[Figure]:
    """Word errors and the VAD's view of callers by telephone at several levels, on real models, and what becomes of keys."""
    spoken = await by_piper(resolve("piper-joe"), sentences("en", "held_out")[::EVERY], (SCALE,))
    figures = [plain("band: sentences", len(spoken), "")]
    for name, change in CONDITIONS.items():
        audio = [change(each.audio) for each in spoken]
        figures += _vad_rows(f"band, {name}", audio)
    for label, (of, model, changes) in MODELS.items():
        engine = create(resolve(model), {**profile(of).stt.options, **changes})
        try:
            for name, change in CONDITIONS.items():
                figures.append(await _errors(f"band, {label}, {name}", engine, spoken, change))
            for name, change in BESIDE_KEYS.items():
                figures.append(await _errors(f"band, {label}, four keys as tones after it, {name}", engine, spoken, change))
            figures += await _key_rows(label, engine)
        finally:
            await engine.close()
    return figures


async def _errors(label: str, engine: WhisperEngine, spoken: Sequence[Spoken], change: Callable[[Audio], Audio]) -> Figure:
    pairs = [(each.text, await _text(engine, change(each.audio))) for each in spoken]
    return plain(f"{label}: word error rate", word_errors(pairs), "%")


async def _text(engine: WhisperEngine, pcm: Audio) -> str:
    return (await engine.transcribe(pcm.astype(np.float32) / np.float32(32768), final=True)).text


def onsets(pcm: Audio) -> list[float]:
    """Returns the times at which the VAD noticed that speech began, in ms from the beginning."""
    detector, found = SpeechDetector(DetectorOptions()), list[float]()
    for end in range(FRAME, len(pcm) + 1, FRAME):
        at_ms = end * 1000 / RATE_HZ
        progress = detector.feed(pcm[end - FRAME : end], at_ms)
        if isinstance(progress, SpeechOnset):
            found.append(at_ms)
        elif progress is not None and progress.silence_ms > 800:
            detector.end()
    return found


def _vad_rows(label: str, audio: Sequence[Audio]) -> Iterator[Figure]:
    silence = np.zeros(RATE_HZ // 2, np.int16)
    found = [onsets(np.concatenate((silence, pcm, silence))) for pcm in audio]
    yield plain(f"{label}: sentences that the VAD missed", found.count([]), "")
    began = [500 + first_audible_sample(pcm, RATE_HZ, SAID_DBFS) * 1000 / RATE_HZ for pcm in audio]
    waits = [noticed[0] - at_ms for noticed, at_ms in zip(found, began, strict=True) if noticed]
    yield plain(f"{label}: speech noticed after, p50", percentile(waits, 50), "ms")
    yield plain(f"{label}: speech noticed after, p95", percentile(waits, 95), "ms")


async def _key_rows(label: str, engine: WhisperEngine) -> list[Figure]:
    silence = np.zeros(RATE_HZ // 2, np.int16)
    taken, worded, runs, texts = 0, 0, 0, []
    for length_s in KEY_S:
        for dbov in KEY_DBOV:
            pcm = by_line(np.concatenate((silence, keys(length_s, dbov), silence)))
            found = onsets(pcm)
            text = await _text(engine, pcm)
            runs, taken, worded = runs + 1, taken + bool(found), worded + bool(text)
            texts.append((length_s, dbov, len(found), text))
    print(f"keys heard by {label}: {texts}")
    return [
        plain(f"band, {label}: runs of twelve keys as tones", runs, ""),
        plain(f"band, {label}: runs that the VAD takes for speech", taken, ""),
        plain(f"band, {label}: runs that words are written for", worded, ""),
    ]


async def voice_rows(profile_name: str) -> list[Figure]:
    """Measures the loudness of a profile's voice by telephone, and whether it is cut there."""
    engine, levels, peaks, cut = load_tts(profile(profile_name).tts), list[float](), list[float](), 0
    try:
        for text in SENTENCES:
            pcm = np.concatenate([chunk.pcm async for chunk in engine.synthesise(text)])
            pcm = np.pad(pcm, (0, -len(pcm) % (engine.sample_rate_hz // 50)))
            encoder = PhoneEncoder(AudioFormat(), engine.sample_rate_hz)
            frames = pcm.reshape(-1, engine.sample_rate_hz // 50)
            out = g711.decode(b"".join(encoder.encode(frame) for frame in frames))
            levels.append(active_level_dbov(out, PHONE_HZ))
            peaks.append(20 * np.log10(np.abs(out.astype(float)).max() / 32768))
            cut += int((np.abs(out.astype(int)) >= CUT).sum())
    finally:
        await engine.close()
    label = f"voice of {profile_name} by telephone"
    return [
        plain(f"{label}: active level", float(np.mean(levels)), "dBov"),
        plain(f"{label}: highest peak", max(peaks), "dBov"),
        plain(f"{label}: samples at full scale", cut, ""),
    ]
