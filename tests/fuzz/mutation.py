"""Mutations: strategies that take an input of the corpus and change it, bytes as bytes, text by lines, JSON as a tree. Hypothesis
shrinks what fails to the fewest changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

MAX_CHANGES = 6
MAX_BYTES = 65_536
"""Nothing longer is made: what only is long has tests of its own."""
EDGES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 127, 128, 255, 256, 1023, 32_767, 32_768, 65_535, 2**31 - 1, 2**31, 2**32 - 1)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**31, 2**53, 2**63, -(2**63), 1e308, "", " ", "x" * 5000, "\ud800", "\x00", "💥"),
    *([], {}, [[]], [{}], {"": ""}, {"type": "object"}, {"$ref": "#"}, {"type": ["string", "null"]}, [None] * 50),
)


@st.composite
def changed_bytes(draw: st.DrawFn, seeds: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """One of `seeds` after up to `MAX_CHANGES` changes, some of which put in one of `words`."""
    data = bytearray(draw(st.sampled_from(seeds)))
    kinds = ["set", "integer", "cut", "copy", "insert", "end", "join", *(["word"] if words else [])]
    for _ in range(draw(st.integers(0, MAX_CHANGES))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.integers(1, 40))
        match draw(st.sampled_from(kinds)):
            case "set" if at < len(data):
                data[at] = draw(st.integers(0, 255))
            case "integer":
                width = draw(st.sampled_from([1, 2, 4]))
                data[at : at + width] = (draw(st.sampled_from(EDGES)) % 256**width).to_bytes(width, "big")
            case "cut":
                del data[at : at + size]
            case "copy":
                data[at:at] = data[at : at + size] * draw(st.integers(1, 30))
            case "insert":
                data[at:at] = draw(st.binary(max_size=40))
            case "end":
                del data[at:]
            case "join":
                data[at:] = draw(st.sampled_from(seeds))[at:]
            case "word":
                data[at:at] = draw(st.sampled_from(words))
    return bytes(data[:MAX_BYTES])


@st.composite
def changed_lines(draw: st.DrawFn, seeds: Sequence[bytes], words: Sequence[str]) -> bytes:
    """Text of lines after changes of whole lines and of words in them; sometimes of bytes."""
    lines = draw(st.sampled_from(seeds)).decode().splitlines()
    for _ in range(draw(st.integers(0, MAX_CHANGES))):
        at = draw(st.integers(0, max(0, len(lines) - 1)))
        other = draw(st.sampled_from(seeds)).decode().splitlines()
        match draw(st.sampled_from(["drop", "copy", "swap", "word", "borrow", "part"])):
            case "drop" if lines:
                del lines[at]
            case "copy" if lines:
                lines[at:at] = [lines[at]] * draw(st.integers(1, 60))
            case "swap" if lines:
                lines.insert(draw(st.integers(0, len(lines))), lines.pop(at))
            case "word" if lines:
                pieces = lines[at].replace(":", " : ").replace("=", " = ").split(" ")
                pieces[draw(st.integers(0, len(pieces) - 1))] = draw(st.sampled_from(words) | st.text(max_size=12))
                lines[at] = " ".join(pieces).replace(" : ", ":").replace(" = ", "=")
            case "borrow":
                lines.insert(at, draw(st.sampled_from(other)))
            case "part":
                lines[at:] = other[draw(st.integers(0, len(other))) :]
    text = "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n"
    return draw(changed_bytes([text])) if draw(st.integers(0, 5)) == 0 else text[:MAX_BYTES]


@st.composite
def changed_json(draw: st.DrawFn, seeds: Sequence[bytes], words: Sequence[str]) -> bytes:
    """JSON after changes of its values and keys; sometimes of bytes."""
    whole = json.loads(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, MAX_CHANGES))):
        places = list(_places(whole))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["odd", "word", "deep", "many", "drop", "move", "key"])):
            case "odd":
                holder[key] = deepcopy(draw(st.sampled_from(ODD_VALUES)))
            case "word":
                holder[key] = draw(st.sampled_from(words) | st.text(max_size=12))
            case "deep":
                value, depth = holder[key], draw(st.integers(1, 120))
                for _ in range(depth):
                    value = [value] if depth % 2 else {"properties": value}
                holder[key] = value
            case "many":
                holder[key] = [holder[key]] * draw(st.integers(1, 40))
            case "drop":
                del holder[key]
            case "move":
                holder[key] = json.loads(draw(st.sampled_from(seeds)))
            case "key" if isinstance(holder, dict):
                holder[draw(st.sampled_from(words))] = holder[key]
    text = json.dumps(whole).encode()[:MAX_BYTES]
    return draw(changed_bytes([text])) if draw(st.integers(0, 5)) == 0 else text


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every value inside, as what holds it and where."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 300:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder))) if isinstance(holder, list) else []
        for key in keys:
            found.append((holder, key))
            waiting.append(holder[key])
    return found
