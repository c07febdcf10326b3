"""What the two judges that need no training say of a pause: Smart Turn by ear, a language model by meaning."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

RATE_HZ = 16_000
EAR_SAMPLES = 8 * RATE_HZ
_WINDOW, _HOP, _MELS = 400, 160, 80
_SENTENCE_END = ".?!"


class Ear:
    """Smart Turn v3 (BSD-2) on one thread: the last 8 s of mono 16 kHz audio → chance that the turn is over."""

    def __init__(self, model: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._filters = FeatureExtractor.get_mel_filters(RATE_HZ, _WINDOW, _MELS).astype(np.float64)

    def chance(self, audio: NDArray[np.int16]) -> float:
        """Of audio that ends with the pause so far."""
        found = self._session.run(None, {"input_features": self._log_mel(audio)[None]})[0]
        return float(np.asarray(found).reshape(-1)[0])

    def _log_mel(self, audio: NDArray[np.int16]) -> NDArray[np.float32]:
        """Whisper's features of 8 s, padded in front, of the wave brought to mean 0 and variance 1; shape (80, 800)."""
        wave = np.zeros(EAR_SAMPLES, np.float32)
        heard = audio[-EAR_SAMPLES:]
        wave[EAR_SAMPLES - len(heard) :] = heard.astype(np.float32) / 32768
        wave = (wave - wave.mean()) / np.sqrt(wave.var() + 1e-7)
        padded = np.pad(wave.astype(np.float64), _WINDOW // 2, mode="reflect")
        windows = sliding_window_view(padded, _WINDOW)[::_HOP][: EAR_SAMPLES // _HOP]
        power = np.abs(np.fft.rfft(windows * np.hanning(_WINDOW + 1)[:-1], axis=-1)) ** 2
        mels = np.log10(np.maximum(1e-10, self._filters @ power.T))
        return np.asarray((np.maximum(mels, mels.max() - 8.0) + 4.0) / 4.0, np.float32)


class Meaning:
    """A language model (onnxruntime-genai) on one thread: words, and what was asked → chance that a sentence ends with them."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime_genai as genai

        config = genai.Config(str(folder))
        config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": 1}}}}))
        self._genai, self._model = genai, genai.Model(config)
        self._tokenizer = genai.Tokenizer(self._model)
        words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        ends = [
            token for text, token in words["model"]["vocab"].items() if text[0] in _SENTENCE_END and not text.startswith("..")
        ]
        ends += [added["id"] for added in words["added_tokens"] if added["content"] == "<|im_end|>"]
        self._ends = np.array(sorted(set(ends)))

    def chance(self, words: str, asked: str) -> float:
        """Of the words without their closing marks."""
        said = words.rstrip(" .,?!…-")
        before = f"<|im_start|>assistant\n{asked}<|im_end|>\n" if asked else ""
        generator = self._genai.Generator(self._model, self._genai.GeneratorParams(self._model))
        generator.append_tokens(self._tokenizer.encode(f"{before}<|im_start|>user\n{said}"))
        logits = np.asarray(generator.get_output("logits"))[0, -1].astype(np.float64)
        likely = np.exp(logits - logits.max())
        return float(likely[self._ends].sum() / likely.sum())
