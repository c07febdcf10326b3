"""Facts about a machine that models need: cores, memory, GPUs and room on the disk. A container's limits count, as far as its
cgroup tells them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
MEMINFO = Path("/proc/meminfo")
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
GPU_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, as its driver names it."""

    name: str
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Resources for a server."""

    cores: float
    """Cores that this process may use; less than one where a container has a share of one."""
    memory_bytes: int
    free_disk_bytes: int
    """Free bytes where models are pulled to."""
    gpus: tuple[Gpu, ...] = ()
    architecture: str = "x86_64"


def facts_of_this_machine(models: Path) -> MachineFacts:
    """`models` is the folder for pulled models; it need not be there yet."""
    folder = models
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    cores, memory_bytes = float(len(os.sched_getaffinity(0))), total_memory()
    share, limit_bytes = container_limits()
    return MachineFacts(
        min(cores, share or cores),
        min(memory_bytes, limit_bytes or memory_bytes),
        shutil.disk_usage(folder).free,
        nvidia_gpus(),
        platform.machine(),
    )


def total_memory(meminfo: Path = MEMINFO) -> int:
    """Bytes of memory that Linux manages."""
    for line in meminfo.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemTotal":
            return int(rest.split()[0]) * 1024
    raise ValueError(f"{meminfo} tells no MemTotal")


def container_limits(cgroup: Path = CGROUP) -> tuple[float, int]:
    """Cores and bytes of memory that a container's cgroup (version 2 or 1) allows; 0: no limit is told."""
    quota = _numbers(cgroup / "cpu.max") or [
        *_numbers(cgroup / "cpu/cpu.cfs_quota_us"),
        *_numbers(cgroup / "cpu/cpu.cfs_period_us"),
    ]
    memory = _numbers(cgroup / "memory.max") or _numbers(cgroup / "memory/memory.limit_in_bytes")
    cores = quota[0] / quota[1] if len(quota) == 2 and quota[0] > 0 and quota[1] > 0 else 0.0
    return cores, memory[0] if memory else 0


def _numbers(file: Path) -> list[int]:
    """The numbers of a file of a cgroup; none where it is not there or says "max"."""
    try:
        return [int(word) for word in file.read_text(encoding="utf-8").split()]
    except (OSError, ValueError):
        return []


def nvidia_gpus(command: Sequence[str] = NVIDIA_SMI) -> tuple[Gpu, ...]:
    """NVIDIA's GPUs, as its driver tells them; none where there is no such driver."""
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=GPU_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = []
    for line in asked.stdout.splitlines():
        name, _, memory_mib = line.rpartition(",")
        if memory_mib.strip().isdecimal():
            found.append(Gpu(name.strip(), int(memory_mib) * 1024 * 1024))
    return tuple(found)
