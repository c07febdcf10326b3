"""The embedded language model: onnxruntime-genai on the CPU, in this process. Each call keeps its KV cache from turn to turn:
a prompt that begins like the last one costs only its new end. One worker thread serves all calls, a token each in turn."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from voiceagent.conversation.history import Message
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm import integer_products
from voiceagent.llm.call_prompt import CallPrompt
from voiceagent.llm.drafts import Drafts
from voiceagent.llm.embedded_jobs import Ending, Forget, Job, Session, without
from voiceagent.llm.embedded_steps import LONGEST_DRAFT, SHORTEST_STEP, GreedySteps, tells_recent
from voiceagent.llm.endings import ending_ids, ending_share
from voiceagent.llm.engine import Generated, KvCapacity, ToolSchema, Urgency
from voiceagent.llm.prompt import ChatPrompt, Detokenizer
from voiceagent.llm.recent_logits import RECENT
from voiceagent.llm.tool_constraint import ToolConstraint, ToolConstraints

log = logging.getLogger(__name__)

PREFILL_TOKENS = 256
"""A prompt is read in pieces of this many tokens, so that other calls and cancellation get in between."""
MAX_JOBS = 256
BUSY_JOBS = 4
"""So many generations at a time slow each other down noticeably."""
HANGS_S = 3.0
"""A token takes milliseconds: a worker that is at one for so long hangs."""
LOOK_S = 0.5
"""Who waits for a token looks this often whether the worker hangs."""
ENDING_S = 5.0
"""So long the worker is waited for to forget a call, or to end."""


class EmbeddedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    threads: int = 1
    context_tokens: int = 2048
    """Prompt and reply together; older turns are left out of a longer conversation."""
    long_tokens: int | None = None
    """A conversation of more loses its older half between turns; None: one that nearly fills the context."""
    max_tokens: int = 200
    temperature: float = 0.0
    draft_tokens: int = LONGEST_DRAFT
    """So many are drafted at most and read in one step with what is known, where the model's graph tells whether they are right
    and `temperature` is 0."""
    max_sessions: int = 64
    """Calls whose KV cache is kept; beyond that the longest unused is freed."""
    enable_thinking: bool | None = None
    """Given to the chat template where set."""
    tool_format: str = ""
    """How the model writes tool calls, where its chat template does not tell."""


class EmbeddedEngine:
    """Implements `LlmEngine`."""

    def __init__(self, folder: Path, options: EmbeddedOptions | None = None) -> None:
        """Load a folder made by onnxruntime-genai's model builder. Raises ModelError."""
        self.options = options or EmbeddedOptions()
        thinking = self.options.enable_thinking
        self.prompt = ChatPrompt(folder, None if thinking is None else {"enable_thinking": thinking}, self.options.tool_format)
        self._model, self._genai, stop_ids = _load(folder, self.options.threads)
        self._stop_ids = stop_ids | self.prompt.stop_ids
        self._constraints = ToolConstraints(folder, self.prompt.template)
        self._ending_ids = ending_ids(self.prompt, self._stop_ids)
        greedy = self.options.temperature == 0 and tells_recent(self._generator())
        self._steps = GreedySteps(self._stop_ids) if greedy else None
        self._ending = [min(self._stop_ids)] * 2
        """The last tokens of the last answer in words."""
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._inbox: queue.SimpleQueue[Job | Ending | Forget | None] = queue.SimpleQueue()
        self._prompts: OrderedDict[str, CallPrompt] = OrderedDict()
        self._making_room: dict[str, asyncio.Task[None]] = {}
        self._jobs = 0
        self.tokens_read = 0
        """Of prompts, in all; what a cache held was not read again."""
        self._closing = False
        self._token_since_s: float | None = None
        """When the worker began the token that it is at."""
        self._thread = threading.Thread(target=self._work, name="language-model", daemon=True)
        self._thread.start()

    async def generate(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY
    ) -> AsyncGenerator[Generated, None]:
        """See `LlmEngine.generate`. All generations take turns, a token each, whatever their urgency."""
        if self._jobs >= MAX_JOBS:
            raise EngineError(f"the language model is overloaded: {MAX_JOBS} generations wait; lower the number of calls")
        answer = self.prompt.answer(messages, tools)
        text = Detokenizer(self.prompt)
        made = 0
        async with aclosing(self._tokens(call_id, messages, tools, self.options.max_tokens)) as tokens:
            async for token in tokens:
                made += 1
                for piece in answer.feed(text.add(token)):
                    yield piece
        for piece in [*answer.feed(text.finish()), *answer.finish()]:
            yield piece
        if not answer.called:
            self._make_room(call_id, messages, tools, made)

    async def _tokens(
        self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], max_tokens: int
    ) -> AsyncGenerator[int, None]:
        """The answer's tokens; with `max_tokens` 0 the prompt is only read."""
        self._stop_making_room(call_id)
        self._jobs += 1
        job = Job(call_id, [], max_tokens, self._constraints.of(tools))
        try:
            job.ids = await self.prompt_of(call_id).ids_soon(messages, tools, ahead=not max_tokens)
            job.messages = messages
            self._inbox.put(job)
            while (token := await self._next(job)) is not None:
                if isinstance(token, EngineError):
                    raise token
                yield token
        finally:
            job.cancelled = True
            self._jobs -= 1

    async def _next(self, job: Job) -> int | EngineError | None:
        """The job's next token. Raises EngineError when the worker hangs: nobody is to wait for what does not come."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    return await job.tokens.get()
            since_s = self._token_since_s
            if since_s is not None and time.monotonic() - since_s > HANGS_S:
                raise EngineError(f"the language model hangs at a token for over {HANGS_S:g} s; restart the server")

    async def prefill(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        """See `LlmEngine.prefill`. What follows the last message's words in the template is read too, and taken back later."""
        if self.load < 1:
            async with aclosing(self._tokens(call_id, messages, tools, 0)) as tokens:
                async for _ in tokens:
                    pass

    async def ending_chance(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> float | None:
        """See `LlmEngine.ending_chance`: one step, behind what was read ahead; None where much would have to be read."""
        if self.load >= 1 or not messages or not messages[-1].content:
            return None
        self._jobs += 1
        try:
            ids = await self.prompt_of(call_id).open_ids_soon(messages, tools)
            if not ids:
                return None
            ending = Ending(call_id, ids)
            self._inbox.put(ending)
            try:
                async with asyncio.timeout(HANGS_S):
                    return await ending.answer
            except TimeoutError as error:
                raise EngineError(f"the language model told of no ending within {HANGS_S:g} s") from error
            finally:
                ending.cancelled = True
        finally:
            self._jobs -= 1

    @property
    def load(self) -> float:
        """See `LlmEngine.load`."""
        return self._jobs / BUSY_JOBS

    def prompt_of(self, call_id: str) -> CallPrompt:
        """What keeps the call's prompts."""
        prompt = self._prompts.get(call_id)
        if prompt is None:
            room = self.options.context_tokens - self.options.max_tokens
            prompt = self._prompts[call_id] = CallPrompt(self.prompt, room, self.options.long_tokens)
            while len(self._prompts) > self.options.max_sessions:
                self._prompts.popitem(last=False)
        self._prompts.move_to_end(call_id)
        return prompt

    def _make_room(self, call_id: str, messages: Sequence[Message], tools: Sequence[ToolSchema], made: int) -> None:
        """A reply of so many tokens is made and will be spoken for a while: where the next prompt is one to be shortened, read
        the short one now. What is asked for the call next stops it."""
        prompt = self._prompts.get(call_id)
        if prompt is not None and prompt.is_full(made) and self.load < 1:
            reading = self._read_short(call_id, prompt, messages, tools, made)
            self._making_room[call_id] = asyncio.create_task(reading, name=f"making room {call_id}")

    async def _read_short(
        self, call_id: str, prompt: CallPrompt, messages: Sequence[Message], tools: Sequence[ToolSchema], made: int
    ) -> None:
        job = Job(call_id, [], 0)
        try:
            with contextlib.suppress(EngineError):  # a favour: the generation that needs it will tell
                job.ids = await prompt.ids_soon(messages, tools, ahead=True, more_tokens=made)
                self._inbox.put(job)
                while isinstance(await self._next(job), int):
                    pass
        finally:
            job.cancelled = True
            if self._making_room.get(call_id) is asyncio.current_task():
                del self._making_room[call_id]

    def _stop_making_room(self, call_id: str) -> None:
        task = self._making_room.pop(call_id, None)
        if task is not None:
            task.cancel()

    @property
    def no_tools(self) -> str:
        """See `voiceagent.llm.engine.no_tools`."""
        return self.prompt.no_tools

    @property
    def problems(self) -> dict[str, int]:
        """See `LlmEngine.problems`: it has none that it could make good."""
        return {}

    async def kv_capacity(self) -> KvCapacity:
        """See `LlmEngine.kv_capacity`: the sessions that are kept, each as long as the context."""
        return KvCapacity(self.options.max_sessions * self.options.context_tokens, self.options.context_tokens)

    async def forget(self, call_id: str) -> None:
        """See `LlmEngine.forget`."""
        self._stop_making_room(call_id)
        self._prompts.pop(call_id, None)
        if self._closing:
            return
        forget = Forget(call_id)
        self._inbox.put(forget)
        with contextlib.suppress(TimeoutError):  # the worker hangs, and its generations have said so
            async with asyncio.timeout(ENDING_S):
                await forget.done.wait()

    async def close(self) -> None:
        """See `LlmEngine.close`."""
        self._closing = True
        making_room = tuple(self._making_room.values())
        for task in making_room:
            task.cancel()
        await asyncio.gather(*making_room, return_exceptions=True)
        self._inbox.put(None)
        await asyncio.to_thread(self._thread.join, ENDING_S)

    # --- the worker thread ---

    def _work(self) -> None:
        active: deque[Job | Ending] = deque()
        while True:
            while not active or not self._inbox.empty():
                item = self._inbox.get()
                if item is None:
                    for job in active:
                        job.give(EngineError("the language model was shut down"))
                    self._sessions.clear()
                    return
                if isinstance(item, Forget):
                    active = without(active, item.call_id)
                    self._sessions.pop(item.call_id, None)
                    item.tell()
                else:
                    active.append(item)
            job = active.popleft()
            try:
                if isinstance(job, Ending):
                    self._answer(job, active)
                elif self._advance(job):
                    active.append(job)
                else:
                    job.session = None  # the worker waits with `job` in hand: it must not hold a forgotten call's cache
            except Exception as error:  # onnxruntime-genai raises bare RuntimeErrors
                log.exception("the language model failed")
                self._sessions.pop(job.call_id, None)
                job.give(EngineError(f"the language model failed: {error}"))

    def _advance(self, job: Job) -> bool:
        """Read a piece of the prompt or make one token; False when the job is over."""
        if job.cancelled:
            return False
        if job.session is None:
            job.session = self._session(job.call_id)
        session = job.session
        if job.read < 0:
            self._rewind(session, job)
        if job.read < len(job.ids):
            self._read(session, job, job.ids[job.read : job.read + PREFILL_TOKENS])
            return True
        if job.left <= 0:
            job.give(None)
            return False
        self._token_since_s = time.monotonic()
        try:
            return self._generate(session, job)
        finally:
            self._token_since_s = None

    def _rewind(self, session: Session, job: Job) -> None:
        """To where the cache and the prompt part."""
        job.read = self._same(session, job.ids)
        if session.ids:
            session.generator.rewind_to(job.read)
            del session.ids[job.read :]
        session.read, session.draft = job.read, []
        if self._steps is not None:
            job.drafts = Drafts(self.prompt, job.ids, job.messages, job.constraint, self._ending)

    def _read(self, session: Session, job: Job, piece: list[int]) -> None:
        """A piece of the prompt."""
        session.ids += piece
        job.read += len(piece)
        if self._steps is None:
            session.generator.append_tokens(piece)
        else:
            self._steps.read(session, piece, self._draft(session, job) if job.read == len(job.ids) else [])
        self.tokens_read += len(piece)

    def _draft(self, session: Session, job: Job) -> list[int]:
        """What may follow the session's tokens."""
        room = min(self.options.draft_tokens, LONGEST_DRAFT, job.left - 1, self.options.context_tokens - len(session.ids))
        return job.drafts.next(session.ids[len(job.ids) :], room) if job.drafts is not None and room > 0 else []

    def _generate(self, session: Session, job: Job) -> bool:
        """Generate a token, or as many as are known by now; False when the job is over."""
        if self._steps is None:
            tokens = self._next_tokens(session, job.constraint)
            session.ids += tokens
            return self._give(session, job, tokens)
        if not self._give(session, job, self._steps.take(session, job.constraint)):
            if session.ids[-1] in self._stop_ids and not (job.constraint and job.constraint.called):
                self._ending = session.ids[-2:]
            return False
        self._steps.read(session, session.ids[session.read :], self._draft(session, job))
        return True

    def _give(self, session: Session, job: Job, tokens: list[int]) -> bool:
        """Hand the session's last tokens on; False when the job is over. What would stand behind its end is no part of it."""
        for number, token in enumerate(tokens, 1):
            job.left -= 1
            stops = token in self._stop_ids
            if not stops:
                job.give(token)
            if stops or job.left <= 0:
                job.give(None)
                del session.ids[len(session.ids) - len(tokens) + number :]
                session.read = min(session.read, len(session.ids))
                return False
        return True

    def _answer(self, ending: Ending, active: Iterable[Job | Ending]) -> None:
        """Say what may follow. A job of the same call that is under way finds the cache as it left it."""
        session = self._sessions.get(ending.call_id)
        if ending.cancelled:
            return
        if session is None or len(ending.ids) - self._same(session, ending.ids) > PREFILL_TOKENS:
            ending.give(None)
            return
        ids, draft = session.ids, session.draft
        self._hold(session, ending.ids, [])
        generator = session.generator
        logits = generator.get_logits() if self._steps is None else generator.get_output(RECENT)
        chance = ending_share(logits[0, -1], self._ending_ids)
        if any(job.session is session for job in active):
            self._hold(session, ids, draft)
        ending.give(chance)

    def _same(self, session: Session, ids: Sequence[int]) -> int:
        """How many of these ids need not be read anew."""
        return _common(session.ids[: session.read] if self._steps else session.ids, ids)

    def _hold(self, session: Session, ids: Sequence[int], draft: Sequence[int]) -> None:
        """Have the cache hold these ids, all of them read, and the draft behind them."""
        same = self._same(session, ids)
        if self._steps is not None:
            same = max(0, min(same, len(ids) + len(draft) - SHORTEST_STEP))
        if session.ids:
            session.generator.rewind_to(same)
        session.generator.append_tokens([*ids[same:], *draft])
        self.tokens_read += len(ids) - same
        session.ids, session.read, session.draft = list(ids), len(ids), list(draft)

    def _next_tokens(self, session: Session, constraint: ToolConstraint | None) -> list[int]:
        """One token; or of a tool call the next one with all that must follow it, which are read in one step."""
        generator = session.generator
        if constraint is not None and constraint.inside:
            tokens = constraint.next(generator.get_logits())  # this reads the last token: append_tokens alone would leave it out
            generator.append_tokens(tokens)
            return tokens
        generator.generate_next_token()
        token = int(generator.get_next_tokens()[0])
        if constraint is not None:
            constraint.took(token)
        return [token]

    def _session(self, call_id: str) -> Session:
        session = self._sessions.get(call_id)
        if session is None:
            session = self._sessions[call_id] = Session(self._generator())
            while len(self._sessions) > self.options.max_sessions:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(call_id)
        return session

    def _generator(self) -> Any:
        parameters = self._genai.GeneratorParams(self._model)
        search: dict[str, Any] = {"max_length": self.options.context_tokens, "do_sample": self.options.temperature > 0}
        if self.options.temperature > 0:
            search["temperature"] = self.options.temperature
        parameters.set_search_options(**search)
        return self._genai.Generator(self._model, parameters)


def _common(held: Sequence[int], wanted: Sequence[int]) -> int:
    """How many ids both begin with, but less than all of `wanted` and of `held`: the last id must be read anew to be
    answered, and the last one generated was never read."""
    limit = max(0, min(len(held), len(wanted)) - 1)
    return next((index for index in range(limit) if held[index] != wanted[index]), limit)


def _load(folder: Path, threads: int) -> tuple[Any, Any, frozenset[int]]:
    try:
        import onnxruntime_genai as genai  # slow to import: only where this engine is used

        config = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
        stop = config["model"]["eos_token_id"]
        settings = genai.Config(str(folder))
        session = {"intra_op_num_threads": threads, **integer_products.session_options()}
        settings.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
        return genai.Model(settings), genai, frozenset([stop] if isinstance(stop, int) else stop)
    except Exception as error:  # onnxruntime-genai raises bare RuntimeErrors
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"{folder}: cannot be loaded as an onnxruntime-genai model ({line}); check it with: voiceagent models verify"
        ) from error


def create(path: Path | None, options: Mapping[str, Any]) -> EmbeddedEngine:
    """The plugin `embedded` of `voiceagent.llm`. Raises ModelError, ConfigError."""
    if path is None:
        raise ConfigError("llm engine embedded: needs a model; name one of models/registry.yaml")
    try:
        return EmbeddedEngine(path, msgspec.convert(dict(options), EmbeddedOptions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"llm engine embedded: {error}") from error
