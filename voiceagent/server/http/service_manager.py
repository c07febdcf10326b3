"""Tells the service manager that started the server, such as systemd, how the server stands: `READY=1` when calls are answered,
`STOPPING=1` when none is taken any more. It is one datagram to the socket that `$NOTIFY_SOCKET` names (sd_notify(3)); without
that variable nothing is sent."""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger(__name__)

VARIABLE = "NOTIFY_SOCKET"


def tell_service_manager(*states: str) -> None:
    """Send assignments such as `READY=1`. A manager that cannot be reached is logged, and keeps no server from its calls."""
    address = os.environ.get(VARIABLE, "")
    if not address:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as to:
            # A leading @ names a socket without a file.
            to.sendto("\n".join(states).encode(), "\0" + address[1:] if address.startswith("@") else address)
    except OSError as error:
        log.warning("the service manager at %s was not told %s: %s", address, " ".join(states), error)
