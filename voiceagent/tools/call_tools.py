"""The tools of one call: the agent's, those that belong to its leg, and those that this call's client offers and runs itself. A
leg's or a client's tool never takes the name of one of the agent's, and a client's is always taken to leave something behind.
`end_call` is the tool with which the language model ends the call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from typing_extensions import override

from voiceagent.errors import ProtocolError
from voiceagent.json_types import JsonObject
from voiceagent.tools.call_context import CallContext
from voiceagent.tools.client_mcp import MAX_SERVERS, Approval, ApprovedTool, ClientMcpServer, read_entry
from voiceagent.tools.runner import ToolOutcome, failed
from voiceagent.tools.schemas import ArgumentSchema, Room, SchemaTool
from voiceagent.tools.tool import NAME, RunScope, Tool, ToolError, ToolPolicy
from voiceagent.tools.toolset import ToolSet
from voiceagent.untrusted_json import read_loose_json

END_CALL = "end_call"
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


class StepTools:
    """The tools of each step of an agent. This one is for an agent without steps."""

    def has(self, step: str, tool: str) -> bool:
        """Returns whether the language model has a tool of the agent in a step."""
        return True

    def shown(self, schema: JsonObject) -> JsonObject:
        """The schema of a tool of the agent as the language model reads it."""
        return schema

    def own(self, step: str) -> tuple[Tool, ...]:
        """The tools by which it moves on from a step."""
        return ()

    @property
    def names(self) -> frozenset[str]:
        """The names of all tools by which it moves."""
        return frozenset()


NO_STEPS = StepTools()


class CallTools:
    """One per call."""

    def __init__(
        self,
        agents: ToolSet,
        legs: Sequence[Tool] = (),
        allowed_servers: Sequence[str] = (),
        steps: StepTools = NO_STEPS,
    ) -> None:
        """`allowed_servers` are the addresses of MCP servers that a client may name."""
        self.agents = agents
        """Those of the agent that carries the call."""
        self.step = ""
        """The agent's step that the call is in."""
        self._steps = steps
        self._allowed_servers = allowed_servers
        self._servers: tuple[ClientMcpServer, ...] = ()
        self._approvals: dict[str, asyncio.Future[Approval]] = {}
        self._legs = {tool.name: tool for tool in legs if tool.name not in agents.names}
        self._offered: dict[str, _Offered] = {}
        self._of_response: dict[str, _Offered] = {}
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._own_runs = agents.runner(MAX_AT_CLIENT)

    def take_over(self, agents: ToolSet, legs: Sequence[Tool], steps: StepTools) -> None:
        """Another agent goes on with the call. A client's tool that has the name of one of its tools is offered no more."""
        self.agents, self._steps, self.step = agents, steps, ""
        self._legs = {tool.name: tool for tool in legs if tool.name not in agents.names}

    def offer(self, tools: object) -> list[dict[str, object]]:
        """Take the client's tools, in the form of the protocol's `session.tools`, in place of those that it offered before.
        Returns them as the session shows them. Raises ProtocolError, and then nothing has changed."""
        functions, entries = _divided(tools)
        offered = self._read(functions)
        servers = self._read_servers(entries)
        for server in self._servers:
            if server not in servers:
                server.dropped.set()
        self._offered, self._servers = offered, servers
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
            taken = (offered, self.agents.names, self._legs, self._steps.names)
            if any(one.name in names for names in taken):
                raise ProtocolError(f"There is a tool {one.name} already; give yours another name.")
            offered[one.name] = one
        return offered

    def _read_servers(self, entries: Sequence[JsonObject]) -> tuple[ClientMcpServer, ...]:
        """The client's MCP servers. One that it had already stays connected."""
        if len(entries) > MAX_SERVERS:
            raise ProtocolError(f"session.tools may name at most {MAX_SERVERS} MCP servers.")
        read = [read_entry(entry, self._allowed_servers) for entry in entries]
        if len({entry.label for entry in read}) < len(read):
            raise ProtocolError("Two MCP servers of session.tools have the same server_label.")
        had = {server.entry.label: server for server in self._servers}
        return tuple(
            had[entry.label] if entry.label in had and had[entry.label].entry == entry else ClientMcpServer(entry)
            for entry in read
        )

    def new_servers(self) -> list[ClientMcpServer]:
        """The client's MCP servers that nobody connects yet. They count as begun from now on."""
        new = [server for server in self._servers if not server.is_begun]
        for server in new:
            server.is_begun = True
        return new

    def of_server(self, name: str) -> tuple[ClientMcpServer, Tool] | None:
        """The client's MCP server that has the tool, and the tool. None for any other tool."""
        if any(name in names for names in (self.agents.names, self._legs, self._steps.names, self._offered, self._of_response)):
            return None
        return next(((server, tool) for server in self._servers for tool in server.tools if tool.name == name), None)

    def server_of(self, name: str) -> tuple[str, bool] | None:
        """The label of that server, and true when the client must approve the run."""
        found = self.of_server(name)
        return found and (found[0].entry.label, found[0].needs_approval(found[1]))

    @property
    def legs(self) -> tuple[Tool, ...]:
        """The tools that belong to the leg."""
        return tuple(self._legs.values())

    @property
    def offered(self) -> list[dict[str, object]]:
        """The client's tools, as the session shows them."""
        return [*(tool.shown for tool in self._offered.values()), *(server.entry.shown for server in self._servers)]

    @property
    def given(self) -> list[dict[str, object]]:
        """The client's tools, as `offer` takes them: with the credentials of its MCP servers."""
        servers = ({**server.entry.shown, "headers": dict(server.entry.headers)} for server in self._servers)
        return [*(tool.shown for tool in self._offered.values()), *servers]

    def schemas(self, of_response: Sequence[str] | None = None) -> list[JsonObject]:
        """The OpenAI function objects of all tools; the agent's come first, because they stay. `of_response` are the client's in
        one response, where they are not the session's."""
        mine = self.agents.names
        legs = [tool.schema for tool in self._legs.values()]
        if of_response is None:
            clients = self._offered
            servers = [tool for server in self._servers for tool in server.tools if self.of_server(tool.name) == (server, tool)]
        else:
            servers = []
            clients = {name: tool for name, tool in self._of_response.items() if name in of_response}
        functions = [tool.schema for name, tool in clients.items() if name not in mine]
        agents = [
            self._steps.shown(schema)
            for schema in self.agents.schemas()
            if self._steps.has(self.step, schema["function"]["name"])
        ]
        own = [tool.schema for tool in self._steps.own(self.step)]
        return [*agents, *own, *legs, *functions, *(tool.schema for tool in servers)]

    def policy(self, name: str) -> ToolPolicy:
        """The policy of a tool."""
        if name in self._legs:
            return self._legs[name].policy
        if (moving := self._moving(name)) is not None:
            return moving.policy
        return ToolPolicy() if self._clients(name) or self.of_server(name) else self.agents.policy(name)

    async def run(
        self, call_id: str, name: str, arguments: str, timeout_s: float, call: CallContext[object] | None = None
    ) -> ToolOutcome:
        """Run a tool for a call by the rules of `ToolSet.run`; `call_id` is the model's request. A run of a client's tool waits
        until `answer` is called for it."""
        if (moving := self._moving(name)) is not None:
            return await self._own_runs.run(moving, arguments, timeout_s, call)
        if name in self._legs:
            return await self._own_runs.run(self._legs[name], arguments, timeout_s)
        tool = self._clients(name)
        if tool is None and (found := self.of_server(name)) is not None:
            return await self._run_at_server(*found, call_id, arguments, timeout_s)
        if tool is None:
            if name in self.agents.names and not self._steps.has(self.step, name):
                return failed(f"The tool {name} cannot be used in this step of the call.")
            return await self.agents.run(name, arguments, timeout_s, call)
        return await self._own_runs.run(_AtTheClient(tool, call_id, self._waiting), arguments, timeout_s)

    async def _run_at_server(
        self, server: ClientMcpServer, tool: Tool, call_id: str, arguments: str, timeout_s: float
    ) -> ToolOutcome:
        if not server.needs_approval(tool):
            return await self._own_runs.run(ApprovedTool(tool), arguments, timeout_s)
        approval = self._approvals.setdefault(call_id, asyncio.get_running_loop().create_future())
        try:
            return await self._own_runs.run(ApprovedTool(tool, approval), arguments, timeout_s)
        finally:
            self._approvals.pop(call_id, None)

    def _moving(self, name: str) -> Tool | None:
        """The tool of this name by which the model moves through the agent's steps."""
        return next((tool for tool in self._steps.own(self.step) if tool.name == name), None)

    def approve(self, call_id: str, approval: Approval) -> None:
        """Take the client's answer to the request for an approval. It changes nothing if nobody waits for it."""
        waiting = self._approvals.get(call_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(approval)

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
        for call_id in tuple(self._approvals):
            self.approve(call_id, Approval(False, "The call ended."))
        self._offered, self._servers = {}, ()

    def _clients(self, name: str) -> _Offered | None:
        if name in self.agents.names:
            return None
        return self._offered.get(name) or self._of_response.get(name)


def _divided(tools: object) -> tuple[object, list[JsonObject]]:
    """The client's functions, and its MCP servers."""
    if not isinstance(tools, list):
        return tools, []
    servers = [tool for tool in tools if isinstance(tool, dict) and tool.get("type") == "mcp"]
    return [tool for tool in tools if not isinstance(tool, dict) or tool.get("type") != "mcp"], servers


class _Offered:
    """A tool as a client described it."""

    def __init__(self, tool: object, room: Room) -> None:
        if not isinstance(tool, dict) or tool.get("type", "function") != "function":
            raise ProtocolError(
                "A tool must be an object of type function; MCP servers, of type mcp, may be named in session.tools alone."
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

    async def run(self, given: dict[str, object], scope: RunScope) -> object:
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


class EndCallTool(SchemaTool):
    """`end_call`. The turn engine runs it: it knows whether the goodbye was heard, and whether the caller objects to it. Its
    policy is that of a tool with an effect, so it never runs for words that ask for nothing."""

    def __init__(self, description: str, reason: str) -> None:
        """`reason` describes its argument to the language model."""
        schema = {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 300, "description": reason}}}
        super().__init__(END_CALL, description, ToolPolicy("external"), ArgumentSchema(schema))

    @override
    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        scope.call.end(str(given.get("reason") or ""))
        return {"status": "ending"}
