"""The language model server that an operator names: recognised, tried out, and set in the agent's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from voiceagent.errors import ConfigError, ModelError
from voiceagent.llm.servers.recognition import RecognisedServer, recognise
from voiceagent.settings.agent import AgentConfig

if TYPE_CHECKING:
    from voiceagent.llm.servers.abilities import Abilities


@dataclass(frozen=True, slots=True)
class LlmServer:
    """A language model server, and what it cannot do."""

    server: RecognisedServer
    abilities: Abilities

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each thing that it cannot do."""
        return tuple(f"{self.server.model_name} {limit}" for limit in self.abilities.cannot)

    def require_tools(self, agent: AgentConfig) -> None:
        """Make sure that an agent with tools gets none of a server that refuses every request with tools. Raises ModelError."""
        if not self.abilities.has_tools and (agent.tools or agent.steps or agent.end_call):
            refusal = next(limit for limit in self.abilities.cannot if limit.startswith("refuses"))
            raise ModelError(
                f"{self.server.model_name} {refusal}, and the agent {agent.name!r} has some; name a model that calls tools, or "
                "start the server so that it takes them (docs/models.md)"
            )


async def find_llm_server(agent: AgentConfig, url: str, model: str) -> tuple[AgentConfig, LlmServer]:
    """Recognise the server at an address, or the servers at several with commas between them, and try the first one out. Returns
    the agent with them in place of its language model. Raises EngineError, ConfigError."""
    from voiceagent.llm.servers.abilities import try_out  # here, because the openai package takes half a second to import

    urls = [one for one in map(str.strip, url.split(",")) if one]
    if not urls:
        raise ConfigError("the language model's address is empty; expected one such as http://127.0.0.1:11434/v1")
    servers = [await recognise(one, model, agent.llm.api_key_env) for one in urls]
    abilities = await try_out(servers[0], agent.llm.api_key_env)
    base_url = ",".join(server.base_url for server in servers)
    llm = msgspec.structs.replace(agent.llm, engine="", path="", base_url=base_url, model=servers[0].model)
    return msgspec.structs.replace(agent, llm=llm), LlmServer(servers[0], abilities)
