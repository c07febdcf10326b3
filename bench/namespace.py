"""A network namespace of its own for a program under measurement, joined to ours by a pair of virtual interfaces. Only root can
make one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

ADDRESS, OUR_ADDRESS, BITS = "10.86.7.1", "10.86.7.2", 30


@contextmanager
def namespace() -> Iterator[tuple[str, ...]]:
    """The beginning of a command that runs in it, where its address is `ADDRESS`. Raises RuntimeError where none can be made."""
    name, ours, theirs = f"bench{os.getpid()}", f"bo{os.getpid()}", f"bt{os.getpid()}"
    _ip("netns", "add", name)
    try:
        _ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
    except BaseException:
        _ip("netns", "del", name)
        raise
    try:
        _ip("addr", "add", f"{OUR_ADDRESS}/{BITS}", "dev", ours)
        _ip("link", "set", ours, "up")
        _ip("-n", name, "addr", "add", f"{ADDRESS}/{BITS}", "dev", theirs)
        _ip("-n", name, "link", "set", theirs, "up")
        _ip("-n", name, "link", "set", "lo", "up")
        yield ("ip", "netns", "exec", name)
    finally:
        _ip("link", "del", ours)  # they would go with it, but later
        _ip("netns", "del", name)


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RuntimeError("a network namespace needs the program ip (Debian: iproute2)") from error
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()[:200]}; run this as root, or without --namespaces")
