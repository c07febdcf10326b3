"""Each part of the state has an owner: the one file that writes it. Other files call the owner's functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import msgspec

from voiceagent.conversation import machine
from voiceagent.conversation.state import State

OWNERS = {
    "memory": "memory",
    "caller_turn": "caller_words",
    "habit": "caller_words",
    "utterance": "caller_words",
    "reply": "reply_lifecycle",
    "replies": "reply_lifecycle",
    "speculation": "reply_lifecycle",
    "tools": "tools",
    "late": "tools",
    "silence": "silence",
    "connection": "connection",
    "timers": "state",
    "kept": "machine",
    "degraded": "machine",
    "flow": "steps",
    "collecting": "collecting",
    "rules": "state",
    "spoken": "caller_words",
}
OF_ALL = {"phase"}
"""`machine.TABLE` says which event may lead to which phase, so handlers in every file change it."""


def test_one_file_writes_each_part_of_the_state() -> None:
    writers: dict[str, set[str]] = defaultdict(set)
    for path in sorted(Path(machine.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("put", "change"):
                written = node.keywords if node.func.attr == "put" else node.args[:1]
                for part in written:
                    name = part.arg if isinstance(part, ast.keyword) else ast.literal_eval(part)
                    if name is not None and name not in OF_ALL:  # `change` itself puts `**{part: ...}`
                        writers[name].add(path.stem)
    assert writers == {part: {owner} for part, owner in OWNERS.items()}
    assert set(OWNERS) | OF_ALL == {field.name for field in msgspec.structs.fields(State)}
