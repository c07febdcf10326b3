"""One decode as messages of the Open Inference Protocol: a window of audio with what is known of it goes in, words with their
times and the figures for the gates come out. A client writes what a server reads here, and the other way round. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.inference.tensors import Tensor, array_of, texts_of
from voiceagent.inference.wire import InferRequest, InferResponse, ModelMetadata, Parameter, TensorShape
from voiceagent.stt.engine import StreamOptions
from voiceagent.stt.hypothesis import Hypothesis, RecognisedWord
from voiceagent.stt.vocabulary import MOST_CHARACTERS, Vocabulary, Word, Words, words_of
from voiceagent.turn_taking.patience import NOTHING, ExpectedValue
from voiceagent.untrusted_json import read_struct

AUDIO, WORDS, STARTS, ENDS, CHANCES, JUDGED, LANGUAGE, DOUBTED = (
    "audio",
    "words",
    "starts_s",
    "ends_s",
    "probabilities",
    "judged",
    "language",
    "doubted",
)
"""Tensors: `audio` is mono 16 kHz. `judged` holds the probability that there is no speech, the mean log-probability and the
compression ratio. `doubted` is true where a second decode may help, which the request's parameter `thorough` asks for."""
INPUTS = (TensorShape(AUDIO, "INT16", (-1,)),)
OUTPUTS = (
    TensorShape(WORDS, "BYTES", (-1,)),
    TensorShape(STARTS, "FP64", (-1,)),
    TensorShape(ENDS, "FP64", (-1,)),
    TensorShape(CHANCES, "FP64", (-1,)),
    TensorShape(JUDGED, "FP64", (3,)),
    TensorShape(LANGUAGE, "BYTES", (1,)),
    TensorShape(DOUBTED, "BOOL", (1,)),
)
FULL_SCALE = 32768
MOST_AUTOMATIC = 400


class _Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: Words = ()
    automatic: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=MOST_CHARACTERS)], ...], msgspec.Meta(max_length=MOST_AUTOMATIC)
    ] = ()


class _Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    digits: bool = False
    choices: Annotated[tuple[str, ...], msgspec.Meta(max_length=64)] = ()
    hint: Annotated[str, msgspec.Meta(max_length=1000)] = ""


@dataclass(frozen=True, slots=True, eq=False)
class DecodeRequest:
    """A window of audio to decode, and how: see `SttEngine.transcribe`."""

    audio: NDArray[np.float32]
    """Mono 16 kHz in -1..1, shape (samples,)."""
    prompt: str = ""
    word_times: bool = False
    final: bool = False
    language: str = ""
    urgent: bool = False
    thorough: bool = False
    """True for the second decode of a final in doubt."""
    expected: ExpectedValue = NOTHING
    vocabulary: str = ""
    """The words of the house, as `vocabulary_text` writes them."""

    def message(self, model: str) -> InferRequest:
        """The request to a server."""
        pcm = np.clip(np.rint(self.audio * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)
        parameters: dict[str, Parameter] = {
            name: value
            for name in ("prompt", "word_times", "final", "language", "urgent", "thorough", "vocabulary")
            if (value := getattr(self, name))
        }
        if self.expected:
            parameters["expected"] = msgspec.json.encode(self.expected).decode()
        return InferRequest(model, {AUDIO: Tensor.of(pcm)}, parameters)

    @classmethod
    def of(cls, message: InferRequest) -> DecodeRequest:
        """Read a request. Raises ValueError."""
        pcm = array_of(message.tensors, AUDIO, "INT16")
        expected = _text(message, "expected")
        return cls(
            pcm.astype(np.float32) / np.float32(FULL_SCALE),
            _text(message, "prompt"),
            _flag(message, "word_times"),
            _flag(message, "final"),
            _text(message, "language"),
            _flag(message, "urgent"),
            _flag(message, "thorough"),
            _expected(expected) if expected else NOTHING,
            _text(message, "vocabulary"),
        )


def vocabulary_text(vocabulary: Vocabulary) -> str:
    """The words of the house for a request: the same text for the same words."""
    return msgspec.json.encode(_Vocabulary(vocabulary.named, vocabulary.automatic)).decode()


def read_vocabulary(text: str) -> Vocabulary:
    """The words of the house. Takes milliseconds for many words. Raises ValueError."""
    read = read_struct(text, _Vocabulary)
    named: tuple[Word, ...] = read.words
    return Vocabulary(words_of(named), read.automatic)


def answer(model: str, heard: Hypothesis, *, doubted: bool) -> InferResponse:
    """The answer of a server."""

    def numbers(values: Sequence[float]) -> Tensor:
        return Tensor.of(np.array(values, np.float64))

    words = heard.words
    judged = (heard.no_speech_probability, heard.mean_log_probability, heard.compression_ratio)
    return InferResponse(
        model,
        {
            WORDS: Tensor.of_texts([word.text for word in words]),
            STARTS: numbers([word.start_s for word in words]),
            ENDS: numbers([word.end_s for word in words]),
            CHANCES: numbers([word.probability for word in words]),
            JUDGED: numbers(judged),
            LANGUAGE: Tensor.of_texts([heard.language]),
            DOUBTED: Tensor.of(np.array([doubted])),
        },
    )


def read_answer(message: InferResponse) -> tuple[Hypothesis, bool]:
    """The words that were heard, and whether they are in doubt. Raises ValueError."""
    tensors = message.tensors
    texts = texts_of(tensors, WORDS)
    starts, ends, chances = (array_of(tensors, name, "FP64").tolist() for name in (STARTS, ENDS, CHANCES))
    judged = array_of(tensors, JUDGED, "FP64").tolist()
    language, doubted = texts_of(tensors, LANGUAGE), array_of(tensors, DOUBTED, "BOOL").tolist()
    if not len(texts) == len(starts) == len(ends) == len(chances) or (len(judged), len(language), len(doubted)) != (3, 1, 1):
        raise ValueError("its tensors do not belong together")
    if not np.isfinite([*starts, *ends]).all():
        raise ValueError("it holds a time that is none")
    words = tuple(map(RecognisedWord, texts, starts, ends, chances))
    return Hypothesis(words, judged[0], judged[1], judged[2], language[0]), doubted[0]


class DescribedRecogniser(msgspec.Struct, frozen=True):
    """The description that a server gives of its recogniser: see `SttEngine`."""

    max_audio_s: float
    stream: StreamOptions
    language: str
    languages: tuple[str, ...]

    def metadata(self, model: str) -> ModelMetadata:
        """The server's description of it."""
        parameters: dict[str, Parameter] = {
            "max_audio_s": float(self.max_audio_s),
            "stream": msgspec.json.encode(self.stream).decode(),
            "language": self.language,
            "languages": ",".join(self.languages),
        }
        return ModelMetadata(model, INPUTS, OUTPUTS, parameters, "voiceagent")


def _text(message: InferRequest, name: str) -> str:
    value = message.parameters.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"its parameter {name!r} is no text")
    return value


def _flag(message: InferRequest, name: str) -> bool:
    value = message.parameters.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"its parameter {name!r} is neither true nor false")
    return value


def _expected(text: str) -> ExpectedValue:
    read = read_struct(text, _Expected)
    return ExpectedValue(read.digits, read.choices, read.hint)
