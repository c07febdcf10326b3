"""What limits how many calls, on machines whose sums can be done by hand."""

from __future__ import annotations

import dataclasses

import pytest

from voiceagent.capacity.plan import (
    Accelerator,
    Behaviour,
    CapacityPlan,
    Limit,
    Machine,
    SpeechCost,
    accelerator,
    accelerators,
    check_behaviour,
    plan,
)
from voiceagent.capacity.shape import find_model
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import StageLimits
from voiceagent.latency.spans import Stage

BUDGET = {Stage.LLM_INTER_TOKEN: StageLimits(15, 40, 80), Stage.LLM_TTFT: StageLimits(80, 200, 500)}
LLAMA = find_model("llama-3.1-8b").shape
SPEECH = SpeechCost(0.1, 0.1)
L40S = accelerators()["l40s"]


def planned(
    card: Accelerator = L40S, behaviour: Behaviour | None = None, speech: SpeechCost = SPEECH, **machine: float
) -> CapacityPlan:
    return plan(LLAMA, Machine(card, **machine), behaviour or Behaviour(), BUDGET, speech)  # type: ignore[arg-type]  # fields of several types


def limit(made: CapacityPlan, name: str) -> Limit:
    return next(limit for limit in made.limits if limit.name == name)


def test_memory_is_what_the_weights_leave() -> None:
    made = planned()
    assert made.weight_bytes == 16_060_522_496
    left = 48e9 * 0.9 - 2e9 - 16_060_522_496
    assert made.kv_bytes_per_call == 2**30
    assert made.kv_tokens == int(left / (128 * 1024)) == 191_798
    assert limit(made, "memory").calls == 23
    assert limit(planned(behaviour=Behaviour(context_tokens=4096)), "memory").calls == 46


def test_weights_that_do_not_fit_leave_no_call() -> None:
    made = planned(accelerators()["t4"])
    assert (made.kv_tokens, made.binding.name, made.binding.calls) == (0, "memory", 0)
    assert "16.06 GB" in made.binding.arithmetic


def test_two_cards_share_weights_and_heads_but_not_a_single_latent() -> None:
    assert limit(planned(count=2), "memory").calls == int((2 * 41.2e9 - 16_060_522_496) / 2**30) == 61
    latent = find_model("deepseek-v2-lite").shape
    alone = plan(latent, Machine(L40S, 2), Behaviour(), BUDGET, SPEECH)
    assert alone.kv_bytes_per_call == 2 * 27 * 576 * 2 * 8192


def test_decoding_is_bound_by_the_bandwidth() -> None:
    slow = dataclasses.replace(Behaviour(), new_tokens=1)
    card = Accelerator(memory_gb=1000, bandwidth_gbs=1000, tflops=100_000, name="wide")
    found = limit(plan(LLAMA, Machine(card), slow, BUDGET, SPEECH), "decode")
    assert found.calls is not None
    # Weights without the embedding, 15.01 GB at 700 GB/s, take 21.4 ms: of 40 ms, less what each call's prefill takes, 11 or so
    # conversations of 1 GiB can be read besides.
    weights = 15.01e9
    prefill_share = found.calls * 1.5 * weights / 700e9 / 12
    mean = found.calls * 0.3
    assert mean + 2 * mean**0.5 == pytest.approx((0.040 * (1 - prefill_share) * 700e9 - weights) / 2**30, rel=0.06)


def test_a_card_that_is_too_slow_for_one_call_says_how_slow() -> None:
    found = limit(planned(accelerators()["l4"]), "decode")
    assert found.calls == 0
    assert "over the budget of 40 ms" in found.arithmetic


def test_prefill_is_bound_by_operations_and_the_wait() -> None:
    card = Accelerator(memory_gb=1000, bandwidth_gbs=100_000, tflops=60, name="narrow")
    found = limit(planned(card), "prefill")
    operations = 150 * (2 * (6_979_584_000 - 32 * 8192 + 128_256 * 4096) + 4 * 4096 * 32 * 8192)
    read_ms = operations / 30e12 * 1000
    left_ms = 200 - 40 - read_ms
    load = min(0.5, left_ms / (left_ms + 1.5 * read_ms))
    assert 0 < left_ms < 160
    assert found.calls == int(load * 12_000 / (1.5 * read_ms))


def test_speech_takes_cores_or_a_part_of_the_gpu() -> None:
    made = planned(cores=10)
    assert limit(made, "stt").calls == limit(made, "tts").calls == 175  # 10 × 0.7 ÷ (0.1 × 0.4)
    assert limit(made, "cpu").calls == 72  # 10 × 0.7 ÷ (0.0167 + 0.04 + 0.04)
    on_gpu = planned(speech=SpeechCost(0.01, 0.1, stt_on_gpu=True), cores=10)
    assert limit(on_gpu, "stt").calls == 50  # 0.2 ÷ (0.01 × 0.4)
    assert limit(on_gpu, "cpu").calls == 123
    decode = limit(on_gpu, "decode").calls
    assert decode is not None
    assert decode < (limit(made, "decode").calls or 0)


def test_what_is_not_measured_binds_nothing_and_says_so() -> None:
    made = planned(speech=SpeechCost(None, 100.0))
    assert limit(made, "stt").calls is None
    assert "--stt-rtf" in limit(made, "stt").arithmetic
    assert made.binding.name in ("tts", "cpu")


def test_a_wider_budget_never_fits_fewer_calls() -> None:
    counts = []
    for factor in (0.5, 1, 2, 4):
        budget = {stage: StageLimits(a.p50_ms * factor, a.p95_ms * factor, a.p99_ms * factor) for stage, a in BUDGET.items()}
        made = plan(LLAMA, Machine(L40S), Behaviour(), budget, SPEECH)
        counts.append([limit(made, name).calls or 0 for name in ("memory", "prefill")])
    assert counts == sorted(counts)


def test_a_turn_must_fit_into_the_conversation() -> None:
    with pytest.raises(ConfigError, match="--context"):
        check_behaviour(Behaviour(context_tokens=100))


def test_cards_are_found_by_name_and_changed_by_hand() -> None:
    assert accelerator("RTX 4090").bandwidth_gbs == 1008
    assert accelerator("l4", memory_gb=22.5).memory_gb == 22.5
    assert accelerator("", 10, 100, 5).name == "machine"
    with pytest.raises(ConfigError, match=r"h100.*--tflops"):
        accelerator("", 10, 100)
    with pytest.raises(ConfigError, match=r"no GPU 'abacus'.*h100"):
        accelerator("abacus")


def test_every_card_names_its_source() -> None:
    for card in accelerators().values():
        assert "NVIDIA" in card.source or "AMD" in card.source
        assert card.tflops_fp8 is None or card.tflops_fp8 == pytest.approx(2 * card.tflops, rel=0.02)
