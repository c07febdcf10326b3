"""The `media:` part of `agent.yaml`: on which UDP ports and addresses the server takes calls, so that a firewall, a container or
a NAT in front of it can be set, and what is taken out of callers' audio. Left out, any free port of every address of the machine
is taken, and audio is heard as it comes."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from voiceagent.errors import ConfigError, MediaError
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import NOTHING, AudioCleaning

PORTS_VARIABLE = "VOICEAGENT_MEDIA_PORTS"
ADDRESS_VARIABLE = "VOICEAGENT_MEDIA_ADDRESS"
FIRST_PORT, LAST_PORT = 1024, 65_535
MAX_TRIED = 256
"""Ports that other programs hold and that are tried before a call is refused: a few milliseconds of the event loop."""
_RANGE = re.compile(r"(\d{1,5})\s*-\s*(\d{1,5})")


class MediaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The addresses and ports on which audio comes in, and the cleaning of it."""

    ports: str = ""
    """Such as `40000-40100`, both included: a call takes one of each local address. Empty: any free port;
    `$VOICEAGENT_MEDIA_PORTS` goes before."""
    bind: str = ""
    """The only local address on which audio is taken. Empty: all of the machine's."""
    address: str = ""
    """An address that callers are told besides the machine's own, at the same ports: of a NAT that forwards them, or of a
    container's host; `$VOICEAGENT_MEDIA_ADDRESS` goes before."""
    webrtc: AudioCleaning = NOTHING
    """The cleaning of the audio of browsers, which clean it themselves."""
    telephone: AudioCleaning = NOTHING
    """The cleaning of the audio of telephones."""

    def __post_init__(self) -> None:
        read_ports(self.ports)
        check_ip(self.bind, "bind", "192.0.2.10")
        check_ip(self.address, "address", "203.0.113.7")

    def cleaning(self, kind: LegKind) -> AudioCleaning:
        """The cleaning for a leg of this kind."""
        return self.telephone if kind is LegKind.TELEPHONE else self.webrtc


def read_ports(text: str) -> range | None:
    """The ports that a setting names; None for an empty one. Raises ValueError, whose text begins with the setting's name."""
    if not text:
        return None
    match = _RANGE.fullmatch(text.strip())
    first, last = (int(match[1]), int(match[2])) if match else (0, 0)
    if not FIRST_PORT <= first <= last <= LAST_PORT:
        expected = f"the first and the last of a range within {FIRST_PORT}-{LAST_PORT}, such as 40000-40100"
        raise ValueError(f"ports is {text[:40]!r}, expected {expected}")
    return range(first, last + 1)


def check_ip(text: str, name: str, example: str) -> None:
    """Raises ValueError, whose text begins with the setting's name, for what is neither empty nor the IP address of one host."""
    try:
        is_host = not text or not (ipaddress.ip_address(text).is_multicast or ipaddress.ip_address(text).is_unspecified)
    except ValueError:
        is_host = False
    if not is_host:
        raise ValueError(f"{name} is {text[:60]!r}, expected the IP address of one host, such as {example}")


class NoPortError(MediaError):
    """All ports of the range are taken."""


class MediaPorts:
    """Opens the UDP sockets of all calls of a server. Each port is taken again as late as possible, so that what is still on its
    way to a call that has ended does not reach the next."""

    def __init__(self, ports: range | None = None, bind: str = "", address: str = "") -> None:
        self.ports = ports
        self.bind = bind
        self.address = address
        """Told to callers besides the machine's own."""
        self._free: dict[str, deque[int]] = {}
        """Ports that no call of ours has, by local address."""

    @classmethod
    def from_settings(cls, settings: MediaSettings, environment: Mapping[str, str] = os.environ) -> MediaPorts:
        """Raises ConfigError for a variable that cannot be used, and for a `bind` that is no address of this machine."""
        told = environment.get(PORTS_VARIABLE, "").strip(), environment.get(ADDRESS_VARIABLE, "").strip()
        try:
            named = read_ports(told[0])
            check_ip(told[1], "address", "203.0.113.7")
        except ValueError as error:
            variable = PORTS_VARIABLE if str(error).startswith("ports") else ADDRESS_VARIABLE
            raise ConfigError(f"${variable}: {error}") from error
        if settings.bind:
            try:
                _bound(settings.bind, 0).close()
            except OSError as error:
                raise ConfigError(
                    f"media.bind: {settings.bind} cannot be used ({error.strerror}); expected an address of this machine"
                ) from error
        ports, address = named or read_ports(settings.ports), told[1] or settings.address
        return cls(ports, settings.bind, address) if ports or settings.bind or address else ANY_PORT

    def local(self, addresses: Sequence[str]) -> list[str]:
        """The addresses of the machine on which audio is taken."""
        return [self.bind] if self.bind else list(addresses)

    def open(self, address: str) -> socket.socket:
        """A UDP socket on a free port of a local address; its port is given back with `release`. Raises NoPortError when there is
        none, and OSError when the address cannot be used."""
        if self.ports is None:
            return _bound(address, 0)
        free = self._free.setdefault(address, deque(self.ports))
        for _ in range(min(len(free), MAX_TRIED)):
            port = free.popleft()
            try:
                return _bound(address, port)
            except OSError as error:
                free.append(port)
                if error.errno != errno.EADDRINUSE:
                    raise
        raise NoPortError(
            f"all UDP ports of media.ports, {self.ports[0]}-{self.ports[-1]}, are in use on {address}; call again when a call "
            "has ended, or widen the range"
        )

    def release(self, address: str, port: int) -> None:
        """The socket was closed."""
        if self.ports is not None:
            self._free[address].append(port)


def _bound(address: str, port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        opened.setblocking(False)
        if opened.family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind((address, port))
    except OSError:
        opened.close()
        raise
    return opened


ANY_PORT = MediaPorts()
