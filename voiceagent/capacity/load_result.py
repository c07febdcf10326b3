"""The outcome of a load test: what `voiceagent bench load` measures, and `voiceagent plan --measured` simulates from."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import Distribution, StageLimits, distribution

MIN_TURNS = 20
"""A p95 of fewer turns is no p95."""
GAP_LIMIT = 0.01
"""The share of audio frames that may come too late for a caller."""
REFUSALS = {
    "server_full": "places",
    "memory_full": "language model's memory",
    "busy": "event loop",
    "no_media_port": "UDP ports",
    "too_many_calls": "places of one client",
    "too_many_connecting": "places of one client",
    "too_many_offers": "offers of one client",
}
"""The resources that calls are refused for, by the reason in the metrics."""


class LoadTurn(msgspec.Struct, frozen=True):
    """One turn, as its caller heard and the server measured it."""

    voice_to_voice_ms: float
    """From the received audio."""
    spoke_s: float
    answered_s: float
    """From the first sound of the answer to its end."""
    spans: list[tuple[str, float, float]]
    """Stage, start from the end of the caller's speech, duration, in ms."""
    wait: dict[str, float]
    """The parts of the wait in ms, by cause."""


class ServerUse(msgspec.Struct, frozen=True):
    """The use of a server while calls went on."""

    cores_used: float
    """Processor seconds a second."""
    cores: int
    threads: dict[str, float]
    """The same by thread."""
    lag_mean_ms: float
    lag_p99_ms: float
    """Lateness of the event loop: the upper end of a bucket."""
    refused: dict[str, int]
    """Calls that were refused, by reason."""
    drops: dict[str, int]
    """Items that a full queue dropped, by queue."""
    shares: dict[str, float]
    """The used share of each resource; 1 is all of it."""
    workers: int = 1
    """Workers of the server."""


class LoadStep(msgspec.Struct, frozen=True):
    """One step's outcome."""

    calls: int
    duration_s: float
    turns: list[LoadTurn]
    calls_begun: int
    call_s: float
    refused: list[str]
    failed: list[str]
    gaps: float
    """The share of the agent's packets that came too late or never; 0 over the WebSocket."""
    late_p99_ms: float
    """Lateness of packets; 0 over the WebSocket."""
    callers_lag_p99_ms: float
    callers_cores: float
    """Processor seconds a second of all callers."""
    server: ServerUse

    @property
    def waits(self) -> Distribution | None:
        """Voice to voice, on received audio."""
        return distribution([turn.voice_to_voice_ms for turn in self.turns]) if self.turns else None

    @property
    def mean_ms(self) -> float:
        """The mean of the same."""
        return float(np.mean([turn.voice_to_voice_ms for turn in self.turns])) if self.turns else 0.0

    def misses(self, limits: StageLimits) -> list[str]:
        """The reasons why it is not within the budget."""
        found = []
        if self.waits is None or self.waits.count < MIN_TURNS:
            found.append(f"only {len(self.turns)} turns of the {MIN_TURNS} that a p95 needs; hold it for longer")
        if self.waits is not None and self.waits.p50_ms > limits.p50_ms:
            found.append(f"p50 {self.waits.p50_ms:.0f} ms, over {limits.p50_ms:.0f}")
        if self.waits is not None and self.waits.p95_ms > limits.p95_ms:
            found.append(f"p95 {self.waits.p95_ms:.0f} ms, over {limits.p95_ms:.0f}")
        if self.refused:
            found.append(f"{len(self.refused)} calls refused")
        if self.failed:
            found.append(f"{len(self.failed)} calls or turns failed")
        if self.gaps > GAP_LIMIT:
            found.append(f"{self.gaps:.1%} of the audio came too late, over {GAP_LIMIT:.0%}")
        return found

    def binding(self) -> list[tuple[str, float]]:
        """The resources by their used share, the fullest first. What calls were refused for comes before all."""
        refused_for = {REFUSALS.get(reason, reason) for reason in self.server.refused}
        return sorted(self.server.shares.items(), key=lambda item: (item[0] not in refused_for, -item[1]))


class LoadResult(msgspec.Struct, frozen=True):
    """A load test."""

    version: str
    url: str
    profile: str
    leg: str
    callers_here: bool
    """True when the callers ran on the server's machine, and took processor time from it."""
    callers_a_process: int
    pause_s: float
    limits_ms: dict[str, float]
    steps: list[LoadStep]

    @property
    def limits(self) -> StageLimits:
        """The budget."""
        return StageLimits(self.limits_ms["p50"], self.limits_ms["p95"], self.limits_ms["p99"])

    @property
    def highest(self) -> int:
        """The most calls that were within the budget, and all fewer ones, too; 0: none."""
        within = 0
        for step in self.steps:
            if step.misses(self.limits):
                break
            within = step.calls
        return within


MAX_BYTES = 256 * 2**20


def read_load(path: Path) -> LoadResult:
    """The result in a file of `bench load --format json`. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_BYTES // 2**20} MiB; expected JSON of `voiceagent bench load`")
        return msgspec.json.decode(data, type=LoadResult)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); expected JSON of `voiceagent bench load`") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is no result of `voiceagent bench load --format json` ({str(error)[:80]})") from error
