"""The command line: one module per command. A user's mistake is one line on stderr, never a traceback."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from types import TracebackType

import click
from click.exceptions import NoSuchCommand

from voiceagent import __version__
from voiceagent.cli.command_table import command_table, short_help
from voiceagent.errors import UnknownNameError, VoiceAgentError
from voiceagent.redaction import redacted
from voiceagent.settings_file import did_you_mean

# For each small product of Whisper's features, NumPy's OpenBLAS would wake a thread that then spins for milliseconds: half of a
# call's CPU. OpenBLAS reads this variable when NumPy is first imported, which each command does later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

DEBUG_VARIABLE = "VOICEAGENT_DEBUG"
COMPLETION_VARIABLE = "_VOICEAGENT_COMPLETE"
"""Set by a shell that asks how a command line may go on."""
COMMANDS = (
    "init",
    "serve",
    "cluster",
    "agent",
    "keys",
    "talk",
    "call",
    "dial",
    "report",
    "analyze",
    "eval",
    "calls",
    "replay",
    "bench",
    "plan",
    "models",
    "doctor",
    "completion",
)
"""Each command is the function of that name in the module of that name, in the order of `--help`."""


_WRONG_CHOICE = re.compile(r"'(.*?)' is not one of ")


class _Commands(click.Group):
    """Imports a command's module on demand, so that each command starts with only what it needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line a command, by the table of commands: it needs no import of them."""
        rows = command_table().commands
        with formatter.section("Commands"):
            formatter.write_dl([(name, rows[name].help if name in rows else self._help_of(ctx, name)) for name in COMMANDS])

    def _help_of(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return short_help(command) if command is not None else ""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"voiceagent.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name, None) or getattr(module, f"{cmd_name}_")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:  # click looks for near names only among commands that are imported
            raise NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from error


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=f"""\b
Examples:
  voiceagent serve                  answer calls at http://127.0.0.1:8080
  voiceagent call --say "hello"     call it without a browser
  voiceagent report                 where the time of the last turns went

Exit codes: 0 all is well, 1 it failed or a gate did not hold, 2 wrong usage or no data.
Set {DEBUG_VARIABLE}=1 to see where an error came from.""",
)
@click.version_option(__version__, prog_name="voiceagent")
def cli() -> None:
    """A self-hosted, real-time voice agent: it hears, thinks, calls tools, answers aloud and stops when interrupted."""


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit: a command returns its exit code, None for 0."""
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        from voiceagent.cli.completion import answer

        sys.exit(answer(instruction))
    if not os.environ.get(DEBUG_VARIABLE):
        sys.excepthook = _one_line
    try:
        code = cli.main(args, prog_name="voiceagent", standalone_mode=False)
    except click.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        _with_suggestion(error).show()
        sys.exit(error.exit_code)
    except VoiceAgentError as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        click.echo(redacted(f"error: {' '.join(str(error).split())}"), err=True)
        sys.exit(2 if isinstance(error, UnknownNameError) else 1)
    sys.exit(code if isinstance(code, int) else 0)


def _with_suggestion(error: click.ClickException) -> click.ClickException:
    """The error; if it is about an option's value, with what was probably meant."""
    choice = error.param.type if isinstance(error, click.BadParameter) and error.param is not None else None
    wrong = _WRONG_CHOICE.match(error.message)
    if not isinstance(error, click.BadParameter) or not isinstance(choice, click.Choice) or wrong is None:
        return error
    near = did_you_mean(wrong[1], [str(one) for one in choice.choices])
    return click.BadParameter(error.message.rstrip(".") + near, error.ctx, error.param, error.param_hint)


def _one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    text = redacted(" ".join(str(error).split())) or "no message"
    click.echo(
        f"error: voiceagent failed unexpectedly ({kind.__name__}: {text}); run it again with {DEBUG_VARIABLE}=1 and report it",
        err=True,
    )
