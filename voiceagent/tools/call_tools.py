"""The tools of one call: the agent's, those that belong to its leg, and those that this call's client offers and runs itself. A
leg's or a client's tool never takes the name of one of the agent's, and a client's is always taken to leave something behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from voiceagent.errors import ProtocolError
from voiceagent.json_types import JsonObject
from voiceagent.tools.arguments import ArgumentSchema, SchemaTool
from voiceagent.tools.plain_schema import Room
from voiceagent.tools.runner import ToolOutcome
from voiceagent.tools.threads import Threads
from voiceagent.tools.tool import NAME, Tool, ToolError, ToolPolicy
from voiceagent.tools.toolset import ToolSet
from voiceagent.untrusted_json import read_loose_json

MAX_CLIENT_TOOLS = 32
MAX_AT_CLIENT = 8
"""Most runs that a client is asked for at a time. A client that never answers must not take the places of other calls' tools."""
MAX_DESCRIPTION_CHARACTERS = 2000
MAX_CLIENT_BYTES = 65_536
"""The most JSON in bytes of all tools of a client, with their schemas' references resolved: the language model reads them in
every turn."""
WRAPPING_BYTES = 100
"""Bytes of JSON around a tool's name, description and schema."""
MAX_CLIENT_PARTS = 1000
"""The most parts in their schemas: each takes time of the event loop."""


class CallTools:
    """One per call."""

    def __init__(self, agents: ToolSet, legs: Sequence[Tool] = ()) -> None:
        self.agents = agents
        self._legs = {tool.name: tool for tool in legs if tool.name not in agents.names}
        self._offered: dict[str, _Offered] = {}
        self._of_response: dict[str, _Offered] = {}
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._own_runs = agents.runner(MAX_AT_CLIENT)

    def offer(self, tools: object) -> list[dict[str, object]]:
        """Take the client's tools, in the form of the protocol's `session.tools`, in place of those that it offered before.
        Returns them as the session shows them. Raises ProtocolError, and then nothing has changed."""
        self._offered = self._read(tools)
        return self.offered

    def offer_for_response(self, tools: object) -> list[dict[str, object]]:
        """Take the client's tools of one response, in place of those of an earlier one. Returns them as they are shown. Raises
        ProtocolError, and then nothing has changed."""
        self._of_response = self._read(tools)
        return [tool.shown for tool in self._of_response.values()]

    def _read(self, tools: object) -> dict[str, _Offered]:
        if not isinstance(tools, list) or len(tools) > MAX_CLIENT_TOOLS:
            raise ProtocolError(f"session.tools must be a list of at most {MAX_CLIENT_TOOLS} tools.")
        offered: dict[str, _Offered] = {}
        most = f"all tools of session.tools together may take {MAX_CLIENT_PARTS} parts and {MAX_CLIENT_BYTES} bytes"
        room = Room(MAX_CLIENT_PARTS, MAX_CLIENT_BYTES, most)
        for tool in tools:
            one = _Offered(tool, room)
            if one.name in offered or one.name in self.agents.names or one.name in self._legs:
                raise ProtocolError(f"There is a tool {one.name} already; give yours another name.")
            offered[one.name] = one
        return offered

    @property
    def legs(self) -> tuple[Tool, ...]:
        """The tools that belong to the leg."""
        return tuple(self._legs.values())

    @property
    def offered(self) -> list[dict[str, object]]:
        """The client's tools, as the session shows them."""
        return [tool.shown for tool in self._offered.values()]

    def schemas(self, of_response: Sequence[str] | None = None) -> list[JsonObject]:
        """The OpenAI function objects of all tools; the agent's come first, because they stay. `of_response` are the client's in
        one response, where they are not the session's."""
        mine = self.agents.names
        legs = [tool.schema for tool in self._legs.values()]
        if of_response is None:
            clients = self._offered
        else:
            clients = {name: tool for name, tool in self._of_response.items() if name in of_response}
        return [*self.agents.schemas(), *legs, *(tool.schema for name, tool in clients.items() if name not in mine)]

    def policy(self, name: str) -> ToolPolicy:
        """The policy of a tool."""
        if name in self._legs:
            return self._legs[name].policy
        return ToolPolicy() if self._clients(name) else self.agents.policy(name)

    async def run(self, call_id: str, name: str, arguments: str, timeout_s: float) -> ToolOutcome:
        """Run a tool by the rules of `ToolSet.run`; `call_id` is the model's request. A run of a client's tool waits until
        `answer` is called for it."""
        if name in self._legs:
            return await self._own_runs.run(self._legs[name], arguments, timeout_s)
        tool = self._clients(name)
        if tool is None:
            return await self.agents.run(name, arguments, timeout_s)
        return await self._own_runs.run(_AtTheClient(tool, call_id, self._waiting), arguments, timeout_s)

    def answer(self, call_id: str, output: str) -> bool:
        """Take the client's result of the request. Returns whether somebody waited for it."""
        waiting = self._waiting.pop(call_id, None)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(output)
        return True

    def close(self) -> None:
        """The call is over: no client will answer any more."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ToolError("The call ended before the tool did."))
        self._waiting.clear()
        self._offered = {}

    def _clients(self, name: str) -> _Offered | None:
        if name in self.agents.names:
            return None
        return self._offered.get(name) or self._of_response.get(name)


class _Offered:
    """A tool as a client described it."""

    def __init__(self, tool: object, room: Room) -> None:
        if not isinstance(tool, dict) or tool.get("type", "function") != "function":
            raise ProtocolError(
                "A tool of session.tools must be an object of type function; MCP servers are named in agent.yaml."
            )
        name, description = tool.get("name"), tool.get("description") or ""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ProtocolError("A tool of session.tools needs a name of letters, digits, _ and - (at most 64).")
        if not isinstance(description, str) or len(description) > MAX_DESCRIPTION_CHARACTERS:
            raise ProtocolError(f"The tool {name}'s description must be text of at most {MAX_DESCRIPTION_CHARACTERS} characters.")
        try:
            room.take(0, len(json.dumps(description)) + len(name) + WRAPPING_BYTES)
            self.arguments = ArgumentSchema(tool.get("parameters") or {}, room=room)
        except ValueError as error:
            raise ProtocolError(f"The tool {name}'s parameters cannot be used: the schema {error}.") from error
        self.name = name
        self.description = description
        function = {"name": name, "description": description, "parameters": dict(self.arguments.parameters)}
        self.schema: dict[str, object] = {"type": "function", "function": function}
        self.shown: dict[str, object] = {"type": "function", **function}


class _AtTheClient(SchemaTool):
    """One run of a client's tool: waits for its answer."""

    def __init__(self, offered: _Offered, call_id: str, waiting: dict[str, asyncio.Future[str]]) -> None:
        super().__init__(offered.name, offered.description, ToolPolicy(), offered.arguments)
        self._call_id = call_id
        self._waiting = waiting

    async def run(self, given: dict[str, object], threads: Threads) -> object:
        if self._call_id in self._waiting:
            raise ToolError(f"The tool {self.name} is running already.")
        answer = self._waiting[self._call_id] = asyncio.get_running_loop().create_future()
        try:
            output = await answer
        finally:
            if self._waiting.get(self._call_id) is answer:
                del self._waiting[self._call_id]
        try:
            return read_loose_json(output)
        except ValueError:
            return output
