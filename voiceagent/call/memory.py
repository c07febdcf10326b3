"""Keeps the process from growing with its calls. A finished call leaves reference cycles (aiortc's connections are full of them),
which wait for Python's oldest generation to be collected, and many small holes in the C library's heap, which it keeps."""

from __future__ import annotations

import asyncio
import ctypes
import gc


def collect_what_loading_left() -> None:
    """Before the first call: it visits every module's objects, and no thread runs meanwhile."""
    gc.collect()


def settle() -> None:
    """Once, when the engines are loaded and `collect_what_loading_left` has run: leave what lives as long as the process out of
    all later collections, which makes each a matter of a call's objects instead of every module's (`gc.freeze`)."""
    gc.freeze()


async def release_freed_memory() -> None:
    """Free a finished call's cycles and give the heap's holes back to the system, in a thread (glibc's malloc_trim(3); elsewhere
    the cycles only)."""
    await asyncio.to_thread(_release)


def _release() -> None:
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
