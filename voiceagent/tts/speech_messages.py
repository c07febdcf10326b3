"""A spoken clause as messages of the Open Inference Protocol: its text goes in, chunks of audio with the words that begin in them
come out. A client writes what a server reads here, and the other way round. Pure."""

from __future__ import annotations

import numpy as np

from voiceagent.conversation.events import SpokenWord
from voiceagent.inference.tensors import Tensor, array_of, texts_of
from voiceagent.inference.wire import EMPTY_FINAL, InferRequest, InferResponse, ModelMetadata, TensorShape
from voiceagent.tts.engine import SpeechChunk

TEXT, PCM, WORDS, STARTS, ENDS = "text", "pcm", "words", "starts_ms", "ends_ms"
"""Tensors: `pcm` is mono, at the rate that the model's description tells; the words' times count from the start of the clause."""
INPUTS = (TensorShape(TEXT, "BYTES", (1,)),)
OUTPUTS = (
    TensorShape(PCM, "INT16", (-1,)),
    TensorShape(WORDS, "BYTES", (-1,)),
    TensorShape(STARTS, "FP64", (-1,)),
    TensorShape(ENDS, "FP64", (-1,)),
)


def request(model: str, text: str) -> InferRequest:
    """The request to a server: to speak a clause."""
    return InferRequest(model, {TEXT: Tensor.of_texts([text])}, {EMPTY_FINAL: True})


def read_request(message: InferRequest) -> str:
    """The clause. Raises ValueError."""
    texts = texts_of(message.tensors, TEXT)
    if len(texts) != 1:
        raise ValueError(f"its tensor {TEXT!r} holds {len(texts)} texts, expected one clause")
    return texts[0]


def answer(model: str, request_id: str, chunk: SpeechChunk) -> InferResponse:
    """The answer of a server: one part of the clause."""
    words = chunk.words
    return InferResponse(
        model,
        {
            PCM: Tensor.of(chunk.pcm),
            WORDS: Tensor.of_texts([word.text for word in words]),
            STARTS: Tensor.of(np.array([word.start_ms for word in words], np.float64)),
            ENDS: Tensor.of(np.array([word.end_ms for word in words], np.float64)),
        },
        id=request_id,
    )


def read_answer(message: InferResponse) -> SpeechChunk:
    """The part of the clause. Raises ValueError."""
    tensors = message.tensors
    pcm, texts = array_of(tensors, PCM, "INT16"), texts_of(tensors, WORDS)
    starts, ends = (array_of(tensors, name, "FP64").tolist() for name in (STARTS, ENDS))
    if not len(texts) == len(starts) == len(ends):
        raise ValueError("its tensors do not belong together")
    if not np.isfinite([*starts, *ends]).all():
        raise ValueError("it holds a time that is none")
    return SpeechChunk(pcm.astype(np.int16, copy=False), tuple(map(SpokenWord, texts, starts, ends)))


def metadata(model: str, sample_rate_hz: int, *, reads_ipa: bool) -> ModelMetadata:
    """The server's description of a voice: see `TtsEngine` and `reads_ipa`."""
    parameters = {"sample_rate_hz": sample_rate_hz, "reads_ipa": reads_ipa, "decoupled": True}
    return ModelMetadata(model, INPUTS, OUTPUTS, parameters, "voiceagent")
