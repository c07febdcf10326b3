"""The telephone by figures: 20 SIP calls at once, how soon an interruption by SIP silences the agent, and the answer's delay by
SIP and by a vendor's stream beside a browser's, on the bundled and on real models. All times are read off recorded audio."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from bench.harness import Figure
from bench.phone import band, keys, load, turns
from bench.quiet import quiet_machine

NOTES = """
Server, Janus, kamailio, SIPp and the telephones share the machine's cores. SIPp makes the calls by SIP, through kamailio as the
PBX and Janus as the gateway; the telephones send and receive RTP on sockets of their own, and
take the kernel's time of each packet.

- *packet lateness*: arrival against RTP timestamp, relative to the earliest packet of its call; *latest packet* is the worst of
  all calls. *All ask at the same moment* is the worst that can come: the callers' last words end within the same 20 ms.
- *stop*: from the first voiced sample that the telephone sent of an interruption to the last voiced sample that it received of
  the agent's, before the interruption was over. An answer to its beginning, spoken into a pause of it, counts too. The
  interruptions are sentences of the held-out list in its voices, on two calls at a time.
- *keys that came wrong*: lost, doubled or taken for others, of random numbers that four baresips press by RFC 4733 at the same
  time. The agent answers each number aloud.
- *voice to voice*: from the end of the question to the first sound of the answer. The three legs are asked in turn, in an order
  that rotates, on one server: SIP, the peer of a vendor's stream, which plays what it is sent by a clock of its own, and WebRTC.
- Telephones send 300 to 3,400 Hz.
- *band*: held-out sentences of the published voice, brought to an active level (ITU-T P.56), in that band and through µ-law at
  8 kHz. *Noticed after*: from the first sound to the frame in which the VAD says that speech began. Keys as tones: all twelve in
  a row, 80 to 400 ms each, as telephones without RFC 4733 send them.
- *right tool and an answer*: the tool and its arguments are those of the request, and the answer was heard.
"""
BUNDLED, REAL = "embedded", "starter"
ROUNDS = 3


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about 18 minutes."""
    figures: list[Figure] = []
    async with quiet_machine():
        figures += await load.measured()
    async with quiet_machine():
        figures += turns.stop_rows(await turns.stops(turns.STOPS))
    figures += keys.rows(await keys.pressed(keys.KEYS))
    for profile in (options.profile or f"{BUNDLED},{REAL}").split(","):
        async with quiet_machine():
            figures += turns.rows(profile, await turns.talk(profile, ROUNDS))
        figures += await band.voice_rows(profile)
    figures += await band.heard_rows()
    return figures
