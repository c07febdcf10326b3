"""The subjects and findings of the checks of `voiceagent doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from voiceagent.llm.servers.recognition import api_address
from voiceagent.models.choice import choose_profile, registry_of, with_own_models
from voiceagent.models.registry import Registry
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import AgentConfig, load_agent

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    name: str
    status: Status
    detail: str
    """The finding, in one line."""
    advice: str = ""
    """The remedy; empty when nothing need be done, or when `detail` says it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the server would be started with."""

    host: str = "127.0.0.1"
    port: int = 8080
    config: Path | None = None
    budgets: Path | None = None
    profile: str = ""
    """Empty: the one that the agent's configuration names."""
    stt: str = ""
    """The path of a recogniser in place of the agent's; so for `llm` and `tts`."""
    llm: str = ""
    tts: str = ""
    llm_url: str = ""
    """A language model server in place of the agent's language model."""
    llm_model: str = ""


class Served:
    """The agent and parts that would be served with these settings. Each part is read when it is first asked for."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.is_silent = False
        """True if the language model was found not to answer."""

    @cached_property
    def agent(self) -> AgentConfig:
        """The agent, with the profile that is asked for. Raises ConfigError."""
        asked = self.settings
        loaded = with_own_models(load_agent(asked.config or demo_agent_file()), asked.stt, asked.llm, asked.tts)
        if asked.llm_url or asked.llm_model:
            base_url = ",".join(map(api_address, filter(None, asked.llm_url.split(",")))) or loaded.llm.base_url
            own = {"engine": "", "path": ""} if asked.llm_url else {}
            llm = msgspec.structs.replace(loaded.llm, base_url=base_url, model=asked.llm_model or loaded.llm.model, **own)
            loaded = msgspec.structs.replace(loaded, llm=llm)
        return msgspec.structs.replace(loaded, profile=asked.profile or loaded.profile)

    @cached_property
    def known(self) -> Registry:
        """The agent's registry. Raises ConfigError."""
        return registry_of(self.agent)

    @cached_property
    def chosen(self) -> tuple[AgentConfig, str]:
        """The agent with the profile that answers, and why that is not the first choice. Raises ConfigError, ModelError."""
        name, why = choose_profile(self.agent, self.known)
        return msgspec.structs.replace(self.agent, profile=name), why


Found = tuple[Status, str, str]
"""One outcome: its status, the finding, in one line, and the remedy; empty when nothing need be done, or when it was said."""


@dataclass(frozen=True, slots=True)
class Check:
    """A look at one thing that the server needs."""

    name: str
    run: Callable[[Served], Iterable[Found]]
    needs: tuple[str, ...] = ()
    """The checks without which it could only repeat what they said."""
