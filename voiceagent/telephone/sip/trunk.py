"""The account at a trunk or PBX, with the secrets of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from voiceagent.errors import ConfigError
from voiceagent.settings.sip import CallWebhookSettings, SipSettings
from voiceagent.telephone.sip.call_webhook import secret_bytes
from voiceagent.telephone.sip.janus_messages import Account


@dataclass(frozen=True, slots=True)
class Trunk:
    """The settings of a trunk, with the secrets from the environment."""

    settings: SipSettings
    account: Account
    gateway_secret: str = field(repr=False)
    webhook_secret: bytes = field(default=b"", repr=False)

    @classmethod
    def from_settings(cls, settings: SipSettings, environment: Mapping[str, str] = os.environ) -> Trunk:
        """Raises ConfigError where a registration has no password, or the webhook no secret."""
        password = environment.get(settings.password_env, "").strip()
        if settings.register and not password:
            raise ConfigError(
                f"telephony.sip: {settings.account} needs ${settings.password_env}, its password; see docs/telephony.md"
            )
        user = settings.user or re.split("[:@]", settings.account)[1]
        account = Account(
            settings.account,
            user,
            password,
            settings.proxy,
            settings.display_name,
            settings.expires_s,
            settings.register,
        )
        signs = b"" if settings.webhook is None else _webhook_secret(settings.webhook, environment)
        return cls(settings, account, environment.get(settings.gateway_secret_env, "").strip(), signs)


def _webhook_secret(settings: CallWebhookSettings, environment: Mapping[str, str]) -> bytes:
    secret = environment.get(settings.secret_env, "").strip()
    if not secret:
        raise ConfigError(f"telephony.sip.webhook: url needs ${settings.secret_env}, by which webhooks are signed")
    try:
        return secret_bytes(secret)
    except ValueError as error:
        raise ConfigError(f"telephony.sip.webhook: ${settings.secret_env} cannot be used: {error}") from error
