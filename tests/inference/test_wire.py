"""Messages and tensors of the Open Inference Protocol: what is written is read again, and what is none is one clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.inference.tensors import MAX_TEXTS, Tensor, array_of, texts_of
from voiceagent.inference.wire import (
    FINAL,
    MAX_TENSORS,
    InferRequest,
    InferResponse,
    ModelMetadata,
    TensorShape,
    message,
    streamed_error,
)

REQUEST = InferRequest(
    "stt",
    {"audio": Tensor.of(np.array([1, -2, 3], np.int16)), "words": Tensor.of_texts(["é", "", "two words"])},
    {"final": True, "prompt": "so", "count": -3, "weight": 0.25},
    "7",
)


def test_a_request_is_read_as_it_was_written() -> None:
    read = InferRequest.from_bytes(REQUEST.to_bytes())
    assert read == REQUEST
    assert array_of(read.tensors, "audio", "INT16").tolist() == [1, -2, 3]
    assert texts_of(read.tensors, "words") == ["é", "", "two words"]
    assert read.parameters["final"] is True


def test_the_bytes_are_those_of_the_published_fields() -> None:
    """Written by hand from `open_inference_grpc.proto`: 1 model_name, 3 id, 5 inputs, 7 raw_input_contents."""
    written = InferRequest("m", {"a": Tensor.of(np.array([5], np.int16))}, {}, "i").to_bytes()
    tensor = b"\x0a\x01a" + b"\x12\x05INT16" + b"\x1a\x01\x01"
    assert written == b"\x0a\x01m" + b"\x1a\x01i" + b"\x2a" + bytes([len(tensor)]) + tensor + b"\x3a\x02\x05\x00"


def test_a_response_is_read_alone_and_from_a_stream() -> None:
    response = InferResponse("tts", {"pcm": Tensor.of(np.zeros(0, np.int16))}, {FINAL: True}, "1")
    assert InferResponse.from_bytes(response.to_bytes()) == response
    assert InferResponse.from_streamed_bytes(response.to_streamed_bytes()) == (response, "")
    assert response.is_last
    failed, problem = InferResponse.from_streamed_bytes(streamed_error("no voice", "1", {"kind": "failed"}))
    assert (problem, failed.id, failed.parameters) == ("no voice", "1", {"kind": "failed"})


def test_a_description_is_read_as_it_was_written() -> None:
    told = ModelMetadata("stt", (TensorShape("audio", "INT16", (-1,)),), (), {"max_audio_s": 30.0}, "voiceagent")
    assert ModelMetadata.from_bytes(told.to_bytes()) == told


def test_typed_contents_are_read_as_raw_ones_are() -> None:
    other = message("ModelInferRequest")(model_name="stt")
    other.inputs.add(name="audio", datatype="INT16", shape=[2]).contents.int_contents.extend([7, -7])
    other.inputs.add(name="words", datatype="BYTES", shape=[1]).contents.bytes_contents.append(b"yes")
    read = InferRequest.from_bytes(other.SerializeToString())
    assert array_of(read.tensors, "audio", "INT16").tolist() == [7, -7]
    assert texts_of(read.tensors, "words") == ["yes"]


def request_with(datatype: str, shape: list[int], raw: bytes, times: int = 1) -> bytes:
    written = message("ModelInferRequest")(model_name="stt")
    for number in range(times):
        written.inputs.add(name=f"a{number}", datatype=datatype, shape=shape)
        written.raw_input_contents.append(raw)
    return bytes(written.SerializeToString())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xff\xff", "no ModelInferRequest"),
        (request_with("INT16", [3], b"\0\0"), "does not hold the 3 elements"),
        (request_with("INT16", [1], b"\0\0\0"), "does not hold the 1 elements"),
        (request_with("INT16", [-1], b""), "negative length"),
        (request_with("INT16", [2**40, 2**40], b""), "elements that its shape says"),
        (request_with("COMPLEX", [1], b"\0"), "expected one of BOOL"),
        (request_with("BYTES", [1], b"\x05\0\0\0ab"), "cut off"),
        (request_with("BYTES", [1], b"\x01\0\0\0\xff"), "utf-8"),
        (request_with("BYTES", [MAX_TEXTS + 1], b"\0\0\0\0" * (MAX_TEXTS + 1)), "cut off"),
        (request_with("INT16", [0], b"", MAX_TENSORS + 1), f"at most {MAX_TENSORS}"),
        (message("ModelInferRequest")(raw_input_contents=[b"a"]).SerializeToString(), "describes 0 tensors"),
    ],
)
def test_what_is_no_request_is_one_clear_error(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        InferRequest.from_bytes(data)


def test_a_tensor_of_another_type_or_name_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no tensor 'pcm'"):
        array_of(REQUEST.tensors, "pcm", "INT16")
    with pytest.raises(ValueError, match="is INT16 of 1 dimensions; expected FP64"):
        array_of(REQUEST.tensors, "audio", "FP64")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_value_error(data: bytes) -> None:
    for read in (InferRequest.from_bytes, InferResponse.from_streamed_bytes, ModelMetadata.from_bytes):
        try:
            found: Any = read(data)
        except ValueError:
            continue
        assert found is not None
