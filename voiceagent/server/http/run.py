"""Bind the application to a port and serve until asked to stop, at once or when the calls have ended."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

from aiohttp import web

from voiceagent.call import memory
from voiceagent.server.http.app import CALLS, DRAINING, FRONT, KEYS, READINESS
from voiceagent.server.http.behind_front import BehindFront
from voiceagent.server.http.connections import MAX_CONNECTIONS, Connections
from voiceagent.server.http.listening import Listening
from voiceagent.server.http.service_manager import tell_service_manager
from voiceagent.server.http.tls import Certificate
from voiceagent.task_owner import TaskOwner

log = logging.getLogger(__name__)

STOP = (signal.SIGINT, signal.SIGTERM)
DRAIN = signal.SIGUSR1
ANSWER_GRACE_S = 0.5
"""Longest wait for open requests, and then again for the rest of their bodies. Calls end meanwhile."""
EXIT_WITHIN_S = 4.5
"""Counted from the signal. Work that still runs then (the loading of a model) is not waited for."""
EXIT_LATE = 1
THREADS = min(32, (os.cpu_count() or 1) + 4)
"""The number of threads that asyncio takes by itself."""


async def serve(
    app: web.Application,
    host: str,
    port: int,
    *,
    certificate: Certificate | None = None,
    max_connections: int = MAX_CONNECTIONS,
    on_bound: Callable[[str], None] = lambda url: None,
    on_ready: Callable[[str], None] = lambda url: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until `stop` is set, SIGINT or SIGTERM comes, or the server has drained. `on_bound` is called with the URL when
    requests are answered, `on_ready` when calls are. Port 0 takes any free port. Raises ConfigError for a host or port that
    cannot be used, and what loading the engines raised."""
    front = app.get(FRONT)
    if front is None:
        app[KEYS].check_exposure(host)
    stop = stop or asyncio.Event()
    runner = web.AppRunner(app, access_log=None, handler_cancellation=False, shutdown_timeout=ANSWER_GRACE_S)
    late = threading.Timer(EXIT_WITHIN_S, _exit_late)
    late.daemon = True
    stopped_by_caller = True
    signals: list[int] = []
    _start_threads()
    try:
        await runner.setup()
        assert runner.server is not None
        metrics = app[CALLS].metrics
        connections = Connections(metrics, max_connections)
        listening = Listening(runner.server, connections, metrics, certificate, is_private=front is not None)
        _watch_signals(stop, signals, app)
        try:
            url = await _open(listening, host, port, front, has_tls=certificate is not None)
            on_bound(url)

            def ready() -> None:
                if front is None:
                    tell_service_manager("READY=1", f"STATUS=answers at {url}")
                on_ready(url)

            await _until_stopped(app, stop, ready)
        finally:
            stopped_by_caller = not signals and not app[DRAINING].reason
            late.start()
            if front is None:
                tell_service_manager("STOPPING=1")
            await listening.close()
    finally:
        try:
            await runner.cleanup()
        finally:
            if stopped_by_caller:  # the caller's program goes on; otherwise no hanging thread may keep the process
                late.cancel()
        for number in (*STOP, DRAIN):
            asyncio.get_running_loop().remove_signal_handler(number)


async def _open(listening: Listening, host: str, port: int, front: BehindFront | None, *, has_tls: bool) -> str:
    """Listen; returns the address. Raises ConfigError."""
    if front is not None and (path := front.socket) is not None:
        listening.open_private(path)
        return front.address
    bound = await listening.open(host, port)
    return f"{'https' if has_tls else 'http'}://{f'[{host}]' if ':' in host else host}:{bound}"


def _start_threads() -> None:
    """Start all threads that `asyncio.to_thread` may use now: none is started during a call, and more of them later are a
    leak."""
    executor = ThreadPoolExecutor(THREADS, "work")
    asyncio.get_running_loop().set_default_executor(executor)
    all_there = threading.Barrier(THREADS)
    for _ in range(THREADS):
        executor.submit(all_there.wait)


def _watch_signals(stop: asyncio.Event, signals: list[int], app: web.Application) -> None:
    """Set `stop` at the first signal, and add it to `signals`."""
    loop = asyncio.get_running_loop()

    def stop_now(came: int) -> None:
        if not signals:
            signals.append(came)
            stop.set()
            for number in STOP:
                loop.remove_signal_handler(number)
                signal.signal(number, _exit_at_once)

    for number in STOP:
        loop.add_signal_handler(number, stop_now, number)
    loop.add_signal_handler(DRAIN, app[DRAINING].begin)


def _exit_at_once(number: int, frame: FrameType | None) -> None:
    """Called for the second signal. The exit code is the shell's for a program that was ended by a signal."""
    os._exit(128 + number)


def _exit_late() -> None:
    log.error("the server did not stop within %g s and ends as it is", EXIT_WITHIN_S)
    logging.shutdown()
    os._exit(EXIT_LATE)


async def _until_stopped(app: web.Application, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
    tasks = TaskOwner()
    ready = tasks.start(app[READINESS].wait(), "ready")
    ending: set[asyncio.Task[object]] = {tasks.start(stop.wait(), "stop"), tasks.start(app[DRAINING].wait(), "drained")}
    try:
        await asyncio.wait({*ending, ready}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
            memory.settle()
            on_ready()
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await tasks.close()
