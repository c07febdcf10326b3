"""Plans the calls that a machine carries within a latency budget, and what limits them: memory, decoding and prefill of the
language model, speech recognition, the voice, the CPU. The input is a model's shape, a machine and what calls do; the result is
one limit for each resource, with its arithmetic. The memory that weights and tokens take is exact. The rest are estimates, for
choosing a machine that is then measured.

- memory: the KV cache holds every call's whole conversation, so that no turn is read twice.
- decode: a step reads the weights once and each sequence's KV cache, and computes for each (arXiv 2211.05102 §2). Calls speak
  at random moments, so with a mean number of sequences, mean + 2 √mean are decoded at a peak (Poisson, 98 %). Their step is
  stretched by the share of the GPU that prefill and speech take, and must stay within the p95 of llm_inter_token.
- prefill: a turn's new tokens are read at the speed of computing. They wait in a queue with constant service behind those of
  other turns (Pollaczek–Khinchine: mean wait = ρ t / 2 (1 - ρ); its 95th percentile is three times that), and behind one step
  of decoding. All of this together must stay within the p95 of llm_ttft.
- speech: seconds of computing for a second of audio, as measured."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from voiceagent.capacity.shape import ModelShape, kv_bits
from voiceagent.errors import ConfigError, UnknownNameError
from voiceagent.latency.budgets import StageLimits
from voiceagent.latency.spans import Stage
from voiceagent.settings_file import did_you_mean

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class Accelerator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One card, or another machine that runs a language model."""

    memory_gb: Positive
    """In 10⁹ bytes, as data sheets state it. Cards have up to 7 % more, which is left as a margin."""
    bandwidth_gbs: Positive
    """Memory bandwidth, in 10⁹ bytes a second."""
    tflops: Positive
    """10¹² operations a second, dense, 16-bit operands."""
    tflops_fp8: Positive | None = None
    """The same with 8-bit operands; None: it has no such unit."""
    source: str = "given by hand"
    name: str = "machine"


@functools.cache
def accelerators() -> dict[str, Accelerator]:
    """The known cards, by name."""
    data = (Path(__file__).parent / "accelerators.yaml").read_bytes()
    found = msgspec.yaml.decode(data, type=dict[str, Accelerator])
    return {name: msgspec.structs.replace(card, name=name) for name, card in found.items()}


def accelerator(
    name: str, memory_gb: float | None = None, bandwidth_gbs: float | None = None, tflops: float | None = None
) -> Accelerator:
    """The card of a name (`L40S`, `RTX 4090`); figures that are given override the card's. Without a name all three must be
    given. Raises ConfigError, which names the known cards."""
    given = {"memory_gb": memory_gb, "bandwidth_gbs": bandwidth_gbs, "tflops": tflops}
    chosen = {key: value for key, value in given.items() if value is not None}
    if not name:
        missing = ", ".join("--" + key.replace("_", "-") for key, value in given.items() if value is None)
        if missing:
            raise ConfigError(f"no GPU is named; give --gpu ({', '.join(accelerators())}), or also {missing}")
        return msgspec.convert(chosen, Accelerator)
    card = accelerators().get("-".join(name.lower().split()))
    if card is None:
        raise UnknownNameError(
            f"there is no GPU {name!r:.40} in the table ({', '.join(accelerators())}){did_you_mean(name, accelerators())}; "
            "name one of these, or describe it with --memory-gb, --bandwidth-gbs and --tflops"
        )
    return msgspec.structs.replace(card, **chosen)


SPEECH_COSTS = {
    "micro-whisper": 0.0164,
    "whisper-small.en": 0.777,
    "micro-voice": 0.0025,
    "piper-ljspeech": 0.08,
}
"""Costs by model. Recognition streams, with a decode every 180 ms (bench/results/transcription.md; small.en on random weights of
its shape). A published voice has the `medium` shape and says nineteen words (bench/results/synthesis.md). The bundled voice was
timed by hand."""


