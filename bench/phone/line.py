"""The demo agent reached in three ways on one server: by SIP, by a vendor's stream and by WebRTC."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import aiohttp

from bench.server import Server, running
from tests.telephone.peers import PUBLIC_URL, environment
from tests.telephone.sip_parts import GATEWAY_SECRET, HOST, PASSWORD, free_port, janus, pbx, until
from voiceagent.resources import demo_agent_file
from voiceagent.store.database import local_store
from voiceagent.store.records import CallFilter, find_calls
from voiceagent.store.schema import reading

VENDOR = "twilio"
MAX_CALLS = 24
CALLS_END_S = 15.0
AGENT = """
telephony:
  url: {url}
  vendors: [{vendor}]
  sip: {{account: "sip:agent@{host}:{pbx}", gateway: "ws://{host}:{janus}", calls: {calls}}}
admission: {{max_calls: {calls}}}
"""


@dataclass(frozen=True, slots=True)
class Line:
    """The server and the PBX for a caller."""

    server: Server
    pbx_port: int
    folder: Path


@asynccontextmanager
async def line(profile: str, greeting: str = "") -> AsyncIterator[Line]:
    """Run all of it. `greeting` takes the place of the demo's. Raises RuntimeError when the server does not come up."""
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        pbx_port, janus_port = free_port(), free_port(socket.SOCK_STREAM)
        _write_agent(
            folder,
            greeting,
            AGENT.format(url=PUBLIC_URL, vendor=VENDOR, host=HOST, pbx=pbx_port, janus=janus_port, calls=MAX_CALLS),
        )
        secrets = {"VOICEAGENT_SIP_PASSWORD": PASSWORD, "VOICEAGENT_JANUS_SECRET": GATEWAY_SECRET, **environment()}
        options = ("--config", str(folder / "agent.yaml"), "--profile", profile, "--event-logs", "100", "--log-level", "info")
        with mock.patch.dict("os.environ", secrets):
            async with pbx(folder, pbx_port), janus(folder / "janus", janus_port), running(*options) as server:
                log = server.data_dir / "server.log"
                await until(lambda: "is registered" in log.read_text())
                yield Line(server, pbx_port, folder)


def kept_calls(world: Line) -> set[str]:
    """The ids of the calls that are kept."""
    with reading(local_store(world.server.data_dir)) as database:
        return {call.call_id for call in find_calls(database, CallFilter())}


async def all_ended(world: Line) -> None:
    """Until the server carries no call: then its logs are whole. Raises TimeoutError."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(CALLS_END_S):
        while True:
            async with session.get(f"{world.server.url}/metrics") as response:
                if "voiceagent_calls_active 0" in await response.text():
                    return
            await asyncio.sleep(0.1)


def _write_agent(folder: Path, greeting: str, more: str) -> None:
    demo = demo_agent_file().parent
    shutil.copytree(demo, folder, dirs_exist_ok=True)
    text = (demo / "agent.yaml").read_text()
    if greeting:
        text = text.replace("Hello, how can I help you?", greeting)
    (folder / "agent.yaml").write_text(text.replace("\nturn:\n", "\nturn:\n  silence_timeout_s: 120\n") + more)
