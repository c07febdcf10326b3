"""Real parts of a telephone network on loopback: Janus with the shipped configuration, kamailio as the PBX or trunk, baresip as
the phone."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs import program

JANUS = Path(__file__).resolve().parents[2] / "deploy" / "janus"
HOST = "127.0.0.1"
PASSWORD = "north-by-northwest"
GATEWAY_SECRET = "harbour"
WEBHOOK_SECRET = "whsec_bm9ydGgtYnktbm9ydGh3ZXN0"
STARTS_S = 20.0
RATE_HZ = 8_000
KAMAILIO = f"""#!KAMAILIO
debug=1
log_stderror=yes
children=2
listen=udp:{HOST}:@PORT@
alias=pbx.test
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "maxfwd.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "auth.so"
modparam("rr", "enable_full_lr", 1)
modparam("registrar", "min_expires", 5)
request_route {{
  if (!mf_process_maxfwd_header("10")) {{ sl_send_reply("483", "Too Many Hops"); exit; }}
  if (is_method("REGISTER")) {{
    if (!pv_auth_check("pbx.test", "{PASSWORD}", "0", "0")) {{ auth_challenge("pbx.test", "0"); exit; }}
    save("location");
    exit;
  }}
  if (has_totag()) {{
    if (loose_route()) {{ t_relay(); exit; }}
    if (is_method("ACK")) {{ if (t_check_trans()) t_relay(); exit; }}
    sl_send_reply("404", "Not Here"); exit;
  }}
  if (is_method("CANCEL")) {{ if (t_check_trans()) t_relay(); exit; }}
  if (is_method("INVITE")) {{
    record_route();
    if ($rU == "busy") {{ sl_send_reply("486", "Busy Here"); exit; }}
    if ($fU == "diverted") {{
      append_hf("Diversion: <sip:300@pbx.test>;reason=no-answer\\r\\n");
      append_hf("P-Asserted-Identity: <sip:ann@pbx.test>\\r\\n");
    }}
    if ($rU == "declines") {{ sl_send_reply("603", "Decline"); exit; }}
    if ($fU == "agent" && !pv_auth_check("pbx.test", "{PASSWORD}", "0", "0")) {{ auth_challenge("pbx.test", "0"); exit; }}
  }}
  if (!lookup("location")) {{ sl_send_reply("404", "Not Found"); exit; }}
  t_relay();
}}
"""
PHONE = f"""poll_method epoll
sip_listen {HOST}:@SIP@
audio_player aufile,@FOLDER@/played.wav
audio_source aufile,@FOLDER@/silence.wav
audio_alert aufile,@FOLDER@/alert.wav
audio_path @FOLDER@
ausrc_srate 8000
auplay_srate 8000
ausrc_channels 1
auplay_channels 1
ausrc_format s16
auplay_format s16
auenc_format s16
audec_format s16
audio_buffer 20-160
rtp_ports @RTP@
net_interface {HOST}
module_path /usr/lib/baresip/modules
module g711.so
module aufile.so
module sndfile.so
module uuid.so
module_tmp account.so
module_app menu.so
module_app ctrl_tcp.so
ctrl_tcp_listen {HOST}:@CONTROL@
snd_path @FOLDER@
"""

ECHOES = (
    "audio_player aufile,@FOLDER@/played.wav\naudio_source aufile,@FOLDER@/silence.wav",
    "audio_player aubridge,room\naudio_source aubridge,room\nmodule aubridge.so",
)


def free_port(kind: socket.SocketKind = socket.SOCK_DGRAM) -> int:
    """A port of loopback that nobody has now, below those that the system gives to any socket (from 32768 on): it is still free
    when the program that is to have it has started."""
    while True:
        port = random.randrange(10_000, 20_000)
        with socket.socket(socket.AF_INET, kind) as reserved, suppress(OSError):
            reserved.bind((HOST, port))
            return port


def some_ports(many: int) -> str:
    """A range that is probably free."""
    first = random.randrange(20_000, 32_000 - many, 2)
    return f"{first}-{first + many - 1}"


@asynccontextmanager
async def process(log: Path, *command: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program, ended at the end; what it says goes into `log`."""
    with log.open("a") as file:
        started = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.terminate()
            try:
                await asyncio.wait_for(started.wait(), 5)
            except TimeoutError:
                started.kill()
                await started.wait()
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)  # children that kamailio left behind


