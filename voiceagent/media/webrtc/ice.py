"""The `ice:` part of `agent.yaml`: the STUN and TURN servers that callers may use, and the time-limited credentials they get for
them (the TURN REST API, draft-uberti-behave-turn-rest-00 §2.2, which coturn implements as `static-auth-secret`)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from voiceagent.errors import ConfigError

URLS_VARIABLE = "VOICEAGENT_ICE_URLS"
_URL = re.compile(r"(?P<scheme>stuns?|turns?):[A-Za-z0-9.\-\[\]:]{1,253}(\?transport=(udp|tcp))?")


class IceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ICE servers that callers get, and the addresses that they may name. No servers unless configured."""

    urls: Annotated[tuple[str, ...], msgspec.Meta(max_length=8)] = ()
    """Such as `turn:turn.example.org:3478?transport=udp` (RFC 7065). `$VOICEAGENT_ICE_URLS`, separated by commas, overrides
    it."""
    secret_env: str = "VOICEAGENT_TURN_SECRET"
    """The environment variable that holds the secret which the TURN server shares with us."""
    lifetime_s: Annotated[int, msgspec.Meta(ge=60, le=86_400)] = 7200
    """The time for which a credential is valid: longer than the longest call, as a relay is refreshed with it."""
    private_candidates: bool = False
    """Lets the server send to addresses in an offer that are not on the Internet (RFC 6890): private, link-local, loopback.
    Callers there reach the server anyway, because they send first. Only a firewall that opens from our side alone needs this."""


@dataclass(frozen=True, slots=True)
class IceServers:
    """Makes what an `RTCPeerConnection` takes as `iceServers`."""

    stun_urls: tuple[str, ...]
    turn_urls: tuple[str, ...]
    secret: str
    lifetime_s: int

    @classmethod
    def from_settings(cls, settings: IceSettings, environment: Mapping[str, str] = os.environ) -> IceServers:
        """Raises ConfigError for an invalid URL, and for TURN without a secret."""
        named = tuple(url.strip() for url in environment.get(URLS_VARIABLE, "").split(",") if url.strip())
        urls = named or settings.urls
        wrong = next((url for url in urls if not _URL.fullmatch(url)), None)
        if wrong is not None:
            raise ConfigError(f"ice.urls: {wrong!r:.80} is no STUN or TURN URL; expected one such as turn:turn.example.org:3478")
        turn = tuple(url for url in urls if url.startswith("turn"))
        secret = environment.get(settings.secret_env, "")
        if turn and not secret:
            raise ConfigError(f"ice.urls: {turn[0]} needs a secret; set ${settings.secret_env} to its static-auth-secret")
        return cls(tuple(url for url in urls if url not in turn), turn, secret, settings.lifetime_s)

    def for_caller(self, name: str, now_s: float) -> list[dict[str, str | list[str]]]:
        """The servers, with a credential for the caller `name` that is valid from `now_s` (Unix time) for `lifetime_s`."""
        servers: list[dict[str, str | list[str]]] = [{"urls": list(self.stun_urls)}] if self.stun_urls else []
        if self.turn_urls:
            username = f"{int(now_s) + self.lifetime_s}:{name}"
            digest = hmac.new(self.secret.encode(), username.encode(), hashlib.sha1).digest()
            servers.append(
                {"urls": list(self.turn_urls), "username": username, "credential": base64.b64encode(digest).decode("ascii")}
            )
        return servers


NO_ICE_SERVERS = IceServers((), (), "", 0)
