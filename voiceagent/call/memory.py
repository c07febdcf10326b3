"""Keeps the process from growing with its calls. A finished call leaves reference cycles, because aiortc's connections are full
of them. They wait until Python collects its oldest generation. It also leaves many small holes in the C library's heap, which the
library keeps."""

from __future__ import annotations

import asyncio
import ctypes
import gc


def collect_what_loading_left() -> None:
    """Collect garbage once before the first call. It visits the objects of every module, and no other thread runs meanwhile."""
    gc.collect()


def settle() -> None:
    """Call it once, after the engines are loaded and `collect_what_loading_left` has run. Objects that live as long as the
    process are left out of all later collections (`gc.freeze`). Then a collection visits only the objects of calls."""
    gc.freeze()


async def release_freed_memory() -> None:
    """Free a finished call's cycles, and give free heap memory back to the system (glibc's malloc_trim(3), where it exists). The
    collection is run by the event loop, since it keeps every thread from running, whichever it runs in. In another one, the loop
    could begin to close a stream's generators that are being freed there."""
    gc.collect()
    await asyncio.to_thread(_trim)


def _trim() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