async def until(condition: Callable[[], bool], timeout_s: float = STARTS_S) -> None:
    """Wait for what tells nobody when it changes: a program's files."""
    async with asyncio.timeout(timeout_s):
        while True:
            if condition():
                return
            await asyncio.sleep(0.03)


async def connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a port of loopback, once it takes one."""
    async with asyncio.timeout(STARTS_S):
        while True:
            try:
                return await asyncio.open_connection(HOST, port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)


@asynccontextmanager
async def janus(folder: Path, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """Janus as its container starts it, listening on `port`."""
    program("janus", "janus")
    environment = _janus_environment(folder, port)
    async with process(folder / "janus.log", "sh", str(JANUS / "start.sh"), **environment) as started:
        (await connected(port))[1].close()
        yield started


def _janus_environment(folder: Path, port: int) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    secret = folder / "secret"
    secret.write_text(GATEWAY_SECRET)
    return {
        "JANUS_SECRET_FILE": str(secret),
        "JANUS_CONFIGURATION": str(JANUS),
        "JANUS_RUN_FOLDER": str(folder / "run"),
        "JANUS_LOCAL_ADDRESS": HOST,
        "JANUS_PUBLIC_ADDRESS": HOST,
        "JANUS_PORT": str(port),
        "JANUS_MEDIA_PORTS": some_ports(200),
        "JANUS_SIP_PORTS": some_ports(200),
    }


async def answers_sip(port: int) -> None:
    """Wait until a SIP server answers on a port of loopback."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.bind((HOST, 0))
        asking.setblocking(False)
        via = f"{HOST}:{asking.getsockname()[1]}"
        message = (
            f"OPTIONS sip:{HOST}:{port} SIP/2.0\r\nVia: SIP/2.0/UDP {via};branch=z9hG4bK1\r\nFrom: <sip:t@{via}>;tag=1\r\n"
            f"To: <sip:{HOST}>\r\nCall-ID: probe\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 5\r\nContent-Length: 0\r\n\r\n"
        ).encode()
        async with asyncio.timeout(STARTS_S):
            while True:
                await loop.sock_sendto(asking, message, (HOST, port))
                try:
                    await asyncio.wait_for(loop.sock_recv(asking, 4096), 0.2)
                except (TimeoutError, ConnectionRefusedError):
                    continue
                return


