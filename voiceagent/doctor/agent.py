"""Checks of the agent that would be served. The last one starts it as `serve` does."""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from voiceagent.agent_service import AgentService, silent_model
from voiceagent.audio.voice_processing import EXTRA, PACKAGE, is_installed
from voiceagent.doctor.finding import Check, Found, Served
from voiceagent.engines import load_llm
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.latency.budgets import load_budgets
from voiceagent.llm.engine import LlmEngine, check
from voiceagent.loaded_agent import Weakness
from voiceagent.media.audio_cleaner import check_cleaning
from voiceagent.media.webrtc.ice import IceServers
from voiceagent.models.choice import profile_of
from voiceagent.models.fitness import foreign_models, unfit
from voiceagent.models.llm_server import find_llm_server
from voiceagent.models.registry import size_text
from voiceagent.resources import default_budgets_file, demo_agent_file
from voiceagent.settings.agent import AgentConfig, models_cache_dir
from voiceagent.telephone.sip.janus_client import probe
from voiceagent.telephone.sip.line import Trunk
from voiceagent.tools.settings import ToolEntry
from voiceagent.tools.toolset import ToolSet


def _config(served: Served) -> Iterable[Found]:
    agent = served.agent
    tools = ToolSet.from_config(agent.tools, agent.base_dir)
    IceServers.from_settings(agent.ice)
    return [("ok", f"{served.settings.config or demo_agent_file()}: agent {agent.name!r}, {len(tools.names)} tools", "")]


def _profile(served: Served) -> Iterable[Found]:
    agent, why = served.chosen
    profile = profile_of(agent, served.known)
    served.known.require(profile)
    own = [f"its {kind} is {spec.path}" for kind, spec in profile.every_spec if spec.path]
    return [("warn" if why else "ok", "; ".join([f"{profile.name}: {profile.description}", *own]), why)]


def _fitness(served: Served) -> Iterable[Found]:
    agent, _ = served.chosen
    if any(isinstance(entry, ToolEntry) and entry.mcp is not None for entry in agent.tools):
        return [("ok", "looked at when the agent is started, below: MCP servers tell their tools only then", "")]
    found = unfit(agent, ToolSet.from_config(agent.tools, agent.base_dir).schemas())
    if found is not None:
        return [("warn", found.problem, found.advice)]
    return [("ok", "the language model was made for this agent, or for any", "")]


def _languages(served: Served) -> Iterable[Found]:
    agent, _ = served.chosen
    lines = foreign_models(agent, profile_of(agent, served.known), served.known)
    return [("warn", line, "") for line in lines] or [("ok", f"every model was made for {', '.join(agent.spoken_languages)}", "")]


def _budgets(served: Served) -> Iterable[Found]:
    try:
        path = served.settings.budgets or served.agent.budgets_file
    except ConfigError:  # the check of the agent tells it
        path = default_budgets_file()
    load_budgets(path)
    return [("ok", str(path), "")]


def _server(served: Served) -> Iterable[Found]:
    agent, _ = served.chosen
    spec = profile_of(agent, served.known).llm
    if spec.is_local and not agent.llm.base_url:
        return [("ok", "none: the language model runs in voiceagent's own process", "")]
    alone = msgspec.structs.replace(agent.llm, fallback="")
    try:
        asyncio.run(_ask(load_llm(spec, alone, agent.options.llm, served.known)))
    except EngineError as error:
        served.is_silent = True
        advice = f"until then the fallback, {agent.llm.fallback}, answers" if agent.llm.fallback else ""
        return [("warn" if advice else "fail", silent_model(error).problem, advice)]
    return [("ok", "it answers, takes the key and has the model", ""), *(_abilities(agent) if agent.llm.base_url else ())]


