"""`voiceagent dial`: have a running server's agent call somebody over its SIP trunk or PBX."""

from __future__ import annotations

import asyncio

import aiohttp
import click

from voiceagent.cli.output import json_option, print_json
from voiceagent.errors import ConfigError, MediaError
from voiceagent.json_types import JsonObject

ANSWER_TIMEOUT_S = 330.0
"""Longer than any call rings (telephony.sip.ring_timeout_s)."""


@click.command(
    epilog="""\b
Examples:
  voiceagent dial sip:200@pbx.example.org
  voiceagent dial sip:200@pbx.example.org --json             for programs: whom, and the id of the call
  voiceagent dial sip:+15550100@trunk.example.org --instructions "Remind them of tomorrow's appointment."

It returns once the call is taken; the call goes on at the server. The server needs telephony.sip in its
agent.yaml: docs/telephony.md. Exit codes: 0 the call was taken, 1 it was not, 2 wrong usage."""
)
@click.argument("to")
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="The server.")
@click.option("--instructions", default="", help="In place of the agent's own, for this call.")
@click.option("--token", envvar="VOICEAGENT_KEY", default="", help="An operator's key of the server. Default: $VOICEAGENT_KEY.")
@json_option
def dial(to: str, url: str, instructions: str, token: str, as_json: bool) -> None:
    """Have the agent call TO, a SIP address."""
    body = {"to": to, "instructions": instructions} if instructions else {"to": to}
    told = asyncio.run(_ask(url.rstrip("/"), body, token))
    if as_json:
        print_json({"to": to, "call": told["id"]})
    else:
        click.echo(f"{to} took the call: {told['id']}")


async def _ask(url: str, body: dict[str, str], token: str) -> JsonObject:
    """The server's answer. Raises MediaError when the call did not come about, ConfigError for a server that cannot be asked."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=ANSWER_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(f"{url}/v1/voiceagent/dial", json=body, headers=headers) as response,
        ):
            told: JsonObject = await response.json()
            status = response.status
    except aiohttp.InvalidURL as error:
        raise ConfigError(f"{url!r} is not a URL; expected one such as http://127.0.0.1:8080") from error
    except aiohttp.ClientConnectorError as error:
        raise ConfigError(f"{url}: no server there ({error.strerror}); start one with `voiceagent serve`") from error
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise ConfigError(f"{url}: no answer ({str(error) or type(error).__name__}); is this a voiceagent server?") from error
    if status != 201:
        raise MediaError(str(told.get("error", {}).get("message", f"the server answered {status}")).rstrip("."))
    return told