@asynccontextmanager
async def pbx(folder: Path, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """kamailio, that knows who registers with the password, calls `busy` busy, and has `declines` decline."""
    program("kamailio", "kamailio")
    configuration = folder / "kamailio.cfg"
    configuration.write_text(KAMAILIO.replace("@PORT@", str(port)))
    command = ("kamailio", "-f", str(configuration), "-DD", "-E", "-m", "32", "-M", "4", "-w", str(folder), "-Y", str(folder))
    async with process(folder / "kamailio.log", *command) as started:
        await answers_sip(port)
        yield started


def write_wav(path: Path, pcm: np.ndarray) -> None:
    """Mono, 8 kHz."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
        file.writeframes(pcm.astype("<i2").tobytes())


def read_wav(path: Path) -> np.ndarray:
    """What was recorded; a file that is still being written, too."""
    data = path.read_bytes()
    return np.frombuffer(data[44 : len(data) // 2 * 2], "<i2")


class Phone:
    """baresip. `events` are what it told; `heard` and `spoken` what went through it since its call began."""

    def __init__(self, folder: Path, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.name = name
        self.folder = folder
        self.events: list[dict[str, Any]] = []
        self._reader = reader
        self.process: asyncio.subprocess.Process
        self._writer = writer
        self._changed = asyncio.Event()
        self._clips = 0

    async def listen(self) -> None:
        while True:
            size = int((await self._reader.readuntil(b":"))[:-1])
            message = json.loads(await self._reader.readexactly(size))
            await self._reader.readexactly(1)
            if message.get("event"):
                self.events.append(message)
                self._changed.set()

    async def do(self, command: str, params: str = "") -> None:
        """One of baresip's commands."""
        text = json.dumps({"command": command, "params": params, "token": "1"}).encode()
        self._writer.write(b"%d:%s," % (len(text), text))
        await self._writer.drain()

    def kill(self) -> None:
        """End it now: it would wait until somebody has answered its last requests."""
        self.process.kill()

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Its events of a kind."""
        return [event for event in self.events if event["type"] == kind]

    async def wait(self, condition: Callable[[], bool], timeout_s: float = 15.0) -> None:
        """Until something that it tells makes `condition` true."""
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            told = [(event["type"], event.get("param")) for event in self.events]
            raise AssertionError(f"{self.name} has told no more than {told}") from error

    async def wait_told(self, kind: str, many: int = 1) -> None:
        """Until it has told so many events of a kind."""
        await self.wait(lambda: len(self.told(kind)) >= many)

    async def wait_heard(self, condition: Callable[[np.ndarray], bool], timeout_s: float = 30.0) -> np.ndarray:
        """Until what it has heard so far makes `condition` true; the recording grows, and tells nobody."""
        await until(lambda: condition(self.heard()), timeout_s)
        return self.heard()

    async def say(self, pcm: np.ndarray) -> None:
        """Speak, at 8 kHz; then be silent."""
        self._clips += 1
        clip = self.folder / f"clip{self._clips}.wav"
        write_wav(clip, np.concatenate([pcm, np.zeros(RATE_HZ * 90, np.int16)]))
        await self.do("ausrc", f"aufile,{clip}")

    def heard(self) -> np.ndarray:
        return self._recorded("dec")

    def spoken(self) -> np.ndarray:
        return self._recorded("enc")

    def _recorded(self, direction: str) -> np.ndarray:
        files = sorted(self.folder.glob(f"dump-*-{direction}.wav"), key=lambda file: file.stat().st_mtime)
        return read_wav(files[-1]) if files else np.zeros(0, np.int16)


@asynccontextmanager
async def phone(folder: Path, name: str, pbx_port: int, *, answers: bool = False, echoes: bool = False) -> AsyncIterator[Phone]:
    """A phone that is registered as `name`; one that `answers` takes each call at once, one that `echoes` has its loudspeaker
    at its microphone."""
    program("baresip", "baresip-core")
    folder = folder / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_wav(folder / "silence.wav", np.zeros(RATE_HZ * 120, np.int16))
    write_wav(folder / "alert.wav", np.zeros(RATE_HZ, np.int16))
    control = free_port(socket.SOCK_STREAM)
    settings = PHONE.replace(*ECHOES) if echoes else PHONE
    for key, value in {"SIP": free_port(), "RTP": some_ports(40), "CONTROL": control, "FOLDER": folder}.items():
        settings = settings.replace(f"@{key}@", str(value))
    (folder / "config").write_text(settings)
    mode = "auto" if answers else "manual"
    server = f'"sip:{HOST}:{pbx_port};transport=udp"'
    (folder / "accounts").write_text(
        f"<sip:{name}@{HOST}:{pbx_port};transport=udp>;regint=300;auth_user={name};auth_pass={PASSWORD};outbound={server}"
        f";audio_codecs=PCMU;answermode={mode}\n"
    )
    async with process(folder / "baresip.log", "baresip", "-f", str(folder)) as started:
        reader, writer = await connected(control)
        made = Phone(folder, name, reader, writer)
        made.process = started
        listens = asyncio.create_task(made.listen())
        try:
            await until(lambda: "200 OK" in (folder / "baresip.log").read_text())  # perhaps before it can tell
            yield made
        finally:
            listens.cancel()
            await asyncio.gather(listens, return_exceptions=True)
            writer.close()
