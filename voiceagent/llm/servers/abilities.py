"""Tries out what a language model server can do, with three short requests and within a bounded time: whether it streams, gives
log-probabilities, calls tools and keeps to a JSON schema. What it cannot do is told before the first call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.engine import Generated, GeneratedText, ToolSchema
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.llm.servers.recognition import RecognisedServer, ServerAnswer, ServerQuestions
from voiceagent.untrusted_json import read_json

TRY_S = 20.0
"""The longest that all of it takes."""
TOOL_TOKENS, SCHEMA_TOKENS = 64, 32
_PROMPT = (Message("system", "You are an order desk. Use the tools."), Message("user", "Where is order 48271?"))
_TOOL: ToolSchema = {
    "type": "function",
    "function": {
        "name": "order_status",
        "description": "Tell where an order is.",
        "parameters": {"type": "object", "properties": {"order_number": {"type": "string"}}, "required": ["order_number"]},
    },
}
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
_CODE = re.compile(r"^Error code: \d+ - ")
_OF_TOOLS = re.compile(r"tool|jinja|function", re.IGNORECASE)


@dataclass(slots=True)
class Abilities:
    """The limits of a server and its model, as statements about it."""

    cannot: list[str] = field(default_factory=list)
    """Such as "calls no tools"; in the order of their weight."""
    has_tools: bool = True
    """False if it refuses tools."""


async def try_out(server: RecognisedServer, key_env: str, timeout_s: float = TRY_S) -> Abilities:
    """Try a server out. Raises EngineError if the model does not answer at all."""
    found = Abilities()
    async with ServerQuestions(key_env) as questions:
        try:
            async with asyncio.timeout(timeout_s):
                streams, gives_chances = await _streams(server, questions)
                calls, keeps = await asyncio.gather(_calls_tools(server, key_env, timeout_s), _keeps_to_schema(server, questions))
        except TimeoutError:
            found.cannot.append(
                f"did not answer three short requests within {timeout_s:g} s, so callers will wait long; what else it cannot do "
                "was not found out"
            )
            return found
        if not streams:
            found.cannot.append("does not stream, so nothing is heard of a reply")
        if calls:
            found.has_tools = not calls.startswith("refuses")
            found.cannot.append(calls)
        if not keeps:
            found.cannot.append("does not keep to a JSON schema, so tools may get arguments that do not fit; those are refused")
        if not server.kind.forces_tools:
            found.cannot.append("cannot be made to call a tool, so `tool_choice: required` is refused")
        if not gives_chances or not server.kind.goes_on:
            why = "gives no log-probabilities" if not gives_chances else "cannot continue a caller's words"
            found.cannot.append(f"{why}, so it does not help to judge whether a caller has finished; words and voice alone do")
        if server.kind.name == "Ollama" and (tokens := await _ollama_context(server, questions)):
            found.cannot.append(f"cuts off what is over {tokens} tokens without a word; OLLAMA_CONTEXT_LENGTH sets that")
    return found


def _body(server: RecognisedServer, prompt: str, tokens: int, **more: object) -> dict[str, object]:
    messages = [{"role": "user", "content": prompt}]
    return {"model": server.model, "messages": messages, "max_tokens": tokens, "temperature": 0, **more}


async def _streams(server: RecognisedServer, questions: ServerQuestions) -> tuple[bool, bool]:
    """True if it streams, and if it gives log-probabilities. Raises EngineError."""
    url = f"{server.base_url}/chat/completions"
    more: Mapping[str, object] = {"logprobs": True, "top_logprobs": 3}
    body = _body(server, "Say yes.", 4, stream=True)
    gives_chances = True
    events = await _events(questions, url, {**body, **more})
    if events is None:
        events, gives_chances = await _events(questions, url, body), False
    if events is None:
        answer = await questions.ask(url, body, TRY_S)
        raise EngineError(f"{server.base_url}: the model refuses a plain request ({_reason(answer)})")
    told = any(_part(event, "logprobs", "content") for event in events)
    return len(events) > 1, gives_chances and told


async def _events(questions: ServerQuestions, url: str, body: Mapping[str, object]) -> list[object] | None:
    """The events of a stream; None if the request is refused."""
    found: list[object] = []
    async for line in questions.lines(url, body):
        if line is None:
            return None
        text = line.removeprefix("data:").strip()
        if line.startswith("data:") and text != "[DONE]":
            try:
                found.append(read_json(text))
            except ValueError:
                continue
    return found


def _part(event: object, *keys: str) -> object:
    choices = event.get("choices") if isinstance(event, dict) else None
    part = choices[0] if isinstance(choices, list) and choices else None
    return ServerAnswer(200, part).get(*keys)


async def _calls_tools(server: RecognisedServer, key_env: str, timeout_s: float) -> str:
    """The reason why a tool was not called, as a statement; empty if it was. It is asked as in a call."""
    options = OpenAiOptions(
        base_url=server.base_url,
        served_model=server.model,
        api_key_env=key_env,
        max_tokens=TOOL_TOKENS,
        first_token_timeout_s=timeout_s,
        inactivity_timeout_s=timeout_s,
        total_timeout_s=timeout_s,
    )
    engine = OpenAiEngine(options)
    try:
        pieces = [piece async for piece in _generated(engine)]
    except EngineError as error:
        reason = _CODE.sub("", str(error).partition("): ")[2] or str(error))
        return (
            f"refuses tools ({reason[:160]})" if _OF_TOOLS.search(reason) else f"failed at a request with a tool ({reason[:160]})"
        )
    finally:
        await engine.close()
    if any(isinstance(piece, ToolCall) for piece in pieces):
        return ""
    said = "".join(piece.text for piece in pieces if isinstance(piece, GeneratedText)).strip()
    return f"called no tool where it should have, but {'said ' + repr(said[:60]) if said else 'said nothing'}"


async def _generated(engine: OpenAiEngine) -> AsyncIterator[Generated]:
    session = engine.open("abilities")
    try:
        async with aclosing(session.generate(_PROMPT, (_TOOL,))) as stream:
            async for piece in stream:
                yield piece
    finally:
        await session.close()


async def _keeps_to_schema(server: RecognisedServer, questions: ServerQuestions) -> bool:
    """True if the answer begins as the schema wants it. A weak model may fill the rest with white space, which is allowed."""
    form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": _SCHEMA}}
    body = _body(server, "Is Paris in France? Answer in JSON.", SCHEMA_TOKENS, response_format=form)
    answer = await questions.ask(f"{server.base_url}/chat/completions", body, TRY_S)
    said = "".join(str(_part(answer.value, "message", "content") or "").split())
    return bool(said) and any(whole.startswith(said) for whole in ('{"answer":"yes"}', '{"answer":"no"}'))


async def _ollama_context(server: RecognisedServer, questions: ServerQuestions) -> int:
    """The tokens for which Ollama has made room, once it has loaded the model (docs.ollama.com, "List running models"); 0 if it
    does not tell."""
    answer = await questions.ask_quietly(f"{server.base_url.removesuffix('/v1')}/api/ps")
    running = answer.get("models")
    for one in running if isinstance(running, list) else ():
        told = ServerAnswer(200, one)
        if server.model in (told.get("name"), told.get("model")):
            tokens = told.get("context_length")
            return tokens if isinstance(tokens, int) else 0
    return 0


def _reason(answer: ServerAnswer) -> str:
    told = answer.get("error", "message") or answer.get("error") or answer.get("message") or ""
    return f"{answer.status}: {' '.join(str(told).split())[:160]}" if told else str(answer.status)
