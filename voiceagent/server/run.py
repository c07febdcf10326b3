"""Bind the application to a port and serve until asked to stop."""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Callable

from aiohttp import web

from voiceagent.call import memory
from voiceagent.errors import ConfigError
from voiceagent.server.app import READINESS
from voiceagent.server.auth import check_exposure

SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def serve(
    app: web.Application,
    host: str,
    port: int,
    *,
    keys: tuple[str, ...] = (),
    on_bound: Callable[[str], None] = lambda url: None,
    on_ready: Callable[[str], None] = lambda url: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until `stop` is set, or SIGINT or SIGTERM comes. `on_bound` is called with the URL when requests are answered,
    `on_ready` when calls are. Port 0 takes any free port. Raises ConfigError for a host or port that cannot be used, and what
    loading the engines raised."""
    check_exposure(host, keys)
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop.set)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=False)
    try:
        await runner.setup()
        url = await _bind(runner, host, port)
        on_bound(url)
        await _until_stopped(app, stop, lambda: on_ready(url))
    finally:
        await runner.cleanup()
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _bind(runner: web.AppRunner, host: str, port: int) -> str:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(f"port {port} on {host} is in use; stop what uses it, or choose another with --port") from error
        if error.errno == errno.EACCES:
            raise ConfigError(f"port {port} on {host} needs more rights; choose one above 1023 with --port") from error
        raise ConfigError(
            f"the server cannot listen on {host} port {port} ({error.strerror}); check --host and --port"
        ) from error
    except OverflowError as error:
        raise ConfigError(f"port {port} does not exist; choose one between 0 and 65535 with --port") from error
    bound: int = runner.addresses[0][1]
    return f"http://{f'[{host}]' if ':' in host else host}:{bound}"


async def _until_stopped(app: web.Application, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
    stopped = asyncio.create_task(stop.wait(), name="stop")
    ready = asyncio.create_task(app[READINESS].wait(), name="ready")
    try:
        await asyncio.wait({stopped, ready}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
            memory.settle()
            on_ready()
            await stopped
    finally:
        for task in (stopped, ready):
            task.cancel()
        await asyncio.gather(stopped, ready, return_exceptions=True)
