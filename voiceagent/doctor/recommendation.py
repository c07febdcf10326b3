"""Says which profile a machine carries, and what is known of it. Known is what `measured_profiles.yaml` holds, which is made of
committed benchmark results; for a profile that was not measured the sizes of its models are known, and nothing of its speed. So a
profile is `measured`, `untried` or `too small` for a machine, and an untried one is never the recommendation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from voiceagent.doctor.machine_facts import MachineFacts
from voiceagent.models.model import Model
from voiceagent.models.registry import Registry, size_text

FILE = Path(__file__).with_name("measured_profiles.yaml")
GB = 1_000_000_000
SPARE_BYTES = GB // 2
"""Memory that the system keeps for itself."""
Verdict = Literal["measured", "untried", "too small"]


class MeasuredProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A profile as it was measured on one machine; figures are those of a file of bench/results."""

    result: str
    """The name of that file."""
    date: str
    processor: str
    cores: int
    architecture: str
    calls: int
    """Calls at once within the latency budget, the callers on the same cores; 0: not even one."""
    most_tried: int
    """The most calls at once that were tried."""
    one_p50_ms: int
    """Voice to voice of one call at a time: the median, and the 95th percentile."""
    one_p95_ms: int
    cores_a_call: float
    memory_mb: int
    """Memory of the server's process at the end."""


class ProfileNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The machine that a profile is meant for."""

    cores: int
    """Threads that its models are set to use at once, or were measured with."""
    understands_people: bool
    """False: its recogniser and language model learned one small domain from synthetic speech."""
    gpu_memory_gb: float = 0
    """Weights of its models on a GPU, without the memory of conversations."""
    measured: MeasuredProfile | None = None


@dataclass(frozen=True, slots=True)
class ProfileAdvice:
    """Knowledge of a profile on a machine."""

    profile: str
    description: str
    verdict: Verdict
    calls_at_once: int | None
    """Calls that it was measured to carry; None: not measured on such a machine."""
    why: tuple[str, ...]
    to_fetch_bytes: int
    """Bytes of models that are not on this machine."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The profile to serve, and what is known of the others."""

    profile: str
    """Empty: this machine is too small for any."""
    next_steps: tuple[str, ...]
    """Commands, in their order."""
    profiles: tuple[ProfileAdvice, ...]
    """The ones that are larger than the recommended come first."""


def known_profiles(file: Path = FILE) -> dict[str, ProfileNeeds]:
    """The profiles that machines are chosen for, the largest first."""
    return msgspec.convert(yaml.safe_load(file.read_text(encoding="utf-8")), dict[str, ProfileNeeds])


def recommend(facts: MachineFacts, registry: Registry, cache: Path) -> Recommendation:
    """`cache` is the folder of pulled models: what is there need not be fetched."""
    needs = known_profiles()
    advice = tuple(advise(name, needs[name], facts, registry, cache) for name in needs)
    carried = [each for each in advice if each.verdict == "measured" and each.calls_at_once]
    if not carried:
        return Recommendation("", (), advice)
    best = next((each for each in carried if needs[each.profile].understands_people), carried[0])
    steps = [f"voiceagent models pull --profile {best.profile}"] if best.to_fetch_bytes else []
    return Recommendation(best.profile, (*steps, f"voiceagent serve --profile {best.profile}"), advice)


def advise(name: str, needs: ProfileNeeds, facts: MachineFacts, registry: Registry, cache: Path) -> ProfileAdvice:
    """Judge one profile for this machine."""
    profile = registry.profile(name)
    to_fetch = fetched_bytes(model for model in registry.models_of(name) if not model.is_present(cache))
    lacks = lacking(needs, facts, registry, name, to_fetch)
    if lacks:
        return ProfileAdvice(name, profile.description, "too small", None, lacks, to_fetch)
    measured = needs.measured
    if measured is None:
        why = "never measured: its models fit by their size, and nothing is known of its speed"
        return ProfileAdvice(name, profile.description, "untried", None, (why,), to_fetch)
    told = [
        f"measured on {measured.cores} cores ({measured.processor}): {calls_text(measured)}, "
        f"one waits {measured.one_p50_ms} ms in the median for an answer; {measured.memory_mb / 1000:.1f} GB of memory"
    ]
    if facts.architecture != measured.architecture:
        return ProfileAdvice(
            name, profile.description, "untried", None, (*told, f"not measured on {facts.architecture}"), to_fetch
        )
    if facts.cores >= 2 * measured.cores:
        told.append(f"not measured on {facts.cores:g} cores, which should carry more: `voiceagent bench load` finds out")
    if not needs.understands_people:
        told.append("understands no people: for trying, testing and measuring")
    return ProfileAdvice(name, profile.description, "measured", measured.calls, tuple(told), to_fetch)


def calls_text(measured: MeasuredProfile) -> str:
    """The number of calls that a machine carried, in words."""
    if not measured.calls:
        return "not even one call within the budget"
    more = ", the most that were tried" if measured.calls == measured.most_tried else ""
    return f"{measured.calls} {'call' if measured.calls == 1 else 'calls'} at once within the budget{more}"


def lacking(needs: ProfileNeeds, facts: MachineFacts, registry: Registry, name: str, to_fetch: int) -> tuple[str, ...]:
    """Name the resources of which the machine has too little."""
    lacks = []
    if facts.cores < needs.cores:
        lacks.append(f"wants {needs.cores} cores, {facts.cores:g} here")
    if needs.measured is not None:
        wanted, how = needs.measured.memory_mb * 1_000_000, "as measured"
    else:
        wanted, how = local_bytes(registry, name), "for its models alone"
    if facts.memory_bytes < wanted + SPARE_BYTES:
        lacks.append(
            f"wants {wanted / GB:.1f} GB of memory {how}, and some for the system; {facts.memory_bytes / GB:.1f} GB here"
        )
    if needs.gpu_memory_gb:
        largest = max((gpu.memory_bytes for gpu in facts.gpus), default=0) / GB
        if not largest:
            lacks.append("wants an NVIDIA GPU, none is seen here")
        elif largest < needs.gpu_memory_gb:
            lacks.append(f"wants more than {needs.gpu_memory_gb:g} GB on one GPU, for weights; {largest:.0f} GB here")
    if facts.free_disk_bytes < to_fetch:
        lacks.append(f"{size_text(to_fetch)} to fetch, {size_text(facts.free_disk_bytes)} free on the disk")
    return tuple(lacks)


def local_bytes(registry: Registry, profile: str) -> int:
    """The size of the models that the server's own process loads."""
    specs = [spec for _, spec in registry.profile(profile).every_spec if spec.is_local and spec.model]
    return sum(registry.model(spec.model).size_bytes for spec in specs)


def fetched_bytes(models: Iterable[Model]) -> int:
    """The bytes that pulling models fetches: a model that is made here is made of other files than its own."""
    return sum(file.size for model in models for file in model.origin.files)
