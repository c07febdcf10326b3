"""A server under load as its `/metrics` tell of it: what each of its resources was used for between two moments."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import aiohttp
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from voiceagent.capacity.load_result import REFUSALS, ServerUse
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import StageLimits
from voiceagent.latency.spans import Stage
from voiceagent.untrusted_json import read_struct

LOOK_EVERY_S = 1.0
TIMEOUT_S = 10.0
LOOP = "loop"
THREADS = {"stt": "speech recognition", "language-model": "language model", "piper": "voice", "turn-judge": "turn judge"}
"""The parts of the agent by the beginning of their threads' names."""
METRICS = "/metrics"
WORKER = "worker"
"""The label by which a server of several workers tells whose a value is."""
LARGEST = {"voiceagent_cores", "voiceagent_pressure", "voiceagent_llm_load"}
"""Metrics of which the largest of all workers counts; of others, their sum does."""


class MetricsReading(dict[tuple[str, str], float]):
    """Values by metric and label, those of all workers taken together."""

    workers = 1


@dataclass(slots=True)
class _Look:
    at_s: float
    reading: MetricsReading


class WatchedServer:
    """The metrics of a server. `async with` it. A key of metrics opens nothing but these, so the budget is asked for by a
    client's."""

    def __init__(self, url: str, metrics_key: str, key: str) -> None:
        self._url = url.rstrip("/")
        self._metrics_key, self._key = metrics_key, key
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> WatchedServer:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(TIMEOUT_S))
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def limits(self) -> tuple[str, StageLimits]:
        """The profile, and its budget from voice to voice. Raises MediaError."""
        text = await self._get("/v1/voiceagent/budgets", self._key)
        try:
            told: JsonObject = read_struct(text, dict)
            stage = next(stage for stage in told["stages"] if stage["stage"] == Stage.VOICE_TO_VOICE)
            p50_ms, p95_ms, p99_ms = (float(stage[f"{name}_ms"]) for name in ("p50", "p95", "p99"))
            return str(told["profile"]), StageLimits(p50_ms, p95_ms, p99_ms)
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            raise MediaError(f"{self._url}: tells no latency budget; expected a voiceagent server") from error

    async def use(self, duration_s: float) -> ServerUse:
        """Watch for so long; looks that the server was too slow for are left out. Raises MediaError when the last one fails."""
        looks = [await self._look()]
        end_s = time.monotonic() + duration_s
        while (left_s := end_s - time.monotonic()) > LOOK_EVERY_S:
            await asyncio.sleep(LOOK_EVERY_S)
            with suppress(MediaError):
                looks.append(await self._look())
        await asyncio.sleep(max(0.0, left_s))
        looks.append(await self._look())
        return _use(looks)

    async def _look(self) -> _Look:
        return _Look(time.monotonic(), read_metrics(await self._get(METRICS, self._metrics_key)))

    async def _get(self, path: str, key: str) -> str:
        assert self._session is not None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            async with self._session.get(f"{self._url}{path}", headers=headers) as answer:
                if answer.status != 200:
                    option = "a key of metrics with --metrics-token" if path == METRICS else "a client's key with --token"
                    advice = f"give {option}" if answer.status in (401, 403) else "is it voiceagent's?"
                    raise MediaError(f"{self._url}{path}: the server answered {answer.status}; {advice}")
                return await answer.text()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise MediaError(f"{self._url}{path}: no answer ({str(error) or type(error).__name__}); is the server up?") from error


def read_metrics(text: str) -> MetricsReading:
    """The samples of an exposition. The key's second part is the value of a metric's one label besides `worker`."""
    families: list[Metric] = list(text_string_to_metric_families(text))
    found, workers = MetricsReading(), set()
    for one in (one for family in families for one in family.samples):
        key = one.name, next((value for label, value in one.labels.items() if label != WORKER), "")
        known = found.get(key, 0.0)
        found[key] = max(known, one.value) if one.name in LARGEST else known + one.value
        workers.add(one.labels.get(WORKER, ""))
    found.workers = max(1, sum(worker.isdecimal() for worker in workers))  # the front has a name
    return found


def _use(looks: Sequence[_Look]) -> ServerUse:
    first, last = looks[0], looks[-1]
    took_s = max(1e-6, last.at_s - first.at_s)
    grown = {key: value - first.reading.get(key, 0.0) for key, value in last.reading.items()}
    threads = {thread: spent / took_s for thread, spent in _labelled(grown, "voiceagent_cpu_seconds_total").items()}
    cores, workers = int(last.reading.get(("voiceagent_cores", ""), 0.0)) or 1, last.reading.workers

    def mean(name: str) -> float:
        return sum(look.reading.get((name, ""), 0.0) for look in looks) / len(looks)

    shares = {"event loop": mean("voiceagent_pressure"), "cores": sum(threads.values()) / cores}
    if places := mean("voiceagent_call_places"):
        shares["places"] = mean("voiceagent_calls_active") / places
    for thread, share in threads.items():
        part = next((part for name, part in THREADS.items() if thread.startswith(name)), "")
        if part:
            shares[part] = max(shares.get(part, 0.0), share / workers)
    shares["language model"] = max(shares.get("language model", 0.0), mean("voiceagent_llm_load"))
    refused = {reason: int(count) for reason, count in _labelled(grown, "voiceagent_calls_refused_total").items() if count}
    for reason in refused:
        if reason in REFUSALS:
            shares[REFUSALS[reason]] = max(1.0, shares.get(REFUSALS[reason], 0.0))
    drops = {queue: int(count) for queue, count in _labelled(grown, "voiceagent_queue_drops_total").items() if count}
    beats = grown.get(("voiceagent_loop_lag_ms_count", ""), 0.0)
    lag_mean_ms = grown.get(("voiceagent_loop_lag_ms_sum", ""), 0.0) / beats if beats else 0.0
    lag_p99_ms = _percentile(_labelled(grown, "voiceagent_loop_lag_ms_bucket"), 0.99)
    return ServerUse(sum(threads.values()), cores, threads, lag_mean_ms, lag_p99_ms, refused, drops, shares, workers)


def _labelled(reading: Mapping[tuple[str, str], float], name: str) -> dict[str, float]:
    return {label: value for (metric, label), value in reading.items() if metric == name}


def _percentile(buckets: Mapping[str, float], share: float) -> float:
    """The upper end of the bucket in which a share of all is reached; of the last one, its lower end."""
    ends = sorted(buckets.items(), key=lambda item: float(item[0]))
    wanted = share * (ends[-1][1] if ends else 0.0)
    below = 0.0
    for end, count in ends:
        if count >= wanted and wanted:
            return below if end == "+Inf" else float(end)
        below = float(end) if end != "+Inf" else below
    return below
