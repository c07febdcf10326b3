"""The survey of `examples/`, by telephone on published models: a service that screens calls and the person behind it, and an
answering machine. The published voice is all of them."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer
from numpy.typing import NDArray

from tests.real.conftest import Said
from tests.real.models import fetched
from tests.server_process import PROFILE as CHOSEN
from tests.server_process import running_server
from tests.telephone.peers import PUBLIC_URL, Peer, environment
from tests.telephone.tones import line
from voiceagent.audio.resample import resample

PROFILE = CHOSEN or "starter"
EXAMPLE = Path(__file__).parents[2] / "examples" / "survey"
SECRET = {"VOICEAGENT_RESULTS_SECRET": "s3cret"}


class Callee:
    """Speaks on a peer's side, in parts: words, or seconds of silence, or ringing."""

    def __init__(self, peer: Peer, said: Said) -> None:
        self._peer, self._said = peer, said
        self._until = 0.0
        """When the last part was said, in seconds of the loop."""

    async def say(self, *parts: str | float | NDArray[np.int16]) -> None:
        sound = np.concatenate([part if isinstance(part, np.ndarray) else await self._sound(part) for part in parts])
        self._until = asyncio.get_running_loop().time() + len(sound) / self._peer.rate_hz
        self._peer.say(sound)

    async def _sound(self, part: str | float) -> NDArray[np.int16]:
        if isinstance(part, float):
            return np.zeros(int(part * self._peer.rate_hz), np.int16)
        pcm, rate_hz = await self._said(part)
        return resample(pcm, rate_hz, self._peer.rate_hz)

    async def answered(self) -> None:
        """Until the agent has spoken since, and is silent."""
        peer = self._peer
        await peer.wait(lambda: bool(peer.heard) and peer.heard[-1][0] > self._until and peer.is_quiet(1.5))


async def test_a_service_is_told_who_calls_the_person_behind_it_answers_and_a_machine_is_hung_up_on(
    said: Said, tmp_path: Path
) -> None:
    fetched("--profile", PROFILE)
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        told.put_nowait(await request.json())
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/", take)
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    async with TestServer(app) as receiver, aiohttp.ClientSession() as session:
        agent = yaml.safe_load((tmp_path / "agent.yaml").read_text())
        results = {"url": str(receiver.make_url("/")), "transcript": True}
        agent["telephony"] |= {"vendors": ["twilio"], "url": PUBLIC_URL, "results": results}
        (tmp_path / "agent.yaml").write_text(yaml.safe_dump(agent, sort_keys=False))
        options = ("--config", str(tmp_path / "agent.yaml"), "--profile", PROFILE, "--event-logs", "5")
        with running_server(tmp_path, *options, environment={**environment(), **SECRET}) as server:
            async with Peer(session, server.url, "twilio", direction="outbound-api", patience_s=60.0) as peer:
                callee = Callee(peer, said)
                await callee.say("Please record your name and the reason for your call.")
                await callee.answered()
                ringing = line("ring-back, United States", 5.0)[:: 16_000 // peer.rate_hz]
                await callee.say("Thank you. Please stay on the line.", 1.0, ringing, 1.0, "Hello?")
                await callee.answered()
                for answer in ("It was very good.", "No, I was not.", "Yes, I would."):
                    await callee.say(answer)
                    await callee.answered()
            person = await asyncio.wait_for(told.get(), 20)
            async with Peer(session, server.url, "twilio", direction="outbound-api", patience_s=60.0) as peer:
                callee = Callee(peer, said)
                await callee.say("You have reached the voicemail of Peter Jensen. Please leave a message after the tone.", 2.0)
                await peer.wait(lambda: peer.close_code is not None)
            machine = await asyncio.wait_for(told.get(), 20)
    assert (person["answered_by"], person["put_through_to"], machine["answered_by"]) == ("screened", "person", "machine")
    assert person["values"] == {"visit": "good", "on_time": "no", "again": "yes"}
    introduction, opening = agent["telephony"]["voicemail"]["introduction"], agent["phrases"]["greeting"]["text"]
    lines = [said["text"] for said in person["transcript"] if said["who"] == "agent"]
    assert lines[0] == introduction
    assert lines[1].startswith(opening)
    assert " ".join(lines).count(opening) == 1
    assert machine["reason"] == "answering_machine"
    assert opening not in str(machine["transcript"])
