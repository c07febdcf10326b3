"""`voiceagent doctor --recommend`, on machines that are made up, and on this one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.figures_page import committed
from bench.hardware_page import PAGE, TEXT, needs_file, page, with_figures
from tests.cli.conftest import Outcome
from voiceagent.cli import doctor
from voiceagent.doctor.machine_facts import Gpu, MachineFacts, container_limits, facts_of_this_machine, nvidia_gpus, total_memory
from voiceagent.doctor.recommendation import FILE, GB, ProfileAdvice, Recommendation, known_profiles, recommend
from voiceagent.models.registry import registry

Run = Callable[..., Outcome]
SMALL = MachineFacts(2, 8 * GB, 100 * GB)
LARGE = MachineFacts(16, 128 * GB, 500 * GB, (Gpu("NVIDIA L40S", 48 * GB),))


def recommended(facts: MachineFacts, folder: Path) -> tuple[Recommendation, dict[str, ProfileAdvice]]:
    found = recommend(facts, registry(), folder)
    return found, {advice.profile: advice for advice in found.profiles}


def test_two_cores_carry_what_was_measured_on_two(tmp_path: Path) -> None:
    found, of = recommended(SMALL, tmp_path)
    assert found.profile == "starter"
    assert found.next_steps == ("voiceagent models pull --profile starter", "voiceagent serve --profile starter")
    assert (of["starter"].verdict, of["starter"].calls_at_once) == ("measured", 1)
    assert {name: of[name].verdict for name in ("light", "cpu", "gpu")} == dict.fromkeys(("light", "cpu", "gpu"), "too small")
    assert "wants 8 cores, 2 here" in of["cpu"].why


def test_what_was_never_measured_is_told_and_not_recommended(tmp_path: Path) -> None:
    found, of = recommended(LARGE, tmp_path)
    assert found.profile == "starter"
    for name in ("gpu", "cpu", "light"):
        assert (of[name].verdict, of[name].calls_at_once) == ("untried", None)
        assert "never measured" in of[name].why[0]
    assert any("not measured on 16 cores" in line for line in of["starter"].why)


@pytest.mark.parametrize(
    ("facts", "profile", "why"),
    [
        (replace(LARGE, gpus=()), "gpu", "wants an NVIDIA GPU, none is seen here"),
        (replace(LARGE, gpus=(Gpu("NVIDIA T4", 16 * GB),)), "gpu", "wants more than 18.4 GB on one GPU, for weights; 16 GB here"),
        (replace(LARGE, free_disk_bytes=GB), "gpu", "to fetch, 1.0 GB free on the disk"),
        (replace(SMALL, memory_bytes=GB), "starter", "wants 1.1 GB of memory as measured, and some for the system; 1.0 GB here"),
        (replace(LARGE, memory_bytes=2 * GB), "cpu", "for its models alone"),
        (replace(SMALL, cores=0.5), "starter", "wants 2 cores, 0.5 here"),
    ],
)
def test_what_a_machine_lacks_is_named(facts: MachineFacts, profile: str, why: str, tmp_path: Path) -> None:
    _, of = recommended(facts, tmp_path)
    assert of[profile].verdict == "too small"
    assert any(why in line for line in of[profile].why), of[profile].why


def test_where_starter_is_too_large_the_bundled_models_are_left(tmp_path: Path) -> None:
    found, of = recommended(replace(SMALL, memory_bytes=GB), tmp_path)
    assert (found.profile, found.next_steps) == ("embedded", ("voiceagent serve --profile embedded",))
    assert "understands no people" in of["embedded"].why[-1]


def test_another_processor_was_not_measured(tmp_path: Path) -> None:
    found, of = recommended(replace(SMALL, architecture="aarch64"), tmp_path)
    assert found.profile == ""
    assert (of["starter"].verdict, of["starter"].why[-1]) == ("untried", "not measured on aarch64")


def test_a_container_has_what_its_cgroup_allows(tmp_path: Path) -> None:
    assert container_limits(tmp_path) == (0.0, 0)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert container_limits(tmp_path) == (0.0, 0)
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text("2147483648\n")
    assert container_limits(tmp_path) == (1.5, 2147483648)
    old = tmp_path / "old"
    for name, number in {
        "cpu/cpu.cfs_quota_us": "-1",
        "cpu/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": "4096",
    }.items():
        (old / name).parent.mkdir(parents=True, exist_ok=True)
        (old / name).write_text(number)
    assert container_limits(old) == (0.0, 4096)


def test_the_driver_tells_the_gpus() -> None:
    said = "print('NVIDIA L40S, 46068\\nNVIDIA A10, [N/A]')"
    assert nvidia_gpus((sys.executable, "-c", said)) == (Gpu("NVIDIA L40S", 46068 * 1024 * 1024),)
    assert nvidia_gpus((sys.executable, "-c", "raise SystemExit(9)")) == ()
    assert nvidia_gpus(("no-such-program",)) == ()


def test_this_machine_is_looked_at(tmp_path: Path) -> None:
    facts = facts_of_this_machine(tmp_path / "not" / "there")
    assert facts.cores > 0
    assert 0 < facts.memory_bytes <= total_memory()
    assert facts.free_disk_bytes > 0


def test_people_and_programs_read_the_same(voiceagent: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VOICEAGENT_MODELS", str(tmp_path))
    monkeypatch.setattr(doctor, "facts_of_this_machine", lambda models: LARGE)
    told = voiceagent("doctor", "--recommend")
    assert told.code == 0
    assert told.out.startswith(
        "This machine: 16 cores (x86_64), 128.0 GB of memory, NVIDIA L40S with 48 GB, 500 GB free for models.\n"
    )
    assert "Serve the profile starter:\n  voiceagent models pull --profile starter\n" in told.out
    assert "gpu: untried, " in told.out
    read = json.loads(voiceagent("doctor", "--recommend", "--json").out)
    assert read["profile"] == "starter"
    assert read["machine"]["gpus"] == [{"name": "NVIDIA L40S", "memory_bytes": 48 * GB}]
    assert {each["profile"]: each["calls_at_once"] for each in read["profiles"]}["starter"] == 1


def test_a_machine_that_is_too_small_is_told_so(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "facts_of_this_machine", lambda models: MachineFacts(1, GB // 4, GB))
    told = voiceagent("doctor", "--recommend")
    assert told.code == 1
    assert "No profile was measured on such a machine." in told.out
    assert "1 core (x86_64)" in told.out


def test_the_page_and_the_figures_are_those_of_the_newest_results() -> None:
    needs = with_figures(known_profiles(), committed())
    assert FILE.read_text(encoding="utf-8") == needs_file(needs, FILE.read_text(encoding="utf-8")), "run: make figures"
    assert PAGE.read_text(encoding="utf-8") == page(TEXT.read_text(encoding="utf-8"), needs, committed()), "run: make figures"
