"""What the two judges that need no training say of a pause: Smart Turn by ear, a language model by meaning."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
from faster_whisper.feature_extractor import FeatureExtractor
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from voiceagent.llm.integer_products import session_options

RATE_HZ = 16_000
EAR_SAMPLES = 8 * RATE_HZ
_WINDOW, _HOP, _MELS = 400, 160, 80
_SENTENCE_END = ".?!…"
_CLOSING = " .,?!…-–—;:"
INSTRUCTIONS = "You are a friendly voice assistant. Answer in one or two short sentences."
"""Those of an agent that has none of its own (`voiceagent.config`)."""
MOST_TOKENS = 512


def without_closing_marks(words: str) -> str:
    """The recogniser puts them behind anything."""
    return words.rstrip(_CLOSING)


class Ear:
    """Smart Turn v3 (BSD-2) on one thread: the last 8 s of mono 16 kHz audio → chance that the turn is over."""

    def __init__(self, model: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        for name, value in session_options().items():
            options.add_session_config_entry(name, value)
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
    """A language model (onnxruntime-genai) on one thread: what was asked and the words → chance that a sentence ends there, in
    the prompt of an agent with `INSTRUCTIONS`."""

    def __init__(self, folder: Path) -> None:
        """A model with the turns of ChatML."""
        import onnxruntime_genai as genai
        from tokenizers import Tokenizer

        config = genai.Config(str(folder))
        session = {"intra_op_num_threads": 1, **session_options()}
        config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
        model = genai.Model(config)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        parameters = genai.GeneratorParams(model)
        parameters.set_search_options(max_length=MOST_TOKENS)
        self._generator = genai.Generator(model, parameters)
        self._read: list[int] = []
        texts = self._tokenizer.decode_batch(
            [[token] for token in range(self._tokenizer.get_vocab_size())], skip_special_tokens=False
        )
        ends = {token for token, text in enumerate(texts) if _ends_turn(text)}
        self._ends = np.array(sorted(ends | {self._tokenizer.encode("<|im_end|>").ids[-1]}))

    def chance(self, words: str, asked: str) -> float:
        """Of the words, which have no closing marks. What a prompt shares with the one before is not read again."""
        question = f"<|im_start|>assistant\n{asked}<|im_end|>\n" if asked else ""
        text = f"<|im_start|>system\n{INSTRUCTIONS}<|im_end|>\n{question}<|im_start|>user\n{words}"
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids[:MOST_TOKENS]
        same = next((i for i, pair in enumerate(zip(ids, self._read, strict=False)) if pair[0] != pair[1]), len(self._read))
        same = min(same, len(ids) - 1)
        if self._read:
            self._generator.rewind_to(same)
        self._generator.append_tokens(ids[same:])
        self._read = ids
        logits = np.asarray(self._generator.get_output("logits"))[0, -1].astype(np.float64)
        likely = np.exp(logits - logits.max())
        return float(likely[self._ends].sum() / likely.sum())


def _ends_turn(text: str) -> bool:
    """Whether a token of that text ends a sentence or begins a new line."""
    bare = text.strip()
    return bare[0] in _SENTENCE_END and not bare[1:2].isalnum() if bare else "\n" in text
