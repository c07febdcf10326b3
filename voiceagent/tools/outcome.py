"""What the model is told of a run: always JSON, never too long, whatever the tool gave."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any

import msgspec

log = logging.getLogger(__name__)

MAX_OUTPUT_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What the model is told: `output` is JSON text; `ok` is False for any error, which then stands under `error`."""

    output: str
    ok: bool


def failed(sentence: str) -> ToolOutcome:
    """The tool could not do it, and why."""
    return ToolOutcome(_text({"error": sentence}), False)


def succeeded(result: Any) -> ToolOutcome:
    """A tool's result; what is no object stands under `result`. What is no JSON, or too long, becomes an error."""
    if not isinstance(result, dict):
        result = {"result": result}
    try:
        output = _text(msgspec.to_builtins(result))
    except (TypeError, ValueError, RecursionError) as error:
        log.warning("a tool's result is not JSON: %s", error)
        return failed("The tool's result cannot be read.")
    if len(output) > MAX_OUTPUT_CHARACTERS:
        return failed("The tool's result is too long.")
    return ToolOutcome(output, True)


def _text(result: Any) -> str:
    """JSON in whole characters: of a string that was cut inside a surrogate pair (JavaScript counts in halves of them) the half
    can be neither sent nor tokenised. Raises TypeError, ValueError, RecursionError."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
