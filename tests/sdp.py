"""What session descriptions say."""

from __future__ import annotations

import re


def ports_of(sdp: str) -> set[tuple[str, int]]:
    """The addresses that a description names."""
    return {(host, int(port)) for host, port in re.findall(r"a=candidate:\S+ \d udp \d+ (\S+) (\d+) typ host", sdp)}
