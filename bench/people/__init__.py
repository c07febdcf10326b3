"""Whole calls over WebRTC in which people's turns are spoken to voiceagent and to Pipecat on the same models: how often the agent
is heard before the person has finished, and how long after the end of the turn it answers. `--part short`: people's answers of a
word or two instead."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Iterator, Sequence

from bench.harness import Figure, plain
from bench.people.contestants import Contestant, contestants
from bench.people.conversation import Found, converse
from bench.people.figures import short_rows, turn_rows, write_turns
from bench.people.material import Spoken, calls, even, short_utterances, turns
from bench.quiet import quiet_machine
from voiceagent.models.registry import require

__all__ = ["NOTES", "measure", "result_name"]

PROFILE = "starter"
MANNERS = {"turns": "brisk,balanced,patient", "short": "balanced"}
NOTES = """
People's recordings (`tests/people`, and the set `turns_measure_only` where $VOICEAGENT_PEOPLE has it) are spoken in calls over
WebRTC: ten turns at most of one speaker, in the order in which they were said; ten short answers, of several speakers. The
contestants are called one after the other with the same turns, in an order that rotates, or so many at a time as the first row
says. Times are read off the audio that the caller sent and received, by the same code for all. The end of a turn and the pauses
in it are labels of the recordings (Silero, in frames of 32 ms). *Hesitant* turns have a pause of 0.2 s or more inside. *Cut off*:
the agent was heard before the end of the turn; 95 % intervals (Wilson) in brackets. *Unanswered*: nothing was heard for 8 s. The
agent is a front desk without tools. The turns answer no question of its, so its question never helps.

**The same:** the Whisper model and greedy decoding with voiceagent's short encoder, the language model with its options and its
instructions, the Piper voice, the caller, the machine. voiceagent's language model runs inside it, as it ships, because a
turn judge asks it, too; Pipecat's in a server of its own beside it (`bench/llm_server.py`).

**Pipecat, defaults** is as in [peers.md](peers.md): Silero (0.2 s to start, 0.2 s to stop) and Smart Turn v3.

The row of each turn is written beside it, to a file that ends in `_turns.json`.
"""


def result_name(options: argparse.Namespace) -> str:
    """Returns the name of the committed result: the short answers stand beside the turns."""
    return "people" if options.part == "turns" else "people_short"


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about 20 minutes of calls a contestant for 91 turns, and 8 for the short answers."""
    profile_name = options.profile or PROFILE
    require(profile_name)
    is_short = options.part == "short"
    said = await asyncio.to_thread(short_utterances if is_short else turns, options.turns)
    parts = by_band(said) if is_short else calls(said)
    manners = (options.manners or MANNERS[options.part]).split(",")
    async with contestants(manners, profile_name, with_peer=options.only != "ours") as playing:
        found = await _called(playing, parts, options.at_once)
    write_turns(options.out / f"{result_name(options)}_turns.json", found)
    rows = short_rows(found) if is_short else turn_rows(found)
    return iter([plain("calls at the same time", options.at_once, ""), *rows])


def by_band(said: Sequence[Spoken]) -> list[Sequence[Spoken]]:
    """Calls of short answers, each in one band."""
    bands = dict.fromkeys(each.band for each in said)
    return [call for band in bands for call in even([each for each in said if each.band == band])]


async def _called(playing: Sequence[Contestant], parts: Sequence[Sequence[Spoken]], at_once: int) -> dict[Contestant, Found]:
    """Make every call to every contestant, in an order that rotates. After Ctrl-C no call is begun; what was measured counts."""
    found = {contestant: Found() for contestant in playing}
    lines, enough = asyncio.Semaphore(at_once), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, enough.set)

    async def call(contestant: Contestant, part: Sequence[Spoken]) -> None:
        async with lines, quiet_machine():
            if enough.is_set():
                return
            await converse(contestant.caller, contestant.url, part, found[contestant])
        print(f"{contestant.name}: {len(found[contestant].turns)} turns, {_cut(found[contestant])} cut off", flush=True)

    async with asyncio.TaskGroup() as group:
        for index, part in enumerate(parts):
            shift = index % len(playing)
            for contestant in (*playing[shift:], *playing[:shift]):
                group.create_task(call(contestant, part))
    return found


def _cut(found: Found) -> int:
    return sum(heard.cut for heard in found.turns)
