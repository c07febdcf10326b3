"""The examples of docs/api.md make a call, and ask in writing, as they stand there."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import wave
from pathlib import Path

from tests.fakes import Said
from tests.server_process import ServerProcess

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


async def test_the_example_calls_and_keeps_the_call(server: ServerProcess, said: Said, tmp_path: Path) -> None:
    (example,) = (code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "Dialogue" in code)
    pcm, rate_hz = await said("What's the weather in Paris tomorrow?")
    with wave.open(str(tmp_path / "question.wav"), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_hz)
        out.writeframes(pcm.tobytes())
    program = example.replace("http://127.0.0.1:8080", server.url)
    ran = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # vLLM's environment has not installed this package
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out_bytes, _ = await ran.communicate()
    assert ran.returncode == 0
    transport, greeting, caller, agent = out_bytes.decode().splitlines()
    assert transport == "transport: webrtc"
    assert greeting == "agent: Hello, how can I help you?"
    assert caller == "caller: What's the weather in Paris tomorrow?"
    assert "Paris" in agent
    with wave.open(str(tmp_path / "call.wav")) as kept:
        assert kept.getnchannels() == 2


async def test_the_example_asks_in_writing(server: ServerProcess) -> None:
    (example,) = (code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "OpenAI" in code)
    program = example.replace("http://127.0.0.1:8080", server.url)
    ran = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        out_bytes, _ = await ran.communicate()
    assert ran.returncode == 0
    assert "Paris" in out_bytes.decode()
