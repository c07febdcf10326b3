"""The result of a run for the model: always JSON, never too long, whatever the tool returned."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

import msgspec

log = logging.getLogger(__name__)

MAX_OUTPUT_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What the model is told: `output` is JSON text; `ok` is False for any error, which then stands under `error`."""

    output: str
    ok: bool


def failed(sentence: str) -> ToolOutcome:
    """The tool failed, for this reason."""
    return ToolOutcome(_text({"error": sentence}), False)


def succeeded(result: object) -> ToolOutcome:
    """A tool's result. A result that is no object is put under `result`. One that is no JSON, or too long, becomes an error."""
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


def _text(result: object) -> str:
    """JSON in complete characters. JavaScript counts in halves of surrogate pairs, so a string may be cut inside one; that half
    can be neither sent nor tokenised. Raises TypeError, ValueError, RecursionError."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
