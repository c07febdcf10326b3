"""The demo agent with further settings."""

from __future__ import annotations

from pathlib import Path

from voiceagent.resources import demo_agent_file


def demo_with(folder: Path, settings: str) -> str:
    """The path of a copy of the demo agent's file in this folder, with these settings (YAML) besides."""
    demo = demo_agent_file()
    agent = demo.read_text()
    for name in ("tools.py", "endpointing.json"):
        agent = agent.replace(name, str(demo.parent / name))
    file = folder / "agent.yaml"
    file.write_text(f"{agent}\n{settings}")
    return str(file)
