"""The processor time of the server's threads, read from the kernel whenever it is asked for. A thread without a name of ours is a
library's, such as those that compute for a model."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

TASKS = Path("/proc/self/task")
LOOP, LIBRARIES, ALL = "loop", "libraries", "all"


def processor_seconds() -> dict[str, float]:
    """Seconds so far by thread, user and system; under `ALL` where the kernel does not tell them apart."""
    if not TASKS.is_dir():
        return {ALL: time.process_time()}
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    names[threading.main_thread().native_id] = LOOP
    ticks_a_second = os.sysconf("SC_CLK_TCK")
    found: dict[str, float] = {}
    for task in TASKS.iterdir():
        try:
            fields = (task / "stat").read_bytes().rpartition(b") ")[2].split()
        except OSError:  # it has ended
            continue
        name = names.get(int(task.name), LIBRARIES)
        name = "work" if name.startswith("work_") else name
        found[name] = found.get(name, 0.0) + (int(fields[11]) + int(fields[12])) / ticks_a_second
    return found


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
