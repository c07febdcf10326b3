"""Messages in the form of OpenAI's chat completions API, and tool calls, which its streams send in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.chat.tool_parser import random_call_id
from voiceagent.llm.endings import told_share
from voiceagent.llm.engine import TokenCount, ToolSchema

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

_THOUGHT = re.compile(r"reasoning|think|thought", re.IGNORECASE)
MAX_TOOL_CALLS = 16
MOST_TOKENS = 10**8
"""Greater counts are mistakes."""
MAX_ARGUMENT_CHARACTERS = 20_000


def wire_message(message: Message) -> dict[str, object]:
    """A message in the API's form."""
    data: dict[str, object] = {"role": message.role, "content": message.prompted}
    if message.tool_calls:
        data["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        data["tool_call_id"] = message.tool_call_id
    return data


def wire_tool(tool: ToolSchema, *, strict: bool) -> ToolSchema:
    """A tool in the API's form. With `strict` the server keeps the arguments to the schema."""
    return {**tool, "function": {**tool["function"], "strict": True}} if strict else tool


@dataclass(frozen=True, slots=True)
class Delta:
    """The part of a reply in one chunk of a stream."""

    text: str
    calls: tuple[ChoiceDeltaToolCall, ...] = ()
    """Pieces of tool calls."""
    thinks: bool = False
    """True if it holds a piece of the model's thoughts, in a field beside the text."""
    count: TokenCount | None = None
    """The tokens of the whole reply."""


def read_delta(chunk: ChatCompletionChunk) -> Delta | None:
    """The delta of a stream's chunk. None if it adds nothing. Raises ValueError for anything that is no chunk, because the
    official client accepts whatever a server writes and checks no types."""
    try:
        delta = chunk.choices[0].delta if chunk.choices else None
        if delta is None:
            count = _count(chunk)
            return None if count is None else Delta("", count=count)
        texts = [delta.content]
        for call in delta.tool_calls or ():
            texts += [call.id] if call.function is None else [call.id, call.function.name, call.function.arguments]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError("it streams what is no chunk of a reply") from error
    for text in texts:
        if not isinstance(text, str | None):
            raise ValueError(f"it streams a {type(text).__name__} where text is expected")
        if text is not None:
            text.encode()  # half a surrogate pair can neither be spoken nor be sent back as history
    return Delta(delta.content or "", tuple(delta.tool_calls or ()), _thinks(delta), _count(chunk))


def _count(chunk: ChatCompletionChunk) -> TokenCount | None:
    """The count of tokens, which servers send with the last chunk or behind it. None for what is no count."""
    usage = chunk.usage
    details = getattr(usage, "prompt_tokens_details", None)
    prompt, generated, cached = (
        value if isinstance(value, int) and 0 <= value <= MOST_TOKENS else None
        for value in (
            getattr(usage, "prompt_tokens", None),
            getattr(usage, "completion_tokens", None),
            getattr(details, "cached_tokens", None),
        )
    )
    return None if not prompt or generated is None else TokenCount(prompt, generated, cached)


def _thinks(delta: ChoiceDelta) -> bool:
    """Servers name the field `reasoning_content`, `reasoning`, `reasoning_details`, `thinking` or `thought`."""
    return any(value and _THOUGHT.search(name) for name, value in (delta.model_extra or {}).items())


def read_ending(answer: ChatCompletion) -> float:
    """The probability that an answer's first token ends a sentence or a turn. Raises ValueError for an answer without
    probabilities."""
    try:
        told = answer.choices[0].logprobs
        if told is None or not told.content:
            raise ValueError("it tells no likelihoods")
        likely = [(one.token, float(one.logprob)) for one in told.content[0].top_logprobs]
        return told_share(likely)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError("it tells no likelihoods") from error


class ToolCalls:
    """Incomplete tool calls. Servers send them in pieces, by index."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[str, str]] = {}

    @property
    def begun(self) -> bool:
        """True once a call has begun."""
        return bool(self._parts)

    def add(self, deltas: Sequence[ChoiceDeltaToolCall]) -> None:
        """Add the pieces of a chunk. Raises EngineError for too many calls or too long arguments."""
        for delta in deltas:
            if delta.index not in self._parts and len(self._parts) >= MAX_TOOL_CALLS:
                raise EngineError(f"the language model asked for more than {MAX_TOOL_CALLS} tools at once")
            part = self._parts.setdefault(delta.index, {"id": "", "name": "", "arguments": ""})
            part["id"] = delta.id or part["id"]
            if delta.function is not None:
                part["name"] += delta.function.name or ""
                part["arguments"] += delta.function.arguments or ""
            if len(part["arguments"]) > MAX_ARGUMENT_CHARACTERS:
                raise EngineError(f"the language model wrote arguments of over {MAX_ARGUMENT_CHARACTERS} characters")

    def complete(self) -> list[ToolCall]:
        """The calls at the stream's end. Calls without a name are dropped."""
        ordered = [self._parts[index] for index in sorted(self._parts)]
        return [
            ToolCall(part["id"] or random_call_id(), part["name"], part["arguments"] or "{}") for part in ordered if part["name"]
        ]