BANDWIDTH_REACHED = 0.7
"""Share of a data sheet's memory bandwidth that is reached; 60 to 80 % is common for decoding."""
COMPUTE_REACHED = 0.5
"""Share of a data sheet's operations that is reached; 40 to 60 % is common for prefill."""
PREFILL_SHARE = 0.5
"""The most of a GPU's time for prefill; decoding needs the rest."""
SPEECH_SHARE = 0.2
"""The most of a GPU's time for speech recognition, if that runs there too."""
CPU_SHARE = 0.7
"""The most of the cores' time: beyond that, queues grow."""
MEDIA_CPU_S = 0.0167
"""CPU-seconds a call-second of WebRTC (bench/results/media.md)."""
MAX_CALLS = 100_000


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Average behaviour of a call."""

    context_tokens: int = 8192
    """The longest conversation that is kept, instructions and tools included."""
    turn_s: float = 12.0
    """Seconds from one turn's beginning to the next one's."""
    new_tokens: int = 150
    """Tokens of a turn's prompt that no cache holds: the caller's words, tools' results."""
    reply_tokens: int = 60
    generations: float = 1.5
    """Generations a turn: the reply, tool calls, and speculative replies that were cancelled."""
    caller_share: float = 0.4
    """The share of the time in which the caller speaks."""
    agent_share: float = 0.4


@dataclass(frozen=True, slots=True)
class Machine:
    """The hardware that the engines run on."""

    accelerator: Accelerator
    count: int = 1
    """Accelerators that share the model (tensor parallel)."""
    memory_utilisation: float = 0.9
    """The part of the memory that the server may take: vLLM's --gpu-memory-utilization."""
    reserve_gb: float = 2.0
    """Part of that memory for activations and CUDA graphs, per accelerator; in 10⁹ bytes."""
    cores: int = 8
    """Cores for speech and media."""


@dataclass(frozen=True, slots=True)
class SpeechCost:
    """Seconds of computing for a second of audio; None: not known."""

    stt: float | None
    tts: float | None
    stt_on_gpu: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """The number of calls that one resource allows."""

    name: str
    calls: int | None
    """None: not known."""
    arithmetic: str
    """The calculation, for people."""


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """The result of planning."""

    weight_bytes: int
    kv_bytes_per_token: float
    kv_bytes_per_call: float
    kv_tokens: int
    """Tokens that fit into the KV cache, of all calls together, with calls of such a length; 0: the weights leave no room."""
    limits: tuple[Limit, ...]

    @property
    def binding(self) -> Limit:
        """The limit that allows the fewest calls."""
        return min((limit for limit in self.limits if limit.calls is not None), key=lambda limit: limit.calls or 0)


def plan(
    shape: ModelShape,
    machine: Machine,
    behaviour: Behaviour,
    budget: Mapping[Stage, StageLimits],
    speech: SpeechCost,
    *,
    kv_dtype: str = "auto",
    file_bytes: int = 0,
) -> CapacityPlan:
    """Plans how many calls fit. `file_bytes`, the size of the weights' files, is used instead of the formula where it is
    known."""
    bits = kv_bits(shape, kv_dtype)
    copies = _kv_copies(shape, machine.count)
    weight_bytes = file_bytes or shape.weight_bytes
    available = max(0.0, _available_bytes(machine) - weight_bytes)
    per_call = shape.kv_bytes(behaviour.context_tokens, bits) * copies
    work = _Work(shape, machine, behaviour, bits * copies, (speech.stt or 0.0) if speech.stt_on_gpu else 0.0)
    step_limit_ms = budget[Stage.LLM_INTER_TOKEN].p95_ms
    limits = (
        _memory(machine, behaviour, weight_bytes, available, per_call),
        _decode(work, step_limit_ms),
        _prefill(work, step_limit_ms, budget[Stage.LLM_TTFT].p95_ms),
        *_speech(machine, behaviour, speech),
    )
    kv_tokens = _whole(available / per_call * behaviour.context_tokens)
    return CapacityPlan(weight_bytes, shape.kv_bytes_per_token(bits), per_call, kv_tokens, limits)


