"""The embedded language model's worker: one thread that serves all calls, a token each in turn, and keeps each call's KV cache.
The event loop puts jobs in (`embedded_jobs`), and reads their answers."""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from voiceagent.errors import EngineError, ModelError
from voiceagent.llm import integer_products
from voiceagent.llm.drafts import Drafts
from voiceagent.llm.embedded_jobs import Ending, Forget, Job, Session, without
from voiceagent.llm.embedded_options import EmbeddedOptions
from voiceagent.llm.embedded_steps import LONGEST_DRAFT, SHORTEST_STEP, GreedySteps, tells_recent
from voiceagent.llm.endings import ending_ids, ending_share
from voiceagent.llm.prompt import ChatPrompt
from voiceagent.llm.recent_logits import RECENT
from voiceagent.llm.tool_constraint import ToolConstraint

log = logging.getLogger(__name__)

PREFILL_TOKENS = 256
"""A prompt is read in pieces of this many tokens, so that other calls and cancellation get in between."""


class EmbeddedWorker:
    """One per engine."""

    def __init__(self, folder: Path, options: EmbeddedOptions, prompt: ChatPrompt) -> None:
        """Load the model and start the thread. Raises ModelError."""
        self._options = options
        self._prompt = prompt
        self._model, self._genai, stop_ids = _load(folder, options.threads)
        self._stop_ids = stop_ids | prompt.stop_ids
        self._ending_ids = ending_ids(prompt, self._stop_ids)
        greedy = options.temperature == 0 and tells_recent(self.generator())
        self.steps = GreedySteps(self._stop_ids) if greedy else None
        self._ending = [min(self._stop_ids)] * 2
        """The last tokens of the last answer in words."""
        self.sessions: OrderedDict[str, Session] = OrderedDict()
        self._inbox: queue.SimpleQueue[Job | Ending | Forget | None] = queue.SimpleQueue()
        self.tokens_read = 0
        """Of prompts, in all; what a cache held was not read again."""
        self.token_since_s: float | None = None
        """When it began the token that it is at, on `time.monotonic`."""
        self._thread = threading.Thread(target=self._work, name="language-model", daemon=True)
        self._thread.start()

    def put(self, job: Job | Ending | Forget) -> None:
        """Give it something to do."""
        self._inbox.put(job)

    def stop(self, within_s: float) -> None:
        """End the thread; blocks until it has ended, at most so long."""
        self._inbox.put(None)
        self._thread.join(within_s)

    def _work(self) -> None:
        active: deque[Job | Ending] = deque()
        while True:
            while not active or not self._inbox.empty():
                item = self._inbox.get()
                if item is None:
                    for job in active:
                        job.give(EngineError("the language model was shut down"))
                    self.sessions.clear()
                    return
                if isinstance(item, Forget):
                    active = without(active, item.call_id)
                    self.sessions.pop(item.call_id, None)
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
                self.sessions.pop(job.call_id, None)
                job.give(EngineError(f"the language model failed: {error}"))

    def _advance(self, job: Job) -> bool:
        """Read a piece of the prompt or make one token; False when the job is over."""
        if job.cancelled:
            return False
        if job.session is None:
            job.session = self.session(job.call_id)
        session = job.session
        if job.read < 0:
            self._rewind(session, job)
        if job.read < len(job.ids):
            self._read(session, job, job.ids[job.read : job.read + PREFILL_TOKENS])
            return True
        if job.left <= 0:
            job.give(None)
            return False
        self.token_since_s = time.monotonic()
        try:
            return self._generate(session, job)
        finally:
            self.token_since_s = None

    def _rewind(self, session: Session, job: Job) -> None:
        """To where the cache and the prompt part."""
        job.read = self._same(session, job.ids)
        if session.ids:
            session.generator.rewind_to(job.read)
            del session.ids[job.read :]
        session.read, session.draft = job.read, []
        if self.steps is not None:
            job.drafts = Drafts(self._prompt, job.ids, job.messages, job.constraint, self._ending)

    def _read(self, session: Session, job: Job, piece: list[int]) -> None:
        """A piece of the prompt."""
        session.ids += piece
        job.read += len(piece)
        if self.steps is None:
            session.generator.append_tokens(piece)
        else:
            self.steps.read(session, piece, self._draft(session, job) if job.read == len(job.ids) else [])
        self.tokens_read += len(piece)

    def _draft(self, session: Session, job: Job) -> list[int]:
        """What may follow the session's tokens."""
        room = min(self._options.draft_tokens, LONGEST_DRAFT, job.left - 1, self._options.context_tokens - len(session.ids))
        return job.drafts.next(session.ids[len(job.ids) :], room) if job.drafts is not None and room > 0 else []

    def _generate(self, session: Session, job: Job) -> bool:
        """Generate a token, or as many as are known by now; False when the job is over."""
        if self.steps is None:
            tokens = self._next_tokens(session, job.constraint)
            session.ids += tokens
            return self._give(session, job, tokens)
        if not self._give(session, job, self.steps.take(session, job.constraint)):
            if session.ids[-1] in self._stop_ids and not (job.constraint and job.constraint.called):
                self._ending = session.ids[-2:]
            return False
        self.steps.read(session, session.ids[session.read :], self._draft(session, job))
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
        session = self.sessions.get(ending.call_id)
        if ending.cancelled:
            return
        if session is None or len(ending.ids) - self._same(session, ending.ids) > PREFILL_TOKENS:
            ending.give(None)
            return
        ids, draft = session.ids, session.draft
        self._hold(session, ending.ids, [])
        generator = session.generator
        logits = generator.get_logits() if self.steps is None else generator.get_output(RECENT)
        chance = ending_share(logits[0, -1], self._ending_ids)
        if any(job.session is session for job in active):
            self._hold(session, ids, draft)
        ending.give(chance)

    def _same(self, session: Session, ids: Sequence[int]) -> int:
        """How many of these ids need not be read anew."""
        return _common(session.ids[: session.read] if self.steps else session.ids, ids)

    def _hold(self, session: Session, ids: Sequence[int], draft: Sequence[int]) -> None:
        """Have the cache hold these ids, all of them read, and the draft behind them."""
        same = self._same(session, ids)
        if self.steps is not None:
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

    def session(self, call_id: str) -> Session:
        """The call's, or a new one; the longest unused goes."""
        session = self.sessions.get(call_id)
        if session is None:
            session = self.sessions[call_id] = Session(self.generator())
            while len(self.sessions) > self._options.max_sessions:
                self.sessions.popitem(last=False)
        self.sessions.move_to_end(call_id)
        return session

    def generator(self) -> Any:
        """A new generator of onnxruntime-genai."""
        parameters = self._genai.GeneratorParams(self._model)
        search: dict[str, Any] = {"max_length": self._options.context_tokens, "do_sample": self._options.temperature > 0}
        if self._options.temperature > 0:
            search["temperature"] = self._options.temperature
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
