"""Values that are collected in whole telephone calls: keyed in, read back, corrected and agreed to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp

from tests.fakes import Said
from tests.telephone.peers import Peer
from tests.telephone.test_telephone_calls import a_line, ask, ended, spoken
from voiceagent.conversation import actions as act

COLLECTING = """
steps:
  who:
    instructions: You take a payment.
    values:
      member: {collect: digits, confirm: always, options: {length: 6}}
      card: {collect: card}
    next: [{to: done}]
  done: {instructions: Thank them.}
"""
CARD = "4242424242424242"


async def key_in(peer: Peer, keys: str, quiet_s: float = 0.6) -> None:
    """Key this in, and wait until the answer was heard; `quiet_s` 0: until it begins."""
    for key in keys:
        await peer.press(key)
        await asyncio.sleep(0.05)  # faster than people are
    pressed = asyncio.get_running_loop().time()
    await peer.wait(lambda: peer.heard[-1][0] > pressed and peer.is_quiet(quiet_s) == bool(quiet_s))


async def test_numbers_are_keyed_in_read_back_and_corrected_by_keys(
    session: aiohttp.ClientSession, said: Said, tmp_path: Path
) -> None:
    with a_line(tmp_path, COLLECTING) as server:
        async with Peer(session, server.url, "twilio", patience_s=30.0) as peer:
            await peer.wait(lambda: peer.is_quiet(0.6))
            yes = await spoken(said, "Yes, please.", peer)
            await key_in(peer, "482913#", quiet_s=0.0)  # the last digit ends the number, and callers press the # all the same
            await key_in(peer, "482914#")
            await ask(peer, yes)
            await key_in(peer, CARD + "#")
            peer.say(yes)
            await peer.wait(lambda: peer.heard[-1][0] > peer.spoken_until > 0 and not peer.is_speaking)
        steps = await ended(server, 1)
    actions = [action for _, done in steps for action in done]
    heard = [action.heard for action in actions if isinstance(action, act.ReplyEnded)]
    lines = ["4 8 2, 9 1 4, is that right?", "Thank you. What is the card number?", "the card ending in 4 2 4 2, is that right?"]
    assert [line for line in heard if line in lines] == lines
    told = [(one.name, one.value) for one in actions if isinstance(one, act.ValueCollected) and one.stage == "confirmed"]
    assert told == [("member", "482914"), ("card", "card ending 4242")]
    assert CARD not in str(steps)
