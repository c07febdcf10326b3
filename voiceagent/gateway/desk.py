"""The front's side of the links: who has a link lives, how it stands is what it told last, and its places are given back when
the link ends. A process that is killed loses its link at that moment."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from voiceagent.errors import ConfigError
from voiceagent.gateway.addresses import listening_at
from voiceagent.gateway.members import LinkedMembers, Member
from voiceagent.gateway.messages import MAX_LINE_BYTES, Hello, ToWorker, WorkerStatus, line_of, read_to_front
from voiceagent.gateway.shared_quotas import QuotaDesk
from voiceagent.task_owner import TaskOwner

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Desk:
    """Listens for the links of workers."""

    members: LinkedMembers
    quotas: QuotaDesk
    key: str = ""
    """The cluster's key, which workers must bring over TCP."""
    told: Callable[[Member], None] = lambda member: None
    """Called whenever a worker tells how it stands."""
    _links: count[int] = field(default_factory=count)
    _tasks: TaskOwner = field(default_factory=TaskOwner)

    @asynccontextmanager
    async def open(self, address: str) -> AsyncIterator[None]:
        """Take links at `unix:PATH`, or `http://HOST:PORT` of a private network. Raises ConfigError."""

        def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._tasks.start_alone(self._serve(reader, writer), "link of a worker")

        try:
            server = await listening_at(address, came, MAX_LINE_BYTES)
        except OSError as error:
            raise ConfigError(f"links of workers cannot be taken at {address} ({error.strerror})") from error
        try:
            yield
        finally:
            server.close()
            await self._tasks.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link, member = next(self._links), None
        try:
            hello = read_to_front(await reader.readline() or b"{}")
            if not isinstance(hello, Hello) or not hmac.compare_digest(hello.key.encode(), self.key.encode()):
                raise ValueError("it did not introduce itself with the cluster's key")
            member = Member(hello.number, hello.address, region=hello.region)
            self.members.came(member)
            while line := await reader.readline():
                message = read_to_front(line)
                if isinstance(message, WorkerStatus):
                    member = self.members.told(member, message)
                    self.told(member)
                    continue
                answer = self.quotas.hear(link, message)
                if answer is None:
                    continue
                if isinstance(answer, Awaitable):
                    self._tasks.start_alone(_later(writer, answer), "answer to a worker")
                else:
                    writer.write(line_of(answer))
        except (OSError, ValueError) as error:
            log.warning("the link of a worker broke: %s", error)
            # A process that ends closes or resets its connections. A machine that is gone lets them time out.
            if member is not None and isinstance(error, OSError) and not isinstance(error, ConnectionError):
                self.members.vanished(member)
        finally:
            if member is not None:
                self.members.lost(member)
            self.quotas.gone(link)
            writer.close()


async def _later(writer: asyncio.StreamWriter, answer: Awaitable[ToWorker]) -> None:
    writer.write(line_of(await answer))
