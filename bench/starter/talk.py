"""A dialogue with the language model as a call holds it: instructions, greeting and all that was said before stand in the prompt,
tools run, and the model answers their results. Its own words and calls are what the next turn builds on, right or wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.starter.cases import Agent
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.engine import GeneratedText, LlmSession
from voiceagent.tools.tool import ToolError
from voiceagent.tools.toolset import ToolSet

MOST_ROUNDS = 4
TOOL_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent's answer in a turn."""

    text: str
    calls: tuple[tuple[str, Mapping[str, Any] | None], ...]
    """Each different one: the tool, and its arguments as the tool takes them; None where it refuses them."""
    broken: str = ""
    """The reason why there is no answer."""


class Talk:
    """One dialogue."""

    def __init__(self, session: LlmSession, agent: Agent) -> None:
        self._session = session
        tools = agent.tools()
        self._tools = {tool.name: tool for tool in tools}
        self._toolset = ToolSet(tools)
        self._schemas = self._toolset.schemas()
        greeted = [Message("assistant", agent.greeting)] if agent.greeting else []
        self._history = [Message("system", agent.instructions), *greeted]

    async def say(self, words: str) -> Answer:
        """The caller's next turn."""
        self._history.append(Message("user", words))
        texts: list[str] = []
        made: dict[tuple[str, str], Mapping[str, Any] | None] = {}
        for _ in range(MOST_ROUNDS):
            try:
                text, calls = await self._round()
            except EngineError as error:
                return Answer(" ".join(texts), tuple((name, given) for (name, _), given in made.items()), str(error))
            texts.append(text)
            for call in calls:
                made.setdefault((call.name, call.arguments), self._checked(call))
            if not calls:
                break
        return Answer(" ".join(filter(None, texts)), tuple((name, given) for (name, _), given in made.items()))

    async def _round(self) -> tuple[str, list[ToolCall]]:
        pieces = [piece async for piece in self._session.generate(self._history, self._schemas)]
        calls = [piece for piece in pieces if isinstance(piece, ToolCall)]
        text = " ".join("".join(piece.text for piece in pieces if isinstance(piece, GeneratedText)).split())
        self._history.append(Message("assistant", text, tuple(calls)))
        for call in calls:
            outcome = await self._toolset.run(call.name, call.arguments, TOOL_TIMEOUT_S)
            self._history.append(Message("tool", outcome.output, tool_call_id=call.call_id))
        return text, calls

    def _checked(self, call: ToolCall) -> Mapping[str, Any] | None:
        tool = self._tools.get(call.name)
        try:
            given = {} if tool is None else tool.parse(call.arguments)
        except ToolError:
            return None
        written = json.loads(call.arguments)
        return {name: value for name, value in given.items() if name in written}
