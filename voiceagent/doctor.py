"""What works on this machine, and what to do about what does not. Each check looks at one thing that the server needs, and
reports it in one line. The checks run no engine for long and change nothing."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from voiceagent.audio import opus
from voiceagent.audio.voice_processing import EXTRA, PACKAGE, is_installed
from voiceagent.config import AgentConfig, data_dir, load_agent, models_cache_dir
from voiceagent.errors import VoiceAgentError
from voiceagent.latency.budget_file import load_budgets
from voiceagent.media.audio_cleaner import check_cleaning
from voiceagent.media.ice import IceServers
from voiceagent.models.checksums import check_sums
from voiceagent.models.choice import choose_profile, profile_of, registry_of
from voiceagent.models.fitness import unfit
from voiceagent.models.registry import Registry, size_text
from voiceagent.redaction import redacted
from voiceagent.resources import bundled_models_dir, default_budgets_file, demo_agent_file, web_dir
from voiceagent.server.auth import check_exposure, keys_from_environment
from voiceagent.telephony.janus_client import probe
from voiceagent.telephony.sip_settings import Trunk
from voiceagent.tools.settings import ToolEntry
from voiceagent.tools.toolset import ToolSet

Status = Literal["ok", "warn", "fail"]
UDP_TIMEOUT_S = 2.0
MIN_CORES = 2
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    name: str
    status: Status
    detail: str
    """What was found, in one line."""
    advice: str = ""
    """What to do about it; empty when nothing need be done, or when `detail` says it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the server would be started with."""

    host: str = "127.0.0.1"
    port: int = 8080
    config: Path | None = None
    budgets: Path | None = None
    profile: str = ""
    """Empty: the one that the agent's configuration names."""


def examine(settings: Settings) -> Iterator[Finding]:
    """Run every check in turn; none raises."""
    for name, check in CHECKS:
        try:
            yield check(name, settings)
        except VoiceAgentError as error:
            # Such a message ends with what to do.
            yield Finding(name, "fail", redacted(" ".join(str(error).split())))
        except (OSError, ImportError, ValueError) as error:
            detail = redacted(f"{type(error).__name__}: {' '.join(str(error).split())}")
            yield Finding(name, "fail", detail, "install voiceagent again (in a checkout: make clean setup)")


def _python(name: str, settings: Settings) -> Finding:
    return Finding(name, "ok", f"{platform.python_version()} in {sys.prefix}")


def _processors(name: str, settings: Settings) -> Finding:
    cores = len(os.sched_getaffinity(0))
    if cores < MIN_CORES:
        return Finding(name, "warn", f"{cores} core", "calls will miss their budgets: give the server two cores or more")
    return Finding(name, "ok", f"{cores} cores")


def _opus(name: str, settings: Settings) -> Finding:
    encoder, decoder = opus.Encoder(), opus.Decoder()
    decoder.decode(encoder.encode(np.zeros(480, np.int16)))
    return Finding(name, "ok", opus.version())


def _espeak(name: str, settings: Settings) -> Finding:
    from piper.phonemize_espeak import EspeakPhonemizer

    sentences = EspeakPhonemizer().phonemize("en-us", "hello")
    if not any(sentences):
        return Finding(name, "fail", "espeak-ng found no phonemes in 'hello'", "install piper-tts again")
    return Finding(name, "ok", f"piper-tts {importlib.metadata.version('piper-tts')} phonemises")


def _language_model(name: str, settings: Settings) -> Finding:
    import onnxruntime_genai

    return Finding(name, "ok", f"onnxruntime-genai {onnxruntime_genai.__version__}")


def _bundled(name: str, settings: Settings) -> Finding:
    problems = check_sums(bundled_models_dir())
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Finding(name, "fail", problems[0] + more, "install voiceagent again; in a checkout: git checkout models/bundled")
    return Finding(name, "ok", f"present and unchanged in {bundled_models_dir()}")


def _agent(settings: Settings) -> AgentConfig:
    return load_agent(settings.config or demo_agent_file())


def _config(name: str, settings: Settings) -> Finding:
    path = settings.config or demo_agent_file()
    agent = _agent(settings)
    tools = ToolSet.from_config(agent.tools, agent.base_dir)
    IceServers.from_settings(agent.ice)
    return Finding(name, "ok", f"{path}: agent {agent.name!r}, {len(tools.names)} tools")


def _chosen(settings: Settings) -> tuple[AgentConfig, Registry, str]:
    """The agent with the profile that answers, the registry, and why it is not the first choice."""
    agent = _agent(settings)
    if settings.profile:
        agent = msgspec.structs.replace(agent, profile=settings.profile)
    known = registry_of(agent)
    chosen, why = choose_profile(agent, known)
    return msgspec.structs.replace(agent, profile=chosen), known, why


def _budgets(name: str, settings: Settings) -> Finding:
    path = settings.budgets or default_budgets_file()
    budgets = load_budgets(path)
    agent, known, _ = _chosen(settings)
    budgets.extended(agent.profile, known.profile(agent.profile).budgets).of(agent.profile)
    return Finding(name, "ok", str(path))


def _profile(name: str, settings: Settings) -> Finding:
    agent, known, why = _chosen(settings)
    profile = profile_of(agent, known)
    known.require(profile)
    own = [f"its {kind} is {spec.path}" for kind, spec in profile.every_spec if spec.path]
    detail = "; ".join([f"{profile.name}: {profile.description}", *own])
    return Finding(name, "warn", detail, why) if why else Finding(name, "ok", detail)


