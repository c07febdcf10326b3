"""The files that an agent's settings name, and the settings that a running server cannot take anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from voiceagent.settings.agent import AgentConfig

MAX_PATH_CHARACTERS = 400
AT_THE_START = (
    *("profile", "language", "languages", "models", "stt", "tts", "voices", "llm", "options"),
    *("admission", "http", "ice", "media", "telephony", "records", "telemetry"),
)
"""Settings that hold from the start of a server to its end: its models, its lines and what it keeps."""
OF_TURNS_AT_THE_START = ("judges", "resume_after_restart")
"""The same among those of `turn`."""


def named_files(agent: AgentConfig, file: Path) -> set[Path]:
    """The agent's own `file`, those of the agents that it hands calls off to, and the files that any of them names: tools,
    weights, budgets, recordings and the like."""
    found = {file.resolve()}
    for name, one in {"": agent, **agent.agents}.items():
        if name:
            found.add((file.parent / name).resolve())
        folder = Path(one.base_dir)
        for text in _texts(msgspec.to_builtins(msgspec.structs.replace(one, agents={}))):
            if text and len(text) <= MAX_PATH_CHARACTERS and text.isprintable() and (folder / text).is_file():
                found.add((folder / text).resolve())
    return found


def named_folders(agent: AgentConfig) -> set[Path]:
    """The folders of documents of the agent, and of those that it hands calls off to."""
    return {
        (Path(one.base_dir) / entry.folder).resolve()
        for one in (agent, *agent.agents.values())
        for entry in one.context
        if entry.folder
    }


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def kept_settings(old: AgentConfig, new: AgentConfig, running: AgentConfig) -> tuple[AgentConfig, list[str]]:
    """The new agent, which has the settings of the `running` one that a server cannot take anew, and the names of those that
    differ between the `old` and the new file."""
    replace = msgspec.structs.replace
    differ = [name for name in AT_THE_START if getattr(old, name) != getattr(new, name)]
    differ += [f"turn.{name}" for name in OF_TURNS_AT_THE_START if getattr(old.turn, name) != getattr(new.turn, name)]
    turn = replace(new.turn, **{name: getattr(running.turn, name) for name in OF_TURNS_AT_THE_START})
    return replace(new, turn=turn, **{name: getattr(running, name) for name in AT_THE_START}), differ
