"""Requests to the embedded language model's worker: generations, endings, and conversations to forget. The event loop makes them;
the worker's thread answers them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence

from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.chat.tool_constraint import ToolConstraint
from voiceagent.llm.embedded.drafts import Drafts
from voiceagent.llm.embedded.genai import Generator
from voiceagent.llm.engine import Urgency

FIRST_PIECES = 12
"""About as many pieces of text a reply needs before its first words are spoken. A token makes a piece."""
PIECE_S = 0.2
"""The time that a fast voice takes to speak a piece."""
AHEAD_S = 1.0
"""The time that a job may wait for others if nobody waits for it."""


class KvCache:
    """A conversation's generator, and the token ids in its KV cache. The last of these ids may not be read yet."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.ids: list[int] = []
        self.read = 0
        """The number of `ids` that the model has read. Not used where the generator picks its own tokens."""
        self.draft: list[int] = []
        """Drafted tokens that were read after `ids`, in case they follow."""


class WorkerConversation:
    """A conversation's state in the worker. Only the worker changes it."""

    def __init__(self) -> None:
        self.cache: KvCache | None = None
        """None before its first job, and after it made room for other conversations."""


class Job:
    """One generation: the prompt's ids, and the queue for its tokens. `None` or an error ends the stream."""

    def __init__(
        self, conversation: WorkerConversation, max_tokens: int, constraint: ToolConstraint | None, urgency: Urgency
    ) -> None:
        self.conversation = conversation
        self.ids: list[int] = []
        self.left = max_tokens
        self.pieces = 0
        """Pieces of text passed to the call to be spoken. The session counts them."""
        self.constraint = constraint
        self.opening: list[int] = []
        """The end of `ids` that is the beginning of the answer, if that must be a call."""
        self.messages: Sequence[Message] = ()
        """The messages of the prompt `ids`, if it is to be answered."""
        self.drafts: Drafts | None = None
        self.read = -1
        """The number of `ids` that are read. -1 until the cache was checked."""
        self.cached = 0
        """The number of `ids` that were read before the job."""
        self.cache: KvCache | None = None
        """The conversation's cache, while the job runs."""
        self.cancelled = False
        self._wanted_s = time.monotonic() + (AHEAD_S if urgency is Urgency.AHEAD else 0.0)
        self._loop = asyncio.get_running_loop()
        self.tokens: asyncio.Queue[int | EngineError | None] = asyncio.Queue()

    @property
    def due_s(self) -> float:
        """The time when its next token is due, on `time.monotonic`. It is due when it was asked for, or before its speech
        pauses. The job that is due first goes first (earliest deadline first, Liu and Layland 1973)."""
        return self._wanted_s + PIECE_S * max(0, self.pieces - FIRST_PIECES)

    def give(self, token: int | EngineError | None) -> None:
        """Pass a token on. None or an error ends the stream."""
        if not self.cancelled:
            try:
                self._loop.call_soon_threadsafe(self.tokens.put_nowait, token)
            except RuntimeError:
                self.cancelled = True


class Ending:
    """The question how likely these ids are followed by an ending. The answer is a probability, or None if too much would have to
    be read first."""

    def __init__(self, conversation: WorkerConversation, ids: list[int]) -> None:
        self.conversation = conversation
        self.ids = ids
        self.cancelled = False
        self.due_s = time.monotonic()
        """See `Job.due_s`."""
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[float | None] = self._loop.create_future()

    def give(self, answer: float | EngineError | None) -> None:
        """Answer the question, or report why it cannot be answered."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the answer is no longer needed
            self._loop.call_soon_threadsafe(self._set, answer)

    def _set(self, answer: float | EngineError | None) -> None:
        if self.answer.done():
            return
        if isinstance(answer, EngineError):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class Forget:
    """A conversation to forget. `done` is set when its cache is freed."""

    def __init__(self, conversation: WorkerConversation) -> None:
        self.conversation = conversation
        self.done = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def tell(self) -> None:
        """Report that the conversation is forgotten."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the answer is no longer needed
            self._loop.call_soon_threadsafe(self.done.set)


def without(jobs: Iterable[Job | Ending], conversation: WorkerConversation) -> list[Job | Ending]:
    """End a conversation's jobs, so that none of them holds its cache. Returns the other jobs."""
    for job in jobs:
        if job.conversation is conversation:
            if isinstance(job, Job):
                job.cache = None
            job.give(EngineError("the call has ended"))
    return [job for job in jobs if job.conversation is not conversation]
