"""The judge by ear: Smart Turn v3 (github.com/pipecat-ai/smart-turn, BSD-2), a Whisper-tiny encoder in 8 bits. It listens to the
last 8 s of the caller, to melody and pace as much as to words, in any language. One thread serves all calls, some 40 ms a
judgement. A judgement that would wait too long is not made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import onnxruntime
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.audio.format import HEARD_HZ
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm.embedded.genai import session_options
from voiceagent.turn_judges.judge import JudgedPause, TurnJudge

SAMPLES = 8 * HEARD_HZ
FRAMES, MELS = 800, 80
WINDOW, HOP = 400, 160
FLOOR, DECADES = 1e-10, 8.0
VARIANCE_FLOOR = 1e-7
HANN = np.hanning(WINDOW + 1)[:-1]
FILTERS: NDArray[np.float64] = np.asarray(FeatureExtractor.get_mel_filters(HEARD_HZ, WINDOW, MELS), np.float64)
"""Shape (80, 201)."""


def log_mel(audio: NDArray[np.int16]) -> NDArray[np.float32]:
    """Whisper's log-mel spectrogram of the last 8 s of mono 16 kHz audio, shape (80, 800), as Smart Turn was trained on it. The
    wave is padded in front and brought to mean 0 and variance 1; then come 400-sample Hann windows every 160 samples, 80 Slaney
    mels, and the logarithm, cut 8 decades below its peak (transformers, `WhisperFeatureExtractor` with `do_normalize`). The
    padding has one value everywhere, so one of its windows stands for all."""
    heard = audio[-SAMPLES:]
    padding = SAMPLES - len(heard)
    wave = np.zeros(SAMPLES, np.float32)
    wave[padding:] = heard.astype(np.float32) / np.float32(32768.0)
    wave = (wave - wave.mean()) / np.sqrt(wave.var() + VARIANCE_FLOOR)
    padded = np.pad(wave.astype(np.float64), WINDOW // 2, mode="reflect")
    same = _windows_of_padding(padding)
    first = max(0, same - 1)
    windows = sliding_window_view(padded, WINDOW)[first * HOP : FRAMES * HOP : HOP]
    spectrum = np.fft.rfft(windows * HANN, axis=-1)
    power = spectrum.real**2 + spectrum.imag**2
    mels = np.log10(np.maximum(FLOOR, FILTERS @ power.T))
    mels = (np.maximum(mels, mels.max() - DECADES) + 4.0) / 4.0
    features = np.empty((MELS, FRAMES), np.float32)
    features[:, first:] = mels
    features[:, :first] = mels[:, :1]
    return features


def _windows_of_padding(padding: int) -> int:
    """The number of first windows that hold nothing but padding; the very first ones mirror it."""
    whole = padding - WINDOW // 2
    return whole // HOP + 1 if whole > 0 else 0


NAME = "ear"
INPUT, OUTPUT = "input_features", "logits"
"""Despite its name, the output is a probability."""
MAX_WAITING = 6
"""Most judgements that wait. Together they take a quarter of a second; after that the pause has been decided without them."""


class SmartTurnOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `turn`."""

    threads: int = 1
    """CPU threads of one judgement."""


class EarSession(Protocol):
    """The part of onnxruntime's session that is used; the package has no types."""

    def run(self, outputs: list[str], feeds: dict[str, NDArray[np.float32]], /) -> list[NDArray[np.float32]]:
        """The outputs of these names. Raises what onnxruntime raises."""
        ...


class SmartTurn(TurnJudge):
    """Implements `TurnJudge`."""

    name = NAME
    needs_words = False

    def __init__(self, model: Path, options: SmartTurnOptions | None = None) -> None:
        """`model` is the ONNX file, or the folder that holds it. Raises ModelError."""
        self._session: EarSession = _load(model, options or SmartTurnOptions())
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="turn-judge")
        self._asked = 0
        self._closed = False
        self.refused = 0
        """Judgements that were not made, because they would have waited too long."""

    @override
    async def judge(self, pause: JudgedPause) -> float | None:
        if self._closed:
            raise EngineError("the turn judge is closed")
        if not len(pause.audio):
            return None
        if self._asked >= MAX_WAITING:
            self.refused += 1
            return None
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._chance, pause.audio)
        finally:
            self._asked -= 1

    @property
    @override
    def problems(self) -> dict[str, int]:
        return {"judgement_refused": self.refused}

    @override
    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown, cancel_futures=True)

    def _chance(self, audio: NDArray[np.int16]) -> float:
        try:
            (chances,) = self._session.run([OUTPUT], {INPUT: log_mel(audio)[np.newaxis]})
        except Exception as error:  # onnxruntime's errors share no base
            raise EngineError(f"the turn judge failed: {error}") from error
        return float(chances[0, 0])


def _load(model: Path, options: SmartTurnOptions) -> onnxruntime.InferenceSession:
    file = model if model.is_file() else next(iter(sorted(model.glob("*.onnx"))), model)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 4
    for name, value in session_options().items():
        settings.add_session_config_entry(name, value)
    try:
        session = onnxruntime.InferenceSession(str(file), sess_options=settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(f"{file}: cannot be loaded as Smart Turn ({line}); check it with: voiceagent models verify") from error
    shapes = {node.name: node.shape[1:] for node in (*session.get_inputs(), *session.get_outputs())}
    if shapes != {INPUT: [80, 800], OUTPUT: [1]}:
        raise ModelError(f"{file}: takes and gives {shapes}, expected Smart Turn v3, that is {INPUT} 80 × 800 and {OUTPUT} 1")
    return session


def create(path: Path | None, options: Mapping[str, object]) -> SmartTurn:
    """The plugin `smart-turn` of `voiceagent.turn`. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("turn engine smart-turn: needs a model; name smart-turn-v3.2, or a file by its path")
    try:
        return SmartTurn(path, msgspec.convert(dict(options), SmartTurnOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"turn engine smart-turn: {error}") from error
