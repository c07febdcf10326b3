import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Outcome

Run = Callable[..., Outcome]


def test_the_limits_and_the_one_that_binds_are_shown(voiceagent: Run) -> None:
    outcome = voiceagent("plan", "--model", "llama-3.1-8b", "--gpu", "L40S", "--cores", "16", "--stt-rtf", "0.01")
    assert outcome.code == 0
    assert "128.0 KiB a token" in outcome.out
    assert "16.06 GB: 8.03 billion parameters" in outcome.out
    for name in ("memory", "decode", "prefill", "stt", "tts", "cpu"):
        assert name in outcome.out
    assert "is the limit" in outcome.out.splitlines()[-1]


def test_json_has_every_figure(voiceagent: Run) -> None:
    found = json.loads(voiceagent("plan", "--model", "qwen3-8b", "--gpu", "h100", "--json").out)
    assert found["kv_bytes_per_token"] == 144 * 1024
    assert {limit["name"]: limit["calls"] for limit in found["limits"]}["stt"] is None
    assert found["calls"] == min(limit["calls"] for limit in found["limits"] if limit["calls"] is not None)


def test_a_model_of_the_registry_and_a_machine_by_hand(voiceagent: Run) -> None:
    machine = ("--memory-gb", "8", "--bandwidth-gbs", "20", "--tflops", "1")
    outcome = voiceagent("plan", "--model", "micro-lm-safetensors", *machine, "--profile", "embedded", "--context", "2048")
    assert outcome.code == 0
    assert "3.0 KiB a token" in outcome.out


def test_no_call_fits_is_exit_code_1(voiceagent: Run) -> None:
    outcome = voiceagent("plan", "--model", "llama-3.3-70b", "--gpu", "l4")
    assert outcome.code == 1
    assert "0 calls: memory is the limit" in outcome.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "llama-9", "--gpu", "l4"), "no model 'llama-9'"),
        (("--model", "qwen3-8b", "--gpu", "abacus"), "no GPU 'abacus'"),
        (("--model", "qwen3-8b"), "no GPU is named"),
        (("--model", "qwen3-8b", "--gpu", "l4", "--context", "100"), "raise --context"),
        (("--model", "qwen3-8b", "--gpu", "l4", "--profile", "huge"), "profile 'huge'"),
        (("--model", "qwen3-8b", "--gpu", "l4", "--memory-gb", "0"), "--memory-gb"),
        (("--model", "micro-lm", "--gpu", "l4"), "no model 'micro-lm'"),
    ],
)
def test_wrong_input_is_one_line(voiceagent: Run, options: tuple[str, ...], said: str) -> None:
    outcome = voiceagent("plan", *options)
    assert outcome.code in (1, 2)
    lines = [line for line in outcome.err.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1
    assert said in lines[0]
    assert "Traceback" not in outcome.err
