"""`Any` turns the type checker off for all that it touches, so it stands only at a boundary behind which nothing is known."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOUNDARIES = {
    "voiceagent/cluster/ray_package.py": "Ray, an optional package",
    "voiceagent/conversation/machine.py": "one table for handlers of which each takes its own event",
    "voiceagent/engines.py": "what a plugin makes",
    "voiceagent/inference/wire.py": "messages that protobuf makes",
    "voiceagent/json_types.py": "JSON that nobody checked yet",
    "voiceagent/llm/embedded/genai.py": "functions of a C library",
    "voiceagent/llm/servers/vllm.py": "vLLM, an optional package",
    "voiceagent/media/webrtc/ice_connection.py": "asyncio's addresses",
    "voiceagent/models/gguf_with_adapter.py": "gguf's values",
    "voiceagent/models/makers.py": "numpy, whose arithmetic has types for known elements only",
    "voiceagent/plugins.py": "functions of other packages",
    "voiceagent/server/http/connection.py": "aiohttp's options",
    "voiceagent/tools/schemas.py": "a client's pattern, which `re` checks",
}
MOST = 2 * len(BOUNDARIES)
"""At each boundary one use, and its import."""


def uses() -> Counter[str]:
    """How often `Any` stands in the code of each file, imports included."""
    found: Counter[str] = Counter()
    for path in sorted((ROOT / "voiceagent").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if _name(node) == "Any":
                found[str(path.relative_to(ROOT))] += 1
    return found


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.alias(name=name) | ast.Attribute(attr=name):
            return name
    return ""


def test_any_stands_only_where_a_boundary_explains_it() -> None:
    assert set(uses()) == set(BOUNDARIES)


def test_any_is_used_no_more_often_than_there_are_boundaries() -> None:
    assert uses().total() <= MOST