def _judges(name: str, settings: Settings) -> Finding:
    agent, known, _ = _chosen(settings)
    there = [spec.model or Path(spec.path).name or spec.engine for spec in profile_of(agent, known).turn]
    return Finding(name, "ok", ", ".join(there) or "none: words and voice alone say when the caller has finished")


def _profiles(name: str, settings: Settings) -> Finding:
    known, cache = _chosen(settings)[1], models_cache_dir()
    missing = {profile.name: known.missing(profile, cache) for profile in known.profiles.values()}
    here = [name for name, models in missing.items() if not models]
    others = [f"{name} ({size_text(sum(model.size_bytes for model in models))})" for name, models in missing.items() if models]
    fetch = f"; `voiceagent models pull --profile NAME` fetches {', '.join(others)}" if others else ""
    return Finding(name, "ok", f"{', '.join(here)} {'is' if len(here) == 1 else 'are'} here{fetch}")


def _fitness(name: str, settings: Settings) -> Finding:
    agent = _chosen(settings)[0]
    found = unfit(agent, ToolSet.from_config(agent.tools, agent.base_dir).schemas())
    if any(isinstance(entry, ToolEntry) and entry.mcp is not None for entry in agent.tools):
        return Finding(name, "ok", "told when the server starts: MCP servers tell their tools only then")
    if found is not None:
        return Finding(name, "warn", found.problem, found.advice)
    return Finding(name, "ok", "the language model was made for this agent, or for any")


def _udp(name: str, settings: Settings) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        here.bind(("127.0.0.1", 0))
        here.settimeout(UDP_TIMEOUT_S)
        there.sendto(b"voiceagent", here.getsockname())
        if here.recv(64) != b"voiceagent":
            return Finding(name, "fail", "a datagram changed on its way", "look at the machine's firewall")
    return Finding(name, "ok", "datagrams pass on the loopback address; callers elsewhere need the server's UDP ports open")


def _cleaning(name: str, settings: Settings) -> Finding:
    media = _agent(settings).media
    kinds = {"media.webrtc": media.webrtc, "media.telephone": media.telephone}
    for key, cleaning in kinds.items():
        check_cleaning(cleaning, key)
    wanted = [key for key, cleaning in kinds.items() if cleaning.is_wanted]
    if wanted:
        return Finding(name, "ok", f"{PACKAGE} {importlib.metadata.version(PACKAGE)} cleans the audio of {', '.join(wanted)}")
    there = "is here" if is_installed() else f"comes with {EXTRA}"
    return Finding(name, "ok", f"callers' audio is heard as it comes; what can clean it {there}")


def _janus(name: str, settings: Settings) -> Finding:
    sip = _agent(settings).telephony.sip
    if sip is None:
        return Finding(name, "ok", "no SIP trunk or PBX is configured")
    trunk = Trunk.from_settings(sip)
    asyncio.run(probe(sip.gateway, trunk.gateway_secret))
    return Finding(name, "ok", f"Janus answers at {sip.gateway}, with its SIP plugin, for {sip.account}")


def _keys(name: str, settings: Settings) -> Finding:
    keys = keys_from_environment()
    check_exposure(settings.host, keys)
    return Finding(name, "ok", f"{len(keys)} that clients may present" if keys else "none: this machine's programs need none")


def _port(name: str, settings: Settings) -> Finding:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            advice = f"end the program that has it, or choose another: voiceagent serve --port {settings.port + 1}"
            return Finding(name, "fail", f"{settings.host}:{settings.port} cannot be used ({error.strerror})", advice)
    return Finding(name, "ok", f"{settings.host}:{settings.port} is free")


def _microphone(name: str, settings: Settings) -> Finding:
    if settings.host in ("127.0.0.1", "::1", "localhost"):
        return Finding(name, "ok", "it is the browser's; pages from this machine may use it without HTTPS")
    advice = "put a proxy with a certificate in front of the server"
    return Finding(name, "warn", f"browsers refuse it to pages from {settings.host} without HTTPS", advice)


def _page(name: str, settings: Settings) -> Finding:
    page = web_dir() / "index.html"
    if not page.is_file():
        return Finding(name, "fail", f"{page} is missing", "install voiceagent again")
    return Finding(name, "ok", str(page.parent))


def _data(name: str, settings: Settings) -> Finding:
    folder = data_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        advice = "turns will not be kept for `voiceagent report`: make it writable or set $VOICEAGENT_DATA"
        return Finding(name, "warn", f"{folder} is not writable ({error.strerror})", advice)
    return Finding(name, "ok", f"turns are kept in {folder}, pulled models in {models_cache_dir()}")


def _browser(name: str, settings: Settings) -> Finding:
    found = next((path for browser in BROWSERS if (path := shutil.which(browser))), None)
    if found is None:
        return Finding(name, "warn", "no Chromium", "only the browser tests need it: make browser, or apt-get install chromium")
    return Finding(name, "ok", found)


CHECKS: tuple[tuple[str, Callable[[str, Settings], Finding]], ...] = (
    ("Python", _python),
    ("processors", _processors),
    ("Opus", _opus),
    ("espeak-ng", _espeak),
    ("language model engine", _language_model),
    ("bundled models", _bundled),
    ("agent", _config),
    ("profile", _profile),
    ("turn judges", _judges),
    ("language model and agent", _fitness),
    ("models of profiles", _profiles),
    ("latency budgets", _budgets),
    ("UDP", _udp),
    ("noise and echo", _cleaning),
    ("SIP gateway", _janus),
    ("keys", _keys),
    ("port", _port),
    ("page", _page),
    ("microphone", _microphone),
    ("data folder", _data),
    ("browser for tests", _browser),
)
"""The checks in the order in which they are reported."""