def _available_bytes(machine: Machine) -> float:
    """Bytes for weights and KV cache, on all accelerators."""
    card_gb = machine.accelerator.memory_gb * machine.memory_utilisation - machine.reserve_gb
    return machine.count * card_gb * 1e9


def _kv_copies(shape: ModelShape, count: int) -> float:
    """Copies of each number in the KV cache: KV heads are spread over the accelerators, and copied where that is not possible."""
    if shape.latent is not None:
        return count
    return max(1.0, count / shape.kv_heads)


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of the language model, and how fast the machine does it."""

    shape: ModelShape
    machine: Machine
    behaviour: Behaviour
    kv_bits: float
    stt_cost: float
    """GPU-seconds for a second of the caller's speech; 0: speech is recognised elsewhere."""

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return self.machine.count * self.machine.accelerator.bandwidth_gbs * 1e9 * BANDWIDTH_REACHED

    @property
    def flops(self) -> float:
        """Operations a second; 8-bit weights are multiplied as such if the accelerator can."""
        card = self.machine.accelerator
        fast = card.tflops_fp8 if self.shape.weights == "fp8" and card.tflops_fp8 else card.tflops
        return self.machine.count * fast * 1e12 * COMPUTE_REACHED

    def step_s(self, sequences: float) -> float:
        """One step of decoding for that many sequences, undisturbed."""
        context = self.behaviour.context_tokens
        read = self.shape.step_weight_bytes(sequences) + sequences * self.shape.kv_bytes(context, self.kv_bits)
        return max(read / self.bandwidth, sequences * self.shape.flops_per_token(context) / self.flops)

    def other_share(self, calls: int) -> float:
        """The share of the GPU's time that prefill and speech of that many calls take."""
        behaviour = self.behaviour
        prefill = behaviour.generations * self.prefill_s() / behaviour.turn_s
        return calls * (prefill + self.stt_cost * behaviour.caller_share)

    def prefill_s(self) -> float:
        """The time to read one turn's new tokens."""
        tokens = self.behaviour.new_tokens
        computed = tokens * self.shape.flops_per_token(self.behaviour.context_tokens) / self.flops
        return max(computed, self.shape.step_weight_bytes(tokens) / self.bandwidth)


def _memory(machine: Machine, behaviour: Behaviour, weight_bytes: int, available: float, per_call: float) -> Limit:
    count = f"{machine.count} × " if machine.count > 1 else ""
    room = f"{count}({machine.accelerator.memory_gb:g} GB × {machine.memory_utilisation:g} - {machine.reserve_gb:g} GB)"
    if not available:
        return Limit("memory", 0, f"the weights need {weight_bytes / 1e9:.2f} GB, there are {room}")
    arithmetic = (
        f"({room} - {weight_bytes / 1e9:.2f} GB of weights = {available / 1e9:.2f} GB) ÷ "
        f"{per_call / 1e9:.3f} GB for {behaviour.context_tokens} tokens"
    )
    return Limit("memory", _whole(available / per_call), arithmetic)


