"""The interface of a tool, wherever it comes from: a name, a description and a schema for the model, a policy for the
conversation, a check of the model's arguments, and a run. A source brings tools and owns what they need."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from voiceagent.errors import VoiceAgentError
from voiceagent.json_types import JsonObject
from voiceagent.tools.policy import ToolPolicy
from voiceagent.tools.threads import Threads

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""The allowed names of a tool: every language model's interface takes them."""

MAX_TOOLS = 128
"""How many tools an agent may have; a model chooses badly even among far fewer."""

MAX_ARGUMENT_CHARACTERS = 32_000


class ToolError(VoiceAgentError):
    """Raised by a tool to tell the model, in one speakable sentence, why it could not do what was asked."""


class Tool(ABC):
    """One tool."""

    name: str
    description: str
    policy: ToolPolicy
    parameters: JsonObject
    """JSON schema of the arguments: an object."""

    @property
    def schema(self) -> JsonObject:
        """The OpenAI function object that the model is told."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    @abstractmethod
    def parse(self, arguments: str) -> dict[str, object]:
        """Check a JSON object of arguments. The check is lenient where models are: numbers in quotes, null for missing values.
        Raises ToolError in words that the model can act on."""

    async def check(self, arguments: str) -> dict[str, object]:
        """See `parse`; a tool whose check may take longer than a moment does it off the event loop."""
        return self.parse(arguments)

    @abstractmethod
    async def run(self, given: dict[str, object], threads: Threads) -> object:
        """Run it with checked arguments; blocking work runs in `threads`. The result must be convertible to JSON. Raises
        ToolError in words that the model can act on; any other exception is a mistake of the tool."""


class ToolSource:
    """Brings tools: the given ones, unless a subclass finds them itself."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._tools = tuple(tools)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The current tools, in a stable order."""
        return self._tools

    async def open(self) -> None:
        """Connect to what the tools need. Raises ConfigError when the source can never work with its settings."""

    async def close(self) -> None:
        """Free it."""


def json_object(arguments: str) -> dict[str, object]:
    """The arguments as a model wrote them, as an object. Raises ToolError."""
    if len(arguments) > MAX_ARGUMENT_CHARACTERS:
        raise ToolError(f"The arguments are longer than {MAX_ARGUMENT_CHARACTERS} characters.")
    try:
        given = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ToolError(f"The arguments are not valid JSON: {error}.") from error
    if not isinstance(given, dict):
        raise ToolError("The arguments must be a JSON object.")
    return given
