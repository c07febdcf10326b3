from __future__ import annotations

import sys
import threading
import time

import pytest

from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.processor_time import LOOP, cores, processor_seconds


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not tell threads apart")
def test_the_time_of_each_thread_is_told() -> None:
    before = processor_seconds()
    spent, stop = threading.Event(), threading.Event()

    def work() -> None:
        until_s = time.thread_time() + 0.1
        while time.thread_time() < until_s:
            pass
        spent.set()
        stop.wait()

    thread = threading.Thread(target=work, name="stt-0")
    thread.start()
    spent.wait()
    after = processor_seconds()
    text = Metrics().render()
    stop.set()
    thread.join()
    assert after["stt-0"] >= 0.09
    assert after[LOOP] >= before[LOOP]
    assert 'voiceagent_cpu_seconds_total{thread="stt-0"}' in text
    assert f"voiceagent_cores {float(cores())}" in text
