"""A server for clients that others wrote, and what they say to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server_process import ServerProcess, running_server
from voiceagent.json_types import JsonObject
from voiceagent.resources import demo_agent_file
from voiceagent.server.access.key_file import KeyFile
from voiceagent.settings.agent import load_agent
from voiceagent.tools.modules import load_tools

TOOLS = """import runpy
get_weather = runpy.run_path({demo!r})["get_weather"]
"""
ORIGIN = "http://localhost:8443"
"""Where the pages of these clients come from."""


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, str]]:
    """A server with one tool, which does not speak first, and its key."""
    folder = tmp_path_factory.mktemp("sdks")
    demo = demo_agent_file()
    (folder / "tools.py").write_text(TOOLS.format(demo=str(demo.parent / "tools.py")))
    (folder / "agent.yaml").write_text(
        f"instructions: {load_agent(demo).instructions!r}\ntools: [tools.py]\nphrases: {{greeting: ''}}\n"
        f"http: {{allowed_origins: ['{ORIGIN}']}}\n"
    )
    key = KeyFile(folder / "keys.json").add("client")
    with running_server(folder, "--config", str(folder / "agent.yaml")) as server:
        yield server, key


@pytest.fixture(scope="session")
def clock() -> JsonObject:
    """The tool that the client runs, as the demo's agent describes it."""
    folder = demo_agent_file().parent
    (tool,) = (tool for tool in load_tools("tools.py", folder) if tool.name == "get_time")
    return dict(tool.schema["function"])