def _decode(work: _Work, limit_ms: float) -> Limit:
    behaviour = work.behaviour
    busy = min(1.0, behaviour.generations * behaviour.reply_tokens * limit_ms / 1000 / behaviour.turn_s)

    def peak(calls: int) -> float:
        return max(1.0, calls * busy + 2 * math.sqrt(calls * busy))

    def step_ms(calls: int) -> float:
        left = 1 - work.other_share(calls)
        return work.step_s(peak(calls)) * 1000 / left if left > 0 else math.inf

    low, high = 0, MAX_CALLS
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if step_ms(middle) <= limit_ms else (low, middle - 1)
    if not low:
        return Limit("decode", 0, f"a step for one call takes {step_ms(1):.1f} ms, over the budget of {limit_ms:g} ms")
    arithmetic = (
        f"a call writes {behaviour.generations:g} × {behaviour.reply_tokens} tokens in {behaviour.turn_s:g} s, "
        f"{busy:.0%} of its time: {peak(low):.1f} sequences at a peak, a step of {step_ms(low):.1f} ms (budget {limit_ms:g} ms), "
        f"{work.other_share(low):.0%} of the GPU elsewhere"
    )
    return Limit("decode", low, arithmetic)


def _prefill(work: _Work, step_limit_ms: float, limit_ms: float) -> Limit:
    behaviour = work.behaviour
    read_ms = work.prefill_s() * 1000
    left_ms = limit_ms - step_limit_ms - read_ms
    reading = f"{behaviour.new_tokens} new tokens take {read_ms:.1f} ms"
    if left_ms <= 0:
        return Limit("prefill", 0, f"{reading}, a step {step_limit_ms:g} ms: over the budget of {limit_ms:g} ms")
    load = min(PREFILL_SHARE, left_ms / (left_ms + 1.5 * read_ms))
    arithmetic = (
        f"{reading}, {behaviour.generations:g} × in {behaviour.turn_s:g} s; with a step of {step_limit_ms:g} ms and the "
        f"wait for others within {limit_ms:g} ms up to {load:.0%} of the GPU's time"
    )
    return Limit("prefill", _whole(load * behaviour.turn_s * 1000 / (behaviour.generations * read_ms)), arithmetic)


def _speech(machine: Machine, behaviour: Behaviour, speech: SpeechCost) -> tuple[Limit, ...]:
    cores_s = machine.cores * CPU_SHARE
    stt_cores_s = machine.count * SPEECH_SHARE if speech.stt_on_gpu else cores_s
    stt_where = f"{SPEECH_SHARE:.0%} of the GPU" if speech.stt_on_gpu else f"{machine.cores} cores × {CPU_SHARE:g}"
    stt = _of_audio("stt", stt_cores_s, stt_where, speech.stt, behaviour.caller_share)
    tts = _of_audio("tts", cores_s, f"{machine.cores} cores × {CPU_SHARE:g}", speech.tts, behaviour.agent_share)
    on_cpu = [(speech.tts, behaviour.agent_share)] + ([] if speech.stt_on_gpu else [(speech.stt, behaviour.caller_share)])
    cost_s = MEDIA_CPU_S + sum((cost or 0.0) * share for cost, share in on_cpu)
    what = "media and tts" if speech.stt_on_gpu else "media, stt and tts"
    cpu = Limit("cpu", _whole(cores_s / cost_s), f"{machine.cores} cores × {CPU_SHARE:g} ÷ {cost_s:.4f} s a second of {what}")
    return stt, tts, cpu


def _of_audio(name: str, computing_s: float, where: str, cost_s: float | None, share: float) -> Limit:
    if cost_s is None:
        return Limit(name, None, f"not measured; measure it and give --{name}-rtf")
    return Limit(name, _whole(computing_s / (cost_s * share)), f"{where} ÷ ({cost_s:g} s a second of audio × {share:g})")


def _whole(calls: float) -> int:
    """Whole calls, corrected for the rounding of binary arithmetic."""
    return math.floor(calls + 1e-9)


def check_behaviour(behaviour: Behaviour) -> None:
    """Raises ConfigError if a call's turn does not fit into its conversation."""
    wanted = behaviour.new_tokens + behaviour.reply_tokens
    if wanted > behaviour.context_tokens:
        raise ConfigError(
            f"a turn reads and writes {wanted} tokens, a conversation has {behaviour.context_tokens}; raise --context or lower "
            "--new-tokens and --reply-tokens"
        )
