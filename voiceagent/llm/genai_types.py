"""What is used of onnxruntime-genai, which has no types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
"""Of the last tokens, [1, tokens, vocabulary]."""


class Generator(Protocol):
    """`onnxruntime_genai.Generator`: tokens and the KV cache behind them."""

    def append_tokens(self, tokens: Sequence[int], /) -> None:
        """Read these tokens. Raises RuntimeError."""
        ...

    def rewind_to(self, length: int, /) -> None:
        """Forget the tokens behind so many."""
        ...

    def get_logits(self) -> Logits:
        """The logits of the last token."""
        ...

    def get_output(self, name: str, /) -> Logits:
        """An output of the graph. Raises RuntimeError where there is no such output."""
        ...

    def generate_next_token(self) -> None:
        """Pick a token."""
        ...

    def get_next_tokens(self) -> NDArray[np.int32]:
        """The token that was picked, [1]."""
        ...
