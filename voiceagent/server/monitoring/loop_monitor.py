"""Watches the event loop: anything that runs on it for longer than 5 ms holds up the audio of every call. Each callback and task
step is timed, and a long one is counted by its name. A thread looks at the stack of a long one, and names the line."""

from __future__ import annotations

import asyncio
import asyncio.events
import logging
import sys
import threading
import time
from types import CodeType, FrameType, TracebackType

from voiceagent.server.calls.pressure import Beat, Pressure
from voiceagent.server.monitoring.metrics import Metrics

LIMIT_MS = 5.0
AUDIBLE_MS = 50.0
"""Callers may hear a longer stall, so it is logged as a warning; a shorter one is for `--log-level info`."""
LOOK_S = 0.05
"""The interval at which the thread looks. It finds the line of anything that lasts longer."""
BEAT_S = 0.1
"""The interval at which the loop's lag is measured."""
LATE_S = 0.02
"""A timer that runs this late holds up a frame of audio by its whole length."""
LOG_EVERY_S = 10.0
"""The interval at which one name is logged; in between it is only counted."""
MAX_LOGGED = 64

log = logging.getLogger(__name__)

_OURS = "voiceagent."


class LoopMonitor:
    """`with LoopMonitor(metrics):` inside the event loop to watch. One monitor is active at a time in a process; those that are
    entered meanwhile do nothing."""

    def __init__(self, metrics: Metrics, limit_ms: float = LIMIT_MS, pressure: Pressure | None = None) -> None:
        """`pressure` is given what the loop did."""
        self._metrics = metrics
        self._pressure = pressure
        self._limit_s = limit_ms / 1000.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._run: object = None
        self._began_s = 0.0
        """The time at which the present callback began; 0 while the loop waits."""
        self._seen: tuple[float, str] = (0.0, "")
        """The thread's last observation: the time at which the callback began, and its line."""
        self._beat: asyncio.TimerHandle | None = None
        self._busy_s = 0.0
        """Time at work since the last beat."""
        self._timers = self._late_timers = 0
        """Timers that ran since the last beat."""
        self._done = threading.Event()
        self._logged_s: dict[str, float] = {}

    def __enter__(self) -> LoopMonitor:
        handle = asyncio.events.Handle
        run = handle._run
        if hasattr(run, "monitor"):
            return self
        self._run = run
        self._loop = loop = asyncio.get_running_loop()
        clock, timer, limit_s = time.monotonic, asyncio.TimerHandle, self._limit_s  # this runs some hundred times a call-second

        def timed(handle: asyncio.Handle) -> None:
            self._began_s = began_s = clock()
            run(handle)
            took_s = clock() - began_s
            self._began_s = 0.0
            self._busy_s += took_s
            if type(handle) is timer:
                self._timers += 1
                self._late_timers += began_s - handle.when() > LATE_S
            if took_s > limit_s and handle._loop is loop:  # type: ignore[attr-defined]
                self._blocked(handle, began_s, took_s * 1000.0)

        timed.monitor = self  # type: ignore[attr-defined]
        setattr(handle, "_run", timed)  # noqa: B010
        threading.Thread(target=self._look, args=(threading.get_ident(),), name="loop-monitor", daemon=True).start()
        self._schedule_beat()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._run is None:
            return
        setattr(asyncio.events.Handle, "_run", self._run)  # noqa: B010
        self._run = None
        if self._beat is not None:
            self._beat.cancel()
        self._done.set()  # the thread ends by itself: to wait for it would block the loop

    def _blocked(self, handle: asyncio.Handle, began_s: float, took_ms: float) -> None:
        where = name_of(handle)
        self._metrics.blocked.add(where)
        now_s = time.monotonic()
        if now_s - self._logged_s.get(where, -LOG_EVERY_S) < LOG_EVERY_S or len(self._logged_s) >= MAX_LOGGED:
            return
        self._logged_s[where] = now_s
        line = self._seen[1] if self._seen[0] == began_s else ""
        level = logging.WARNING if took_ms >= AUDIBLE_MS else logging.INFO
        log.log(level, "the event loop was blocked for %.1f ms by %s%s", took_ms, where, f", seen at {line}" if line else "")

    def _look(self, thread_id: int) -> None:
        while not self._done.is_set():
            time.sleep(LOOK_S)  # a third less of the processor than `Event.wait`
            began_s = self._began_s
            if began_s and time.monotonic() - began_s > self._limit_s and self._seen[0] != began_s:
                frame = sys._current_frames().get(thread_id)
                self._seen = (began_s, line_of(frame))

    def _schedule_beat(self) -> None:
        if self._loop is not None:
            self._beat = self._loop.call_later(BEAT_S, self._measure, self._loop.time() + BEAT_S)

    def _measure(self, due_s: float) -> None:
        if self._loop is None:
            return
        lag_s = max(0.0, self._loop.time() - due_s)
        self._metrics.loop_lag(lag_s * 1000.0)
        if self._pressure is not None:
            busy = min(1.0, self._busy_s / (BEAT_S + lag_s))
            self._pressure.add(Beat(lag_s * 1000.0, self._timers, self._late_timers, busy))
            self._metrics.pressure = self._pressure.level
        self._busy_s, self._timers, self._late_timers = 0.0, 0, 0
        self._schedule_beat()


def name_of(handle: asyncio.Handle) -> str:
    """The name of what a handle runs: `module:function` of the task's coroutine or of the callback."""
    callback: object = handle._callback  # type: ignore[attr-defined]
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return _name_of_code(getattr(owner.get_coro(), "cr_code", None))
    callback = getattr(callback, "func", callback)
    return _name_of_code(getattr(callback, "__code__", None)) or type(callback).__name__


def _name_of_code(code: CodeType | None) -> str:
    if code is None:
        return ""
    path = code.co_filename.removesuffix(".py").replace("\\", "/").split("/")
    for root in ("site-packages", "voiceagent"):
        if root in path:
            path = path[len(path) - 1 - path[::-1].index(root) + (root == "site-packages") :]
            break
    else:
        path = path[-2:]
    return f"{'.'.join(path)}:{code.co_qualname}"


def line_of(frame: FrameType | None) -> str:
    """The innermost line of our own code on a stack that the monitor timed, or the innermost line of all if none is ours."""
    innermost = frame
    while frame is not None and not _module(frame).startswith(_OURS):
        frame = frame.f_back
    if frame is None or _module(frame) == __name__:
        frame = innermost
    return f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno} in {frame.f_code.co_qualname}" if frame else ""


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
