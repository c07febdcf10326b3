"""The process of the service: loads an agent's recogniser and voice, listens, and ends when it is asked to. Other machines may
ask only with a key."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from voiceagent.addresses import is_loopback
from voiceagent.engines import load_recogniser, load_tts
from voiceagent.errors import ConfigError
from voiceagent.inference.address import DEFAULT_PORT, KEY_VARIABLE, MAX_MESSAGE_BYTES
from voiceagent.inference.connection import grpc
from voiceagent.model_server.hosted import HostedModel, HostedRecogniser, HostedVoice
from voiceagent.model_server.service import InferenceService
from voiceagent.models.registry import Profile, Registry
from voiceagent.server.access.key_ring import MIN_KEY_CHARACTERS
from voiceagent.settings.agent import AgentConfig
from voiceagent.tts.engine import TtsEngine
from voiceagent.turn_taking.spoken_language import AUTO

log = logging.getLogger(__name__)

STT, TTS = "stt", "tts"
"""The names of the models."""
MAX_REQUESTS = 512
"""Requests at a time; one more is refused as too much."""
DRAIN_S = 10.0
"""The longest that running requests may still take once the server is asked to end."""
_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The address on which the service listens, its keys, and its certificate."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    """0: any free one."""
    socket: str = ""
    """The path of a UNIX socket, in place of a host and a port: who may ask follows from the rights of its folder."""
    keys: tuple[str, ...] = ()
    certificate: bytes = b""
    """PEM; empty: no TLS."""
    private_key: bytes = b""

    def require_safe(self) -> None:
        """Raises ConfigError where other machines could ask without a key, or with one that can be guessed."""
        if self.socket or is_loopback(self.host):
            return
        if not self.keys:
            raise ConfigError(
                f"--host {self.host} lets other machines use these models, but there is no key; set {KEY_VARIABLE} to one here "
                "and where the calls are, such as from: openssl rand -hex 24, or use --host 127.0.0.1"
            )
        if min(map(len, self.keys)) < MIN_KEY_CHARACTERS:
            raise ConfigError(f"a key in {KEY_VARIABLE} could be guessed; expected at least {MIN_KEY_CHARACTERS} characters")


async def load_models(
    profile: Profile, agent: AgentConfig, known: Registry, kinds: Sequence[str] = (STT, TTS), voices: int = 1
) -> list[HostedModel]:
    """Load an agent's recogniser and so many copies of its voice, off the event loop. Raises ModelError, ConfigError."""
    loaded: list[HostedModel] = []
    if STT in kinds:
        recogniser = await asyncio.to_thread(load_recogniser, profile, agent, known)
        languages = agent.spoken_languages if agent.language == AUTO else ()
        loaded.append(HostedRecogniser(STT, recogniser, agent.language, languages))
    if TTS in kinds:
        spec = profile.tts.with_options(agent.options.tts)
        copies: list[TtsEngine] = [await asyncio.to_thread(load_tts, spec, known) for _ in range(voices)]
        loaded.append(HostedVoice(TTS, copies))
    return loaded


async def serve(
    models: Sequence[HostedModel],
    address: ListenAddress,
    *,
    on_ready: Callable[[str], None] = lambda url: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Answer requests until `stop` is set, or, without it, SIGINT or SIGTERM comes; then let those that run end. `on_ready` is
    given the service's address. The models are closed. Raises ConfigError for an address that cannot be used."""
    address.require_safe()
    signals = () if stop else (signal.SIGINT, signal.SIGTERM)
    stop = stop or asyncio.Event()
    service = InferenceService(models, address.keys)
    server = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=MAX_REQUESTS)
    server.add_generic_rpc_handlers((service.handler(),))
    loop = asyncio.get_running_loop()
    try:
        port = _listen(server, address)
        await server.start()
        for number in signals:
            loop.add_signal_handler(number, stop.set)
        scheme = "grpcs" if address.certificate else "grpc"
        on_ready(f"unix://{address.socket}" if address.socket else f"{scheme}://{_bracketed(address.host)}:{port}")
        await stop.wait()
    finally:
        service.ready = False
        await server.stop(DRAIN_S)
        for model in models:
            await model.close()
        for number in signals:
            loop.remove_signal_handler(number)


def _listen(server: grpc.aio.Server, address: ListenAddress) -> int:
    place = f"unix:{address.socket}" if address.socket else f"{_bracketed(address.host)}:{address.port}"
    try:
        if not address.certificate:
            return server.add_insecure_port(place)
        credentials = grpc.ssl_server_credentials([(address.private_key, address.certificate)])
        return server.add_secure_port(place, credentials)
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"cannot listen on {place}; is the port taken, or the address of another machine?") from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def certificate_files(certificate: str, key: str) -> tuple[bytes, bytes]:
    """The certificate and its private key (PEM); empty where none is named. Raises ConfigError."""
    if not certificate:
        if key:
            raise ConfigError(f"a private key is named ({key}), but no certificate; name it by --tls-cert")
        return b"", b""
    found = []
    for file in (certificate, key or certificate):
        try:
            found.append(Path(file).read_bytes())
        except OSError as error:
            raise ConfigError(f"{file}: cannot be read ({error.strerror}); expected a PEM file") from error
    return found[0], found[1]