def _abilities(agent: AgentConfig) -> Iterator[Found]:
    """The limits of the language model's server, by trying it."""
    try:
        _, found = asyncio.run(find_llm_server(agent, agent.llm.base_url, agent.llm.model))
        found.require_tools(agent)
    except ModelError as error:
        yield "fail", str(error), ""
    except EngineError as error:
        yield "warn", f"what it cannot do was not found out: {error}", ""
    else:
        yield "ok", str(found.server), ""
        for line in found.lines:
            yield "warn", line, ""


async def _ask(llm: LlmEngine) -> None:
    try:
        await check(llm)
    finally:
        await llm.close()


def _judges(served: Served) -> Iterable[Found]:
    agent, _ = served.chosen
    there = [spec.model or Path(spec.path).name or spec.engine for spec in profile_of(agent, served.known).turn]
    return [("ok", ", ".join(there) or "none: words and voice alone say when the caller has finished", "")]


def _profiles(served: Served) -> Iterable[Found]:
    known, cache = served.known, models_cache_dir()
    missing = {profile.name: known.missing(profile, cache) for profile in known.profiles.values()}
    here = [name for name, models in missing.items() if not models]
    others = [f"{name} ({size_text(sum(model.size_bytes for model in models))})" for name, models in missing.items() if models]
    fetch = f"; `voiceagent models pull --profile NAME` fetches {', '.join(others)}" if others else ""
    return [("ok", f"{', '.join(here)} {'is' if len(here) == 1 else 'are'} here{fetch}", "")]


def _cleaning(served: Served) -> Iterable[Found]:
    media = served.agent.media
    kinds = {"media.webrtc": media.webrtc, "media.telephone": media.telephone}
    for key, cleaning in kinds.items():
        check_cleaning(cleaning, key)
    wanted = [key for key, cleaning in kinds.items() if cleaning.is_wanted]
    if wanted:
        return [("ok", f"{PACKAGE} {importlib.metadata.version(PACKAGE)} cleans the audio of {', '.join(wanted)}", "")]
    there = "is here" if is_installed() else f"comes with {EXTRA}"
    return [("ok", f"callers' audio is heard as it comes; what can clean it {there}", "")]


def _janus(served: Served) -> Iterable[Found]:
    sip = served.agent.telephony.sip
    if sip is None:
        return [("ok", "no SIP trunk or PBX is configured", "")]
    trunk = Trunk.from_settings(sip)
    asyncio.run(probe(sip.gateway, trunk.gateway_secret))
    return [("ok", f"Janus answers at {sip.gateway}, with its SIP plugin, for {sip.account}", "")]


def _start(served: Served) -> Iterator[Found]:
    """Start the agent as `serve` does, and stop it at once. Raises what would keep the server from starting."""
    agent, _ = served.chosen
    found: list[Weakness] = []
    budgets = load_budgets(served.settings.budgets or agent.budgets_file)
    limits = budgets.extended(agent.profile, profile_of(agent, served.known).budgets)
    asyncio.run(_start_and_stop(AgentService(agent, limits, tell=found.append)))
    for weakness in found:
        if not (weakness.is_failure and served.is_silent):
            yield "fail" if weakness.is_failure else "warn", weakness.problem, weakness.advice
    if not any(weakness.is_failure for weakness in found):
        yield "ok", "the agent starts, and its models hear, answer and speak", ""


async def _start_and_stop(service: AgentService) -> None:
    async with service.service().load():
        pass


AGENT = (
    Check("agent", _config),
    Check("profile", _profile, needs=("agent",)),
    Check("turn judges", _judges, needs=("profile",)),
    Check("language model and agent", _fitness, needs=("profile",)),
    Check("languages", _languages, needs=("profile",)),
    Check("models of profiles", _profiles, needs=("agent",)),
    Check("latency budgets", _budgets),
    Check("noise and echo", _cleaning, needs=("agent",)),
    Check("SIP gateway", _janus, needs=("agent",)),
    Check("language model's server", _server, needs=("profile",)),
    Check("start", _start, needs=("profile", "latency budgets", "noise and echo", "bundled models")),
)
