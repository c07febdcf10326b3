"""Silero VAD as a stream: windows of 32 ms in, a speech probability out. The ONNX file is the one inside faster-whisper. All
calls share the session; each has its own recurrent state. (github.com/snakers4/silero-vad, MIT)"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from voiceagent.errors import ModelError

WINDOW_SAMPLES = 512
CONTEXT_SAMPLES = 64
STATE_SHAPE = (1, 1, 128)


def silero_file() -> Path:
    """The newest Silero model inside the installed faster-whisper (which is not imported). Raises ModelError."""
    spec = importlib.util.find_spec("faster_whisper")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    found = sorted(file for folder in folders for file in Path(folder).glob("assets/silero_vad*.onnx"))
    if not found:
        raise ModelError("no silero_vad*.onnx was found in faster-whisper's assets; install it with: pip install faster-whisper")
    return found[-1]


@functools.cache
def silero_session() -> onnxruntime.InferenceSession:
    """The session of this process; one thread, about 80 µs a window, safe to run from several threads. Raises ModelError."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    file = silero_file()
    try:
        session = onnxruntime.InferenceSession(str(file), sess_options=options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no base
        raise ModelError(f"{file}: cannot be loaded as the Silero VAD ({str(error).splitlines()[0]})") from error
    names = {node.name for node in session.get_inputs()}
    if names != {"input", "h", "c"}:
        raise ModelError(f"{file}: has the inputs {sorted(names)}, expected c, h, input; install faster-whisper 1.2")
    return session


class VadSession(Protocol):
    """The used part of onnxruntime's session; the package has no types."""

    def run(self, outputs: Sequence[str] | None, feeds: Mapping[str, NDArray[np.float32]], /) -> Sequence[NDArray[np.float32]]:
        """The outputs of the names, or all. Raises what onnxruntime raises."""
        ...


class SileroStream:
    """Silero's state in one call."""

    def __init__(self) -> None:
        """Raises ModelError when the model cannot be loaded."""
        self._session: VadSession = silero_session()
        self.reset()

    def reset(self) -> None:
        """Forget what was heard."""
        self._h = np.zeros(STATE_SHAPE, np.float32)
        self._c = np.zeros(STATE_SHAPE, np.float32)
        self._context = np.zeros(CONTEXT_SAMPLES, np.float32)

    def probability(self, window: NDArray[np.float32]) -> float:
        """The probability (0..1) that the next window is speech; mono 16 kHz in -1..1, shape (512,)."""
        output, self._h, self._c = self._run(np.concatenate([self._context, window]))
        self._context = window[-CONTEXT_SAMPLES:].copy()
        return float(output.reshape(-1)[0])

    def peek(self, audio: NDArray[np.float32]) -> float:
        """The probability that a window is speech which ends before the next one is complete: `CONTEXT_SAMPLES` and the window,
        shape (576,). It does not change the state."""
        return float(self._run(audio)[0].reshape(-1)[0])

    def _run(self, audio: NDArray[np.float32]) -> Sequence[NDArray[np.float32]]:
        return self._session.run(None, {"input": audio[np.newaxis], "h": self._h, "c": self._c})
