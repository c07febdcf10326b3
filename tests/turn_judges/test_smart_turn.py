"""The judge by ear around a model of a few operations in the shape of Smart Turn, which onnxruntime really runs: its queue, what
becomes of a judgement nobody waits for, and files that are no such model. The published model is heard in tests/real."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.turn_judges.judge import JudgedPause
from voiceagent.turn_judges.smart_turn import INPUT, MAX_WAITING, OUTPUT, SmartTurn, create

PAUSE = JudgedPause(np.full(1600, 1000, np.int16))


def small_model(file: Path, mels: int = 80) -> Path:
    """The logistic of the features' mean."""
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", [INPUT, "axes"], ["mean"], keepdims=0),
            helper.make_node("Sigmoid", ["mean"], ["chance"]),
            helper.make_node("Reshape", ["chance", "shape"], [OUTPUT]),
        ],
        "small",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["n", mels, 800])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["n", 1])],
        [
            helper.make_tensor("axes", TensorProto.INT64, [2], [1, 2]),
            helper.make_tensor("shape", TensorProto.INT64, [2], [-1, 1]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(file))
    return file


@pytest.fixture
async def judge(tmp_path: Path) -> AsyncIterator[SmartTurn]:
    loaded = SmartTurn(small_model(tmp_path / "model.onnx"))
    yield loaded
    await loaded.close()


@pytest.fixture
def held(judge: SmartTurn) -> threading.Event:
    """The judge's thread is busy until this is set."""
    event = threading.Event()
    judge._executor.submit(event.wait)
    return event


async def test_a_pause_has_a_chance_between_0_and_1(judge: SmartTurn) -> None:
    chance = await judge.judge(PAUSE)
    assert chance is not None
    assert 0 < chance < 1


async def test_without_audio_it_cannot_tell(judge: SmartTurn) -> None:
    assert await judge.judge(JudgedPause(np.zeros(0, np.int16))) is None


async def test_a_full_queue_is_told_at_once_and_counted(judge: SmartTurn, held: threading.Event) -> None:
    waiting = [asyncio.ensure_future(judge.judge(PAUSE)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    assert await judge.judge(PAUSE) is None
    assert judge.problems == {"judgement_refused": 1}
    held.set()
    assert None not in await asyncio.gather(*waiting)


async def test_a_cancelled_judgement_is_never_made_and_leaves_room(
    judge: SmartTurn, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = SmartTurn._chance

    def counted(self: SmartTurn, audio: NDArray[np.int16]) -> float:
        made.append("once")
        return real(self, audio)

    monkeypatch.setattr(SmartTurn, "_chance", counted)
    waiting = [asyncio.ensure_future(judge.judge(PAUSE)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    held.set()
    assert await judge.judge(PAUSE) is not None
    assert made == ["once"]
    assert judge.refused == 0


async def test_once_closed_it_says_so(tmp_path: Path) -> None:
    judge = SmartTurn(small_model(tmp_path / "model.onnx"))
    await judge.close()
    with pytest.raises(EngineError, match="is closed"):
        await judge.judge(PAUSE)


def test_a_file_that_is_no_model_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"model\.onnx: cannot be loaded as Smart Turn .*voiceagent models verify"):
        SmartTurn(tmp_path)


def test_another_model_is_told_by_its_shape(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="expected Smart Turn v3, that is input_features 80 × 800"):
        SmartTurn(small_model(tmp_path / "model.onnx", mels=128))


def test_it_needs_a_model_and_known_options(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"needs a model; name smart-turn-v3\.2"):
        create(None, {})
    with pytest.raises(ConfigError, match=r"turn engine smart-turn: .*`theads`"):
        create(small_model(tmp_path / "model.onnx"), {"theads": 2})
