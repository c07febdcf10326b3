"""A whole call whose recogniser and voice are services: it is answered, it survives the `kill -9` of its recogniser with an
apology, and goes on with the next one at that address."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.fakes import Said
from tests.model_server.conftest import running_service
from tests.server_process import running_server
from voiceagent.client.caller import Caller, ReceivedEvent
from voiceagent.client.dialogue import QUIET_MS, Dialogue
from voiceagent.model_server.hosted import HostedModel
from voiceagent.model_server.run import ListenAddress
from voiceagent.resources import demo_agent_file

APOLOGY = "Sorry, I did not get that."
WEATHER = "What's the weather in Paris tomorrow?"
LONG = "I would like to know whether it will rain or whether the sun will shine in Paris tomorrow, please, and on Friday."
"""Three seconds of speech are a turn, whatever was understood."""


@contextmanager
def recogniser_process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`voiceagent models serve` with a recogniser alone, and its address."""
    command = [sys.executable, "-m", "voiceagent", "models", "serve", "--port", "0", "--only", "stt", "--profile", "embedded"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with (folder / "models.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        try:
            found = re.search(r"stt answer at (\S+)", _until(process))
            assert found is not None, (folder / "models.log").read_text()
            yield process, found[1]
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _until(process: subprocess.Popen[str]) -> str:
    """The line that tells the address."""
    assert process.stdout is not None
    return next((line for line in process.stdout if "answer" in line), "")


def is_apology(event: ReceivedEvent) -> bool:
    return event.type == "response.output_audio_transcript.done" and event.data["transcript"] == APOLOGY


async def test_a_call_survives_the_death_of_its_recogniser(tmp_path: Path, said: Said, hosted: list[HostedModel]) -> None:
    stt, tts = hosted
    with recogniser_process(tmp_path) as (process, url):
        async with running_service([tts], ListenAddress(port=0)) as voice:
            tools = demo_agent_file().parent / "tools.py"
            file = tmp_path / "agent.yaml"
            file.write_text(
                f'name: Remote\ntools: ["{tools}"]\nphrases: {{apology: "{APOLOGY}"}}\n'
                f'profile: embedded\nstt: {{url: "{url}"}}\ntts: {{url: "{voice.url}"}}\n'
            )
            with ExitStack() as stack:  # its start waits for the voice, which this thread serves
                running = await asyncio.to_thread(stack.enter_context, running_server(tmp_path, "--config", str(file)))
                async with Caller(running.url) as caller, Dialogue(caller) as dialogue:
                    (answered,) = await dialogue.turn(WEATHER, *await said(WEATHER))
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    since = dialogue.event_count
                    caller.say(*await said(LONG))
                    await dialogue.wait_event(is_apology, since, "the apology")
                    await dialogue.wait_event(lambda event: event.type == "response.done", since, "its end")
                    await caller.wait_quiet(QUIET_MS)
                    port = int(url.rpartition(":")[2])
                    async with running_service([stt], ListenAddress(port=port)):
                        (again,) = await dialogue.turn(WEATHER, *await said(WEATHER))
    assert "Paris" in answered.heard
    assert "Paris" in again.heard
