"""The `sip:` part of `telephony:` in `agent.yaml`: the gateway, and the account at a trunk or PBX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from voiceagent.addresses import check_address

_URI = re.compile(r"sips?:([A-Za-z0-9\-_.!~*'()&=+$,;?/%#]+@)?[A-Za-z0-9.\-\[\]:]+(;[A-Za-z0-9=.\-_]+)*")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,39}")
"""The name of somebody whom calls are transferred to."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_URI_CHARACTERS = 256
MIN_LINES_OF_A_WARM_TRANSFER = 2


def check_uri(uri: str, name: str, example: str) -> str:
    """The address. Raises ValueError, whose text begins with the setting's name."""
    if len(uri) > MAX_URI_CHARACTERS or not _URI.fullmatch(uri):
        raise ValueError(f"{name} is {uri[:80]!r}, expected a SIP address such as {example}")
    return uri


class TransferTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody to whom the agent may transfer a call."""

    to: str
    """A SIP address."""
    kind: Literal["blind", "warm"] = "blind"
    """`blind`: the caller's side calls them (REFER). `warm`: we call them, tell them what the caller wants, and join both."""
    ring_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=120)] = 20.0
    """The longest that a warm transfer rings. Then nobody has answered, and the caller is with the agent again."""
    accept_key: Annotated[str, msgspec.Meta(pattern="^[0-9]?$")] = ""
    """The key that takes the call of a warm transfer; any other declines it. Empty: a colleague who has heard the summary has
    taken the call."""


class CallWebhookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operator's program, which decides over each call that comes in."""

    url: str
    """The address that gets a POST while a call rings."""
    secret_env: str = "VOICEAGENT_WEBHOOK_SECRET"
    """The environment variable that holds the secret by which it is signed."""
    accept_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=120)] = 20.0
    """The longest that a call rings. If nobody has accepted it by then, it is refused."""

    def __post_init__(self) -> None:
        try:
            check_address(self.url, secrets_go="webhooks are signed by a secret that secret_env names")
        except ValueError as error:
            raise ValueError(f"url {error}") from error
        _check_variable("secret_env", self.secret_env)


class SipSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No SIP unless configured."""

    account: str
    """Our address at the trunk or PBX, such as `sip:agent@pbx.example.org`."""
    gateway: str = "ws://127.0.0.1:8188"
    """The address of Janus' WebSocket API."""
    gateway_secret_env: str = "VOICEAGENT_JANUS_SECRET"
    """The environment variable that holds Janus' `api_secret`; it may be unset where Janus has none."""
    proxy: str = ""
    """The address at which to register and to which calls are sent, such as `sip:192.0.2.7:5060`; empty: the account's host."""
    user: str = ""
    """The user name by which the account is authenticated; empty: the part before its @."""
    password_env: str = "VOICEAGENT_SIP_PASSWORD"
    """The environment variable that holds its password; unset: none is used."""
    display_name: str = ""
    """The name that phones show when the agent calls."""
    register: bool = True
    """False: a trunk that knows us by our address. Then calls go out and none come in."""
    expires_s: Annotated[int, msgspec.Meta(ge=10, le=7200)] = 120
    """The time for which a registration is valid; it is renewed before."""
    calls: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    """Calls at once, in and out; another one hears busy."""
    ring_timeout_s: Annotated[float, msgspec.Meta(gt=0, le=300)] = 45.0
    """A call that we make and nobody takes is given up."""
    comfort_noise_dbov: Annotated[float, msgspec.Meta(ge=-70, le=-45)] | None = None
    """The level of the noise that callers hear while nobody speaks, such as -65; null: silence."""
    transfers: Mapping[str, str | TransferTarget] = {}
    """The people to whom the agent may transfer a call, by the name for the agent: `sales: sip:200@pbx.example.org`. An address
    alone is a blind transfer."""
    send_keys: bool = False
    """True if the agent may press keys, as a tool: for menus of those whom it calls."""
    webhook: CallWebhookSettings | None = None
    """The program that accepts and rejects calls that come in; null: the agent answers them all."""

    def __post_init__(self) -> None:
        check_uri(self.account, "account", "sip:agent@pbx.example.org")
        if "@" not in self.account:
            raise ValueError(f"account is {self.account!r}, expected one with a user, such as sip:agent@pbx.example.org")
        if self.proxy:
            check_uri(self.proxy, "proxy", "sip:192.0.2.7:5060")
        _check_gateway(self.gateway)
        for name, target in self.targets.items():
            if not NAME.fullmatch(name):
                raise ValueError(f"transfers has {name[:60]!r}, expected a name of at most 40 letters, digits and spaces")
            check_uri(target.to, f"transfers.{name}", "sip:200@pbx.example.org")
        if self.longest_ring_s and self.calls < MIN_LINES_OF_A_WARM_TRANSFER:
            raise ValueError(f"calls is {self.calls}, expected at least 2: a warm transfer takes two lines")
        for name in ("gateway_secret_env", "password_env"):
            _check_variable(name, getattr(self, name))

    @property
    def targets(self) -> dict[str, TransferTarget]:
        """`transfers`, each with its kind."""
        return {name: TransferTarget(each) if isinstance(each, str) else each for name, each in self.transfers.items()}

    @property
    def longest_ring_s(self) -> float:
        """The longest that any warm transfer rings; 0 where there are none."""
        return max((target.ring_timeout_s for target in self.targets.values() if target.kind == "warm"), default=0.0)


def _check_variable(name: str, variable: str) -> None:
    if not _VARIABLE.fullmatch(variable):  # it may be the secret itself
        raise ValueError(f"{name} names no environment variable; put the secret into one and name that")


def _check_gateway(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in ("ws", "wss") and bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine:
        raise ValueError("gateway is no WebSocket address without a password; expected one such as ws://127.0.0.1:8188")
