"""Makes the parts of a cluster from its options. What cannot work is refused here, in one line."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence

from voiceagent.errors import ConfigError
from voiceagent.media.webrtc.ports import MediaPorts
from voiceagent.settings.agent import AgentConfig

CLUSTER_KEY_VARIABLE = "VOICEAGENT_CLUSTER_KEY"
MIN_KEY_CHARACTERS = 16
LINK_PORT = 7070
_HOST_PORT = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\[\]/@\s]+):(\d{1,5})")


def cluster_key() -> str:
    """The key by which gateways and workers know each other, of `$VOICEAGENT_CLUSTER_KEY`. Raises ConfigError."""
    key = os.environ.get(CLUSTER_KEY_VARIABLE, "")
    if len(key) < MIN_KEY_CHARACTERS:
        raise ConfigError(
            f"${CLUSTER_KEY_VARIABLE} has {len(key)} characters, expected {MIN_KEY_CHARACTERS} or more, the same on all machines"
        )
    return key


def check_agent(agent: AgentConfig) -> None:
    """Raises ConfigError for an agent whose calls come by a line that only one process can have."""
    telephony = agent.telephony
    lines = [name for name, has in (("sip", telephony.sip_line is not None), ("audiosocket", telephony.audiosocket)) if has]
    if lines:
        raise ConfigError(
            f"telephony.{lines[0]}: a cluster has no process for this line; answer it by `voiceagent serve`, beside the cluster, "
            "and leave it out here"
        )


def ports_for(agent: AgentConfig, slots: int) -> str:
    """The UDP ports of all workers, `FIRST-LAST`; empty: any. Raises ConfigError where there are fewer ports than workers."""
    ports = MediaPorts.from_settings(agent.media).ports
    if ports is None:
        return ""
    if len(ports) < slots:
        raise ConfigError(
            f"media.ports has {len(ports)} ports, expected {slots} or more: for each worker, and each that drains meanwhile"
        )
    return f"{ports[0]}-{ports[-1]}"


def links_of(texts: Sequence[str], host: str, *, is_local: bool) -> list[tuple[str, int]]:
    """Hosts and ports at which workers find the gateways, this one first: as the options say, else this one at `host`. Raises
    ConfigError."""
    if not texts:
        return [(host, free_port(host) if is_local else LINK_PORT)]
    return list(dict.fromkeys(map(_link, texts)))


def check_linked(own: tuple[str, int], known: Sequence[str]) -> None:
    """Raises ConfigError for a gateway that the workers of a cluster, which is up already, do not know."""
    if written(own) not in known:
        raise ConfigError(
            f"the workers of this cluster link to {' and '.join(known)}, not to {written(own)}; name all gateways by --link "
            "where the first is started, or end the cluster by `voiceagent cluster down`"
        )


def written(link: tuple[str, int]) -> str:
    """The link as `HOST:PORT`."""
    host, port = link
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _link(text: str) -> tuple[str, int]:
    found = _HOST_PORT.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 65_536:
        raise ConfigError(f"--link is {text[:60]!r}, expected HOST:PORT, such as gateway.example:{LINK_PORT}")
    return found[1].strip("[]"), int(found[2])


def free_port(host: str) -> int:
    """A port of this machine that nobody uses at the moment."""
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
        return int(found.getsockname()[1])
