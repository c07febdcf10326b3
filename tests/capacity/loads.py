"""Steps of a load test, as they could have been measured."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.capacity.load_result import LoadResult, LoadStep, LoadTurn, ServerUse

TURN = LoadTurn(
    voice_to_voice_ms=300.0,
    spoke_s=1.5,
    answered_s=2.0,
    spans=[
        *(("stt_partial", -1200.0 + 200 * number, 30.0) for number in range(6)),
        ("endpoint", 0.0, 270.0),
        ("stt_final", 20.0, 40.0),
        ("llm_ttft", 60.0, 50.0),
        ("tts_first_audio", 140.0, 40.0),
        ("playout", 270.0, 10.0),
    ],
    wait={"uplink": 10.0, "vad": 5.0, "endpoint": 255.0, "playout": 10.0},
)
"""Its reply was ready 90 ms before the silence was long enough."""
SERVER = ServerUse(
    cores_used=0.12,
    cores=2,
    threads={"loop": 0.03, "stt-0": 0.01, "stt-1": 0.03, "language-model": 0.02, "piper_0": 0.03},
    lag_mean_ms=0.5,
    lag_p99_ms=2.0,
    refused={},
    drops={},
    shares={"event loop": 0.1, "cores": 0.5},
)


def step(calls: int, turns: Sequence[LoadTurn] = (TURN,) * 30, server: ServerUse = SERVER) -> LoadStep:
    """A minute of so many calls."""
    return LoadStep(calls, 180.0, list(turns), calls, 180.0 * calls, [], [], 0.0, 5.0, 1.0, 0.05, server)


def load_result(*steps: LoadStep) -> LoadResult:
    """A load test of these steps."""
    limits = {"p50": 350.0, "p95": 950.0, "p99": 1700.0}
    return LoadResult("1", "http://127.0.0.1:1", "embedded", "webrtc", True, 8, 2.0, limits, list(steps))
