"""The interface of a tool, wherever it comes from: a name, a description and a schema for the model, a policy for the
conversation, a check of the model's arguments, and a run. A source brings tools and owns what they need. Tools that are plain
functions run in bounded threads: a function cannot be ended from outside, so one that exceeds its time keeps its thread until
it returns, and is counted until then."""

from __future__ import annotations

import asyncio
import re
import string
import threading
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from voiceagent.errors import ConfigError, VoiceAgentError
from voiceagent.json_types import JsonObject
from voiceagent.tools.call_context import CallContext
from voiceagent.untrusted_json import read_json

T = TypeVar("T")

WORKERS = 8
STARTING_S = 1.0
"""The longest wait of a thread for the others, should the pool be closed while they start."""
MAX_WAITING = 24
"""Most functions that wait for a thread; more are refused."""


class TooManyRunning(Exception):
    """All threads are taken, and all places to wait for one."""


class Threads:
    """A bounded pool. All of its threads start with the first function: more of them later would be a leak."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="tool")
        self._has_started = False
        self._unfinished = 0

    async def run(self, function: Callable[[], T]) -> T:
        """Run it off the event loop. Cancelling gives up waiting; a function that has begun goes on. Raises TooManyRunning."""
        if self._unfinished >= WORKERS + MAX_WAITING:
            raise TooManyRunning
        loop = asyncio.get_running_loop()
        if not self._has_started:
            self._start()
        self._unfinished += 1
        future = self._pool.submit(function)
        future.add_done_callback(lambda _: _from_thread(loop, self._ended))
        return await asyncio.wrap_future(future)

    def _start(self) -> None:
        self._has_started = True
        all_there = threading.Barrier(WORKERS, timeout=STARTING_S)
        for _ in range(WORKERS):
            self._pool.submit(all_there.wait)

    def _ended(self) -> None:
        self._unfinished -= 1

    def close(self) -> None:
        """Let no further function begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _from_thread(loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(ended)


Effect = Literal["none", "idempotent", "external"]
"""Traces that a run leaves: none; the same however often it runs; something in the world."""

MAX_FILLERS = 16
MAX_SENTENCE_CHARACTERS = 300
MAX_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """The author's settings for a tool, which the conversation must know before it runs: its effect, what may be said meanwhile,
    what must be asked first, and how long it may take. They are the same for every source of tools."""

    effect: Effect = "external"
    fillers: tuple[str, ...] = ()
    """Sentences that may be said while it runs."""
    confirm: str = ""
    """A question to ask before it runs; `{name}` stands for the argument of that name. Empty: nothing is asked."""
    timeout_s: float | None = None
    """The longest run; None: the agent's `turn.tool_timeout_s`."""
    runs_unasked: bool = False
    """True if the author wants no question, also where the tool destroys something."""


def policy_of(effect: Effect, fillers: tuple[str, ...], confirm: str | bool, timeout_s: float | None) -> ToolPolicy:
    """The policy of an author who may write `confirm: false`. Raises ConfigError for `confirm: true`, which is no question."""
    if confirm is True:
        raise ConfigError("confirm is true, expected the question that the caller must agree to, or false")
    return ToolPolicy(effect, fillers, confirm or "", timeout_s, runs_unasked=confirm is False)


def check_policy(tool: str, policy: ToolPolicy, arguments: Collection[str]) -> None:
    """Raises ConfigError when the policy of `tool`, which takes `arguments`, cannot be used."""
    if policy.effect not in typing.get_args(Effect):
        raise ConfigError(f"tool {tool}: effect {policy.effect!r} is not one of {', '.join(typing.get_args(Effect))}")
    if len(policy.fillers) > MAX_FILLERS:
        raise ConfigError(f"tool {tool}: has {len(policy.fillers)} fillers, expected at most {MAX_FILLERS}")
    for filler in policy.fillers:
        if not isinstance(filler, str) or not filler.strip() or len(filler) > MAX_SENTENCE_CHARACTERS:
            expected = f"a sentence of at most {MAX_SENTENCE_CHARACTERS} characters"
            raise ConfigError(f"tool {tool}: filler {filler!r:.60} cannot be said; expected {expected}")
    if policy.timeout_s is not None and not 0 < policy.timeout_s <= MAX_TIMEOUT_S:
        raise ConfigError(f"tool {tool}: timeout_s is {policy.timeout_s!r}, expected more than 0 and at most {MAX_TIMEOUT_S:g}")
    _check_question(tool, policy.confirm, arguments)


def _check_question(tool: str, question: str, arguments: Collection[str]) -> None:
    if len(question) > MAX_SENTENCE_CHARACTERS:
        raise ConfigError(f"tool {tool}: confirm has {len(question)} characters, expected at most {MAX_SENTENCE_CHARACTERS}")
    try:
        fields = [
            (name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(question) if name is not None
        ]
    except ValueError as error:
        raise ConfigError(f"tool {tool}: confirm {question!r} is no template ({error}); write {{{{ for a brace") from error
    for name, spec, conversion in fields:
        if name not in arguments or spec or conversion:
            known = ", ".join(f"{{{argument}}}" for argument in arguments) or "none"
            raise ConfigError(f"tool {tool}: confirm holds {{{name}}}, which is no argument; the arguments are: {known}")


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""The allowed names of a tool: every language model's interface takes them."""

MAX_TOOLS = 128
"""Most tools of an agent; a model chooses badly even among far fewer."""

MAX_ARGUMENT_CHARACTERS = 32_000


class ToolError(VoiceAgentError):
    """Raised by a tool to tell the model, in one speakable sentence, why it could not do what was asked."""


@dataclass(frozen=True, slots=True)
class RunScope:
    """The surroundings of a run: all that it has besides its arguments."""

    threads: Threads = field(default_factory=Threads)
    """Blocking work runs in them."""
    call: CallContext[object] = field(default_factory=CallContext)
    """The call that it runs for."""


class Tool(ABC):
    """A tool that the language model may call."""

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
    async def run(self, given: dict[str, object], scope: RunScope) -> object:
        """Run it with checked arguments. The result must be convertible to JSON. Raises ToolError in words that the model can act
        on; any other exception is a mistake of the tool."""


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
        given = read_json(arguments or "{}")
    except ValueError as error:
        raise ToolError(f"The arguments are not valid JSON: {error}.") from error
    if not isinstance(given, dict):
        raise ToolError("The arguments must be a JSON object.")
    return given
