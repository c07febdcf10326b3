"""The embedded language model's worker: one thread for all calls. Each call has a KV cache. At every token the
worker goes on with the call whose next token is due first. The event loop sends jobs (`jobs`) and reads the answers."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.errors import EngineError, ModelError
from voiceagent.llm.chat.prompt import ChatPrompt
from voiceagent.llm.chat.tool_constraint import ToolConstraint
from voiceagent.llm.embedded import genai
from voiceagent.llm.embedded.drafts import Drafts
from voiceagent.llm.embedded.genai import RECENT, RECENT_TOKENS, Generator, LoadedModel
from voiceagent.llm.embedded.jobs import Ending, Forget, Job, KvCache, WorkerConversation, without
from voiceagent.llm.endings import ending_ids, ending_share

SHORTEST_STEP = 2
LONGEST_DRAFT = RECENT_TOKENS - 1


def tells_recent(generator: Generator) -> bool:
    """True if the model's graph has the output. `generator` must not be used for anything else."""
    try:
        generator.append_tokens([0] * (RECENT_TOKENS))
        return bool(generator.get_output(RECENT).shape[1] == RECENT_TOKENS)
    except RuntimeError:  # onnxruntime-genai: there is no such output
        return False


class GreedySteps:
    """Takes the likeliest token at every place, for a model whose graph gives the logits of the last few tokens, not only of the
    last one. The known tokens and a draft are read together. The draft is kept as far as the model would have chosen its tokens.
    The result is the same as with single steps, because onnxruntime computes each of several rows alike. It computes a single
    row in another order, so every step reads at least two tokens."""

    def __init__(self, stop_ids: frozenset[int]) -> None:
        self._stop_ids = stop_ids
        self._filler = min(stop_ids)

    def read(self, cache: KvCache, tokens: list[int], draft: list[int]) -> None:
        """Read the known next tokens, then the draft."""
        if cache.draft:
            cache.generator.rewind_to(cache.read)
        cache.draft = []
        draft = draft or [self._filler] * (SHORTEST_STEP - len(tokens))
        cache.generator.append_tokens([*tokens, *draft])
        cache.read += len(tokens)
        cache.draft = draft

    def take(self, cache: KvCache, constraint: ToolConstraint | None) -> list[int]:
        """The tokens that follow those that are read: the right part of the draft, the token after it, and tokens that a call's
        grammar forces. They become ids of the cache. Those that were not in the draft are not read yet."""
        rows = cache.generator.get_output(RECENT)[0][-1 - len(cache.draft) :]
        taken: list[int] = []
        right = 0
        while right == len(taken) and not (taken and taken[-1] in self._stop_ids):
            more = _next(rows[right], constraint)
            taken += more
            while right < min(len(taken), len(cache.draft)) and cache.draft[right] == taken[right]:
                right += 1
        cache.ids += taken
        cache.read += right
        cache.draft = cache.draft[right:]
        return taken


def _next(logits: NDArray[np.float32], constraint: ToolConstraint | None) -> list[int]:
    """The forced tokens, or the likeliest token. `logits` are those after the tokens taken so far."""
    if constraint is None:
        return [int(logits.argmax())]
    if constraint.inside:
        return constraint.next(logits[None, None])
    token = int(logits.argmax())
    constraint.took(token)
    return [token, *constraint.forced()]


class EmbeddedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a profile's `llm`."""

    threads: int = 1
    context_tokens: int = 2048
    """Most tokens of prompt and reply together."""
    long_history_tokens: int | None = None
    """A conversation with more estimated tokens, without instructions and tools, is too long for the model. It is the default of
    an agent's `llm.long_history_tokens`. None: the model needs no such limit."""
    max_tokens: int = 200
    temperature: float = 0.0
    draft_tokens: int = LONGEST_DRAFT
    """Most tokens drafted per step. Drafts need a model whose graph can check them, and `temperature` 0."""
    max_sessions: int = 64
    """Most calls whose KV caches are kept. Beyond that the one unused for longest is freed."""
    enable_thinking: bool | None = None
    """Passed to the chat template if set."""
    tool_format: str = ""
    """The form of the model's tool calls, if its chat template does not show it."""


log = logging.getLogger(__name__)

PREFILL_TOKENS = 256
"""Prompts are read in pieces of this many tokens, so that other calls and cancellations need not wait long."""


