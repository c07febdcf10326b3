"""What the embedded language model's worker is asked for: generations, endings, and conversations to forget. The event loop makes
them, the worker's thread answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence

from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.drafts import Drafts
from voiceagent.llm.genai_types import Generator
from voiceagent.llm.tool_constraint import ToolConstraint


class KvCache:
    """A conversation's generator and the token ids that its KV cache holds, the last of which may not be read yet."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.ids: list[int] = []
        self.read = 0
        """So many of `ids` are read; where the generator picks its own tokens, it sees to that itself."""
        self.draft: list[int] = []
        """What was read behind them, in case it follows."""


class Conversation:
    """A conversation's place in the worker, which alone changes it."""

    def __init__(self) -> None:
        self.cache: KvCache | None = None
        """None before its first job, and where others needed the room."""


class Job:
    """One generation: the ids to answer, and where its tokens go. `None` ends the stream, an error ends it too."""

    def __init__(
        self, conversation: Conversation, ids: list[int], max_tokens: int, constraint: ToolConstraint | None = None
    ) -> None:
        self.conversation = conversation
        self.ids = ids
        self.left = max_tokens
        self.constraint = constraint
        self.messages: Sequence[Message] = ()
        """That `ids` are the prompt of, where it is to be answered."""
        self.drafts: Drafts | None = None
        self.read = -1
        """So many of `ids` are read; -1 before the first look at what the cache holds."""
        self.cache: KvCache | None = None
        """The conversation's, while the job is under way."""
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self.tokens: asyncio.Queue[int | EngineError | None] = asyncio.Queue()

    def give(self, token: int | EngineError | None) -> None:
        """Hand a token on; None or an error ends the stream."""
        if not self.cancelled:
            try:
                self._loop.call_soon_threadsafe(self.tokens.put_nowait, token)
            except RuntimeError:
                self.cancelled = True


class Ending:
    """A question: what may follow these ids? Its answer is a chance, or None where too much would have to be read for it."""

    def __init__(self, conversation: Conversation, ids: list[int]) -> None:
        self.conversation = conversation
        self.ids = ids
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[float | None] = self._loop.create_future()

    def give(self, answer: float | EngineError | None) -> None:
        """Answer it, or say why that is impossible."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._set, answer)

    def _set(self, answer: float | EngineError | None) -> None:
        if self.answer.done():
            return
        if isinstance(answer, EngineError):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class Forget:
    """A conversation to forget: `done` is set once its cache is freed."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.done = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def tell(self) -> None:
        """It is forgotten."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self.done.set)


def without(jobs: deque[Job | Ending], conversation: Conversation) -> deque[Job | Ending]:
    """End a conversation's jobs, so that none of them holds its cache; the others' jobs."""
    for job in jobs:
        if job.conversation is conversation:
            if isinstance(job, Job):
                job.cache = None
            job.give(EngineError("the call has ended"))
    return deque(job for job in jobs if job.conversation is not conversation)
