"""A gateway without workers of its own, in a process of its own, as a cluster has them. Its arguments: the address where it takes
links, and the cluster's key. It says its URL on stdout."""

from __future__ import annotations

import asyncio
import sys

from voiceagent.gateway.front_metrics import FrontMetrics
from voiceagent.gateway.members import LinkedMembers
from voiceagent.gateway.run import FrontSettings, open_front
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.settings.agent import AdmissionSettings


async def _serve(links: str, key: str) -> None:
    settings = FrontSettings("127.0.0.1", 0, 64, None, KeyRing(), AdmissionSettings(), key=key)
    async with open_front(settings, links, 1, members=LinkedMembers(), metrics=FrontMetrics()) as url:
        print(url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:]))