class EmbeddedWorker:
    """One per engine."""

    def __init__(self, folder: Path, options: EmbeddedOptions, prompt: ChatPrompt) -> None:
        """Load the model and start the thread. Raises ModelError."""
        self._options = options
        self._prompt = prompt
        self._model, stop_ids = _load(folder, options.threads)
        self._stop_ids = stop_ids | prompt.stop_ids
        self._ending_ids = ending_ids(prompt, self._stop_ids)
        greedy = options.temperature == 0 and tells_recent(self.generator())
        self.steps = GreedySteps(self._stop_ids) if greedy else None
        self._ending = [min(self._stop_ids)] * 2
        """The last tokens of the last answer in words."""
        self.caching: OrderedDict[WorkerConversation, None] = OrderedDict()
        """The conversations that have a KV cache. The one unused for longest comes first."""
        self._inbox: queue.SimpleQueue[Job | Ending | Forget | None] = queue.SimpleQueue()
        self.tokens_read = 0
        """Prompt tokens read in all. Cached tokens are not read again."""
        self.token_since_s: float | None = None
        """The time when the current token began, on `time.monotonic`. None between tokens."""
        self._thread = threading.Thread(target=self._work, name="language-model", daemon=True)
        self._thread.start()

    def put(self, job: Job | Ending | Forget) -> None:
        """Give the worker a job."""
        self._inbox.put(job)

    def stop(self, within_s: float) -> None:
        """End the thread, and wait for its end at most `within_s`."""
        self._inbox.put(None)
        self._thread.join(within_s)

    def _work(self) -> None:
        active: list[Job | Ending] = []
        while True:
            while not active or not self._inbox.empty():
                item = self._inbox.get()
                if item is None:
                    for job in active:
                        job.give(EngineError("the language model was shut down"))
                    self._free_all()
                    return
                if isinstance(item, Forget):
                    active = without(active, item.conversation)
                    self._free(item.conversation)
                    item.tell()
                else:
                    active.append(item)
            job = min(active, key=lambda job: job.due_s)
            active.remove(job)
            try:
                if isinstance(job, Ending):
                    self._answer(job, active)
                elif self._advance(job):
                    active.append(job)
                else:
                    job.cache = None  # the worker waits with `job` in hand: it must not hold a forgotten conversation's cache
            except Exception as error:  # onnxruntime-genai raises bare RuntimeErrors
                log.exception("the language model failed")
                self._free(job.conversation)
                job.give(EngineError(f"the language model failed: {error}"))

    def _advance(self, job: Job) -> bool:
        """Read a piece of the prompt or generate one token. Returns False when the job is over."""
        if job.cancelled:
            return False
        if job.cache is None:
            job.cache = self.cache(job.conversation)
        cache = job.cache
        if job.read < 0:
            self._rewind(cache, job)
        if job.read < len(job.ids):
            self._read(cache, job, job.ids[job.read : job.read + PREFILL_TOKENS])
            return True
        if job.left <= 0:
            job.give(None)
            return False
        self.token_since_s = time.monotonic()
        try:
            return self._generate(cache, job)
        finally:
            self.token_since_s = None

    def _rewind(self, cache: KvCache, job: Job) -> None:
        """Go back to where the cache and the prompt differ."""
        job.read = job.cached = self._same(cache, job.ids)
        if cache.ids:
            cache.generator.rewind_to(job.read)
            del cache.ids[job.read :]
        cache.read, cache.draft = job.read, []
        if job.constraint is not None:
            for token in job.opening:
                job.constraint.took(token)
        if self.steps is not None:
            job.drafts = Drafts(self._prompt, job.ids, job.messages, job.constraint, self._ending)

    def _read(self, cache: KvCache, job: Job, piece: list[int]) -> None:
        """Read a piece of the prompt."""
        cache.ids += piece
        job.read += len(piece)
        if self.steps is None:
            cache.generator.append_tokens(piece)
        else:
            self.steps.read(cache, piece, self._draft(cache, job) if job.read == len(job.ids) else [])
        self.tokens_read += len(piece)

    def _draft(self, cache: KvCache, job: Job) -> list[int]:
        """The draft of what may follow the cache's tokens."""
        room = min(self._options.draft_tokens, LONGEST_DRAFT, job.left - 1, self._options.context_tokens - len(cache.ids))
        return job.drafts.next(cache.ids[len(job.ids) :], room) if job.drafts is not None and room > 0 else []

    def _generate(self, cache: KvCache, job: Job) -> bool:
        """Generate a token, or all tokens that are certain. Returns False when the job is over."""
        if self.steps is None:
            tokens = self._next_tokens(cache, job.constraint)
            cache.ids += tokens
            return self._give(cache, job, tokens)
        if not self._give(cache, job, self.steps.take(cache, job.constraint)):
            if cache.ids[-1] in self._stop_ids and not (job.constraint and job.constraint.called):
                self._ending = cache.ids[-2:]
            return False
        self.steps.read(cache, cache.ids[cache.read :], self._draft(cache, job))
        return True

    def _give(self, cache: KvCache, job: Job, tokens: list[int]) -> bool:
        """Pass the cache's last tokens on. Returns False when the job is over. Tokens after its end are removed."""
        for number, token in enumerate(tokens, 1):
            job.left -= 1
            stops = token in self._stop_ids
            if not stops:
                job.give(token)
            if stops or job.left <= 0:
                del cache.ids[len(cache.ids) - len(tokens) + number :]
                cache.read = min(cache.read, len(cache.ids))
                job.give(None)
                return False
        return True

    def _answer(self, ending: Ending, active: Iterable[Job | Ending]) -> None:
        """Answer how likely an ending follows. A running job of the same call finds the cache unchanged."""
        cache = ending.conversation.cache
        if ending.cancelled:
            return
        if cache is None or len(ending.ids) - self._same(cache, ending.ids) > PREFILL_TOKENS:
            ending.give(None)
            return
        ids, draft = cache.ids, cache.draft
        self._hold(cache, ending.ids, [])
        generator = cache.generator
        logits = generator.get_logits() if self.steps is None else generator.get_output(RECENT)
        chance = ending_share(logits[0, -1], self._ending_ids)
        if any(isinstance(job, Job) and job.cache is cache for job in active):
            self._hold(cache, ids, draft)
        ending.give(chance)

    def _same(self, cache: KvCache, ids: Sequence[int]) -> int:
        """The number of these ids that need not be read again."""
        return _common(cache.ids[: cache.read] if self.steps else cache.ids, ids)

    def _hold(self, cache: KvCache, ids: Sequence[int], draft: Sequence[int]) -> None:
        """Make the cache hold these ids, all of them read, with the draft after them."""
        same = self._same(cache, ids)
        if self.steps is not None:
            same = max(0, min(same, len(ids) + len(draft) - SHORTEST_STEP))
        if cache.ids:
            cache.generator.rewind_to(same)
        cache.generator.append_tokens([*ids[same:], *draft])
        self.tokens_read += len(ids) - same
        cache.ids, cache.read, cache.draft = list(ids), len(ids), list(draft)

    def _next_tokens(self, cache: KvCache, constraint: ToolConstraint | None) -> list[int]:
        """One token. Inside a tool call also all tokens that must follow it, which are read in one step."""
        generator = cache.generator
        if constraint is not None and constraint.inside:
            tokens = constraint.next(generator.get_logits())  # this reads the last token: append_tokens alone would leave it out
            generator.append_tokens(tokens)
            return tokens
        generator.generate_next_token()
        token = int(generator.get_next_tokens()[0])
        if constraint is not None:
            constraint.took(token)
        return [token]

    def cache(self, conversation: WorkerConversation) -> KvCache:
        """The conversation's cache, or a new one. If there are too many, the one unused for longest is freed, and its
        conversation's next prompt is read again."""
        if conversation.cache is None:
            conversation.cache = KvCache(self.generator())
            while self.caching and len(self.caching) >= self._options.max_sessions:
                self._free(next(iter(self.caching)))
        self.caching[conversation] = None
        self.caching.move_to_end(conversation)
        return conversation.cache

    def _free(self, conversation: WorkerConversation) -> None:
        self.caching.pop(conversation, None)
        conversation.cache = None

    def _free_all(self) -> None:
        for conversation in tuple(self.caching):
            self._free(conversation)

    def generator(self) -> Generator:
        """A new generator of onnxruntime-genai."""
        search: dict[str, float | bool] = {"max_length": self._options.context_tokens, "do_sample": self._options.temperature > 0}
        if self._options.temperature > 0:
            search["temperature"] = self._options.temperature
        return self._model.generator(search)


def _common(held: Sequence[int], wanted: Sequence[int]) -> int:
    """The number of ids that both begin with, but fewer than all of `wanted` and of `held`. The last wanted id must be read again
    to be answered, and the last generated one was never read."""
    limit = max(0, min(len(held), len(wanted)) - 1)
    return next((index for index in range(limit) if held[index] != wanted[index]), limit)


def _load(folder: Path, threads: int) -> tuple[LoadedModel, frozenset[int]]:
    try:
        config = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
        stop = config["model"]["eos_token_id"]
        session = {"intra_op_num_threads": threads, **genai.session_options()}
        model = LoadedModel(folder, json.dumps({"model": {"decoder": {"session_options": session}}}))
        return model, frozenset([stop] if isinstance(stop, int) else stop)
    except Exception as error:  # onnxruntime-genai raises bare RuntimeErrors
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"{folder}: cannot be loaded as an onnxruntime-genai model ({line}); check it with: voiceagent models verify"
        ) from error
