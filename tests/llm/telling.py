"""A small model whose graph tells the logits of the last few tokens, as the starter's does: the bundled one and a node."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from voiceagent.llm.embedded.genai import RECENT, RECENT_TOKENS


def telling(bundled: Path, folder: Path) -> Path:
    """Written to `folder`."""
    shutil.copytree(bundled, folder, dirs_exist_ok=True)
    model = onnx.load(str(folder / "model.onnx"), load_external_data=False)
    numbers = {"/recent/start": -RECENT_TOKENS, "/recent/end": 2**31 - 1, "/recent/axis": 1}
    for name, value in numbers.items():
        constant = numpy_helper.from_array(np.array([value], np.int64), name)
        model.graph.node.append(helper.make_node("Constant", [], [name], value=constant))
    model.graph.node.append(helper.make_node("Slice", ["logits", *numbers], [RECENT], name="/recent/Slice"))
    told: list[str | int | None] = ["batch_size", "recent", model.graph.output[0].type.tensor_type.shape.dim[2].dim_value]
    model.graph.output.append(helper.make_tensor_value_info(RECENT, onnx.TensorProto.FLOAT, told))
    onnx.save(model, str(folder / "model.onnx"))
    return folder
