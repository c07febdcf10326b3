"""People's sounds over the agent's voice, for `bench/floor.py`: backchannels and rooms that must not silence it, and requests and
commands that must. Heard by the recogniser of `starter`; the agent's manners are the default. The recordings are those of
`tests/people`; coughs and laughs of callers may not be given on, so none are here (`models/wordlike.md`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.floor_curve import STOP_P50_MS, STOP_P95_MS
from bench.harness import Figure, at_most
from bench.virtual_call import RATE_HZ, Overlap, Remembered, SpokenOver, over_speech
from tests.people.people import Recording, recordings
from voiceagent.engines import load_stt
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import profile

PEOPLE_AUDIBLE_MS = 250.0
BACKCHANNEL_SHARE, ROOM_SHARE = 25.0, 15.0
COMMANDS = {"stop", "no", "help"}


async def people() -> Iterator[Figure]:
    """The figures. Raises ModelError where the models of `starter` were not pulled."""
    spoken = recordings("utterances")
    engine = Remembered(load_stt(profile("starter").stt))
    try:
        backchannels = [await _over(engine, each) for each in recordings("backchannels")]
        rooms = [await _over(engine, each) for each in recordings("rooms")]
        requests = [await _over(engine, each) for each in spoken if each.kind == "request to an assistant"]
        commands = [await _over(engine, each) for each in spoken if each.text in COMMANDS]
    finally:
        await engine.close()
    return _rows(backchannels, rooms, requests, commands)


async def _over(engine: Remembered, recording: Recording) -> Overlap:
    pcm = recording.audio()[int(recording.start_s * RATE_HZ) : int(recording.end_s * RATE_HZ)]
    return await SpokenOver(engine).overlap_coded(over_speech(pcm), len(pcm) * 1000 / RATE_HZ)


def _rows(
    backchannels: Sequence[Overlap], rooms: Sequence[Overlap], requests: Sequence[Overlap], commands: Sequence[Overlap]
) -> Iterator[Figure]:
    for what, outcomes, most in (("backchannels", backchannels, BACKCHANNEL_SHARE), ("rooms", rooms, ROOM_SHARE)):
        silenced = [outcome for outcome in outcomes if outcome.yielded or outcome.gap_ms > PEOPLE_AUDIBLE_MS]
        share = round(100 * len(silenced) / len(outcomes), 1)
        yield at_most(f"people: {what} that silence it for over {PEOPLE_AUDIBLE_MS:g} ms, of {len(outcomes)}", share, most, "%")
    for what, outcomes in (("requests", requests), ("commands", commands)):
        stopped_ms = [outcome.stopped_ms for outcome in outcomes if outcome.yielded]
        yielded = round(100 * len(stopped_ms) / len(outcomes), 1)
        yield Figure(f"people: {what} that stop it, of {len(outcomes)}", yielded, "%", "", True)
        for percent, limit_ms in ((50, STOP_P50_MS), (95, STOP_P95_MS)):
            yield at_most(f"people: {what} to silence p{percent}", round(percentile(stopped_ms, percent), 1), limit_ms, "ms")
