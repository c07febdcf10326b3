"""Gives freed memory back to the system. A call's audio is many short-lived pieces, which leave holes in the C library's heap: it
keeps them, and the process seems to grow from call to call although nothing is held."""

from __future__ import annotations

import asyncio
import ctypes


async def release_freed_memory() -> None:
    """Trim the heap, off the event loop (glibc's malloc_trim(3); elsewhere nothing is done)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        await asyncio.to_thread(trim, 0)
