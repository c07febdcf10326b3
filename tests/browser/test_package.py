"""The client library as an npm package: packed, and used in Node.js, by TypeScript and in Chromium."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.browsers import HERE, installed, recorded, speech
from tests.server_process import ServerProcess
from voiceagent import __version__

ROOT = HERE.parents[1]
LIBRARY = ROOT / "web" / "lib"
TYPED = """import { VoiceAgent, CallProblem } from 'voiceagent-client';
const agent: VoiceAgent = new VoiceAgent({ url: 'http://127.0.0.1:8080', key: 'ek_1' });
const called: Promise<void> = agent.connect();
called.catch((error: unknown) => error instanceof CallProblem && error.code === 'server_full');
// @ts-expect-error: there is no such option
new VoiceAgent({ adress: '' });
"""


def run(folder: Path, *command: str, **environment: str) -> str:
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=100, env={**os.environ, **environment}, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.browser
def test_the_package_is_used_in_node_by_typescript_and_on_a_page(tmp_path: Path, demo_server: ServerProcess) -> None:
    browser = installed("chromium", "typescript")
    library = shutil.copytree(LIBRARY, tmp_path / "lib")
    tools = f"{ROOT / 'node_modules' / '.bin'}:{os.environ['PATH']}"
    run(library, "npm", "pack", "--pack-destination", str(tmp_path), PATH=tools)
    (packed,) = tmp_path.glob("*.tgz")
    run(tmp_path, "tar", "--extract", "--gzip", "--file", packed.name)
    (tmp_path / "node_modules").mkdir()
    package = (tmp_path / "package").rename(tmp_path / "node_modules" / "voiceagent-client")
    assert json.loads((package / "package.json").read_text())["version"] == __version__

    loaded = "import('voiceagent-client').then(({ VoiceAgent }) => console.log(new VoiceAgent().state))"
    assert run(tmp_path, "node", "--input-type=module", "--eval", loaded) == "idle\n"
    (tmp_path / "use.mts").write_text(TYPED)
    run(tmp_path, "tsc", "--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "use.mts", PATH=tools)

    (example,) = re.findall(r"```html\n(.*?)```", (package / "README.md").read_text(), re.DOTALL)
    said = asyncio.run(speech((4.0, "What's the weather in Paris tomorrow?", 20.0)))
    (tmp_path / "index.html").write_text(example.replace("http://127.0.0.1:8080", demo_server.url))
    shown = browser.sees("package.mjs", str(tmp_path), recorded(tmp_path / "microphone.wav", said))
    assert shown["caller"] == "What's the weather in Paris tomorrow?"
    assert "Paris" in shown["agent"]
