"""`voiceagent keys`: make, list and revoke the keys that clients present."""

from __future__ import annotations

from datetime import datetime

import click

from voiceagent.cli.output import json_option, print_json
from voiceagent.cli.tables import plain_table, show
from voiceagent.server.access.key_file import KEYS_FILE_VARIABLE, KeyKind, KeyLimits, KeyUse, StoredKey
from voiceagent.server.access.key_ring import KEYS_VARIABLE, key_uses, keys_file
from voiceagent.settings.agent import data_dir

NO_DATA = 2
NO_LIMIT = "–"
_LIMITS = {"calls": "at once", "minutes_a_day": "min a day", "calls_a_minute": "begun a minute"}


@click.group(
    epilog=f"""\b
Examples:
  voiceagent keys add shop                          a key without limits of its own
  voiceagent keys add kiosk --calls 2 --minutes-a-day 60 --calls-a-minute 6
  voiceagent keys add me --operator                 it may drain the server, too
  voiceagent keys add desk --monitor                it only follows calls, and reads what is said
  voiceagent keys add prometheus --metrics          it only reads the metrics
  voiceagent keys list
  voiceagent keys revoke kiosk

The keys lie, as salted hashes, in keys.json in the data folder ($VOICEAGENT_DATA), or in the file
that ${KEYS_FILE_VARIABLE} names. A running server sees a change within a second. Keys in
${KEYS_VARIABLE} are let in beside them.

Exit codes: 0 all is well, 1 it failed, 2 wrong usage or no keys."""
)
def keys() -> None:
    """Make, list and revoke the keys that clients present."""


@keys.command(
    "add",
    epilog="""\b
Examples:
  voiceagent keys add shop
  voiceagent keys add kiosk --calls 2 --minutes-a-day 60 --json""",
)
@click.argument("name")
@click.option("--calls", default=0, type=click.IntRange(0, 1000), help="Calls at the same time.")
@click.option("--minutes-a-day", default=0.0, type=click.FloatRange(0, 10**7), help="Minutes of calls a day.")
@click.option("--calls-a-minute", default=0.0, type=click.FloatRange(0, 60_000), help="Calls begun a minute.")
@click.option("--operator", "kind", flag_value="operator", help="It may also do what only the operator may: drain, dial.")
@click.option("--monitor", "kind", flag_value="monitor", help="It only follows calls, and reads what is said in them.")
@click.option("--metrics", "kind", flag_value="metrics", help="It only reads the metrics.")
@json_option
def add_key(name: str, calls: int, minutes_a_day: float, calls_a_minute: float, kind: KeyKind | None, as_json: bool) -> None:
    """Make a key called NAME and print it. It is shown this once: the file holds only its hash.

    A limit of 0 is that of `admission.per_client` in agent.yaml."""
    file = keys_file(data_dir())
    key = file.add(name, KeyLimits(calls, minutes_a_day, calls_a_minute), kind=kind or "client")
    if as_json:
        print_json({"name": name, "key": key, "kind": kind or "client", "file": str(file.path)})
    else:
        click.echo(key)
    click.echo(f"key {name} is in {file.path}; it is not shown again, so keep it now", err=True)


@keys.command(
    "list",
    epilog="""\b
Examples:
  voiceagent keys list
  voiceagent keys list --json""",
)
@json_option
def list_keys(as_json: bool) -> int:
    """List the keys: name, id, limits, when made and used.

    The last use is known within ten seconds. The key itself is never shown."""
    file = keys_file(data_dir())
    found, used = file.read(), key_uses(data_dir()).read()
    if as_json:
        print_json([_facts(key, used.get(key.id)) for key in found])
    if not found:
        click.echo(f"no key is in {file.path}; `voiceagent keys add NAME` makes one", err=True)
        return NO_DATA
    if not as_json:
        table = plain_table(f"Keys in {file.path}", "name", "id", "created", "last used", "limits")
        for key in found:
            table.add_row(
                key.name, key.id, _day(key.created), _day(use.last if (use := used.get(key.id)) else None), _limits(key)
            )
        show(table)
    return 0


@keys.command(
    "revoke",
    epilog="""\b
Examples:
  voiceagent keys revoke kiosk""",
)
@click.argument("name")
@json_option
def revoke_key(name: str, as_json: bool) -> None:
    """Remove the key called NAME, or with that id. Calls that it has begun go on; it begins no other."""
    revoked = keys_file(data_dir()).revoke(name)
    if as_json:
        print_json({"name": revoked.name, "id": revoked.id})
    else:
        click.echo(f"key {revoked.name} ({revoked.id}) is revoked; a running server refuses it within a second")


def _facts(key: StoredKey, use: KeyUse | None) -> dict[str, object]:
    return {
        "name": key.name,
        "id": key.id,
        "created": key.created.isoformat(),
        "last_used": use.last.isoformat() if use else None,
        "kind": key.kind,
        "limits": {name: getattr(key.limits, name) or None for name in _LIMITS},
    }


def _limits(key: StoredKey) -> str:
    parts = [f"{getattr(key.limits, name):g} {shown}" for name, shown in _LIMITS.items() if getattr(key.limits, name)]
    return ", ".join([key.kind] * (key.kind != "client") + parts) or NO_LIMIT


def _day(at: datetime | None) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M") if at else "never"
