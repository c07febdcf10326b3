"""A thousand keys by RFC 4733, which baresip presses, through kamailio and Janus: what the agent gets of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from difflib import SequenceMatcher

from bench.harness import Figure, at_least, at_most
from bench.phone.line import Line, all_ended, kept_calls, line
from tests.kept_calls import latest_log
from tests.telephone.sip_parts import HOST, phone
from voiceagent.conversation import events as ev

NAMES = ("alice", "carol", "dave", "erin")
KEYS = 1000
END = "#"
DIGITS = "0123456789*ABCD"
LONGEST = 20
"""Digits of a number."""
KEY_S = 0.3
"""The time that baresip takes for a key, with some room."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """On one telephone."""

    sent: str
    arrived: str
    """The keys that the agent got, each number closed by `END`."""

    @property
    def wrong(self) -> int:
        """Keys that were lost, doubled or taken for others."""
        same = sum(block.size for block in SequenceMatcher(None, self.sent, self.arrived, autojunk=False).get_matching_blocks())
        return max(len(self.sent), len(self.arrived)) - same


async def pressed(keys: int) -> list[Pressed]:
    """All telephones press at the same time. The agent answers each number aloud, and the next key stops it."""
    rng = random.Random(0)
    sent = [_numbers(rng, -(-keys // len(NAMES))) for _ in NAMES]
    async with line("embedded") as world, AsyncExitStack() as stack:
        calls: list[str] = []
        phones = [await stack.enter_async_context(phone(world.folder, name, world.pbx_port)) for name in NAMES]
        for each in phones:
            before = kept_calls(world)
            await each.do("dial", f"sip:agent@{HOST}:{world.pbx_port}")
            await each.wait_told("CALL_ESTABLISHED")
            calls += kept_calls(world) - before
        for each, text in zip(phones, sent, strict=True):
            await each.do("sndcode", text)
        await asyncio.sleep(KEY_S * max(map(len, sent)))
        for each in phones:
            await each.do("hangup")
        await all_ended(world)
        return [Pressed(text, _arrived(world, call_id)) for text, call_id in zip(sent, calls, strict=True)]


def _numbers(rng: random.Random, keys: int) -> str:
    """Returns this many keys, as numbers."""
    text = ""
    while len(text) < keys:
        text += "".join(rng.choices(DIGITS, k=rng.randint(1, LONGEST))) + END
    return f"{text[: keys - 1].rstrip(END):0<{keys - 1}}{END}"  # no number is empty


def _arrived(world: Line, call_id: str) -> str:
    _, steps = latest_log(world.server.data_dir, call_id)
    return "".join(step.event.text + END for step in steps if isinstance(step.event, ev.TextReceived))


def rows(found: Sequence[Pressed]) -> Iterator[Figure]:
    """The figures of `pressed`."""
    yield at_least("SIP: keys pressed", sum(len(each.sent) for each in found), KEYS, "")
    yield at_most("SIP: keys that came wrong", sum(each.wrong for each in found), 0, "")
