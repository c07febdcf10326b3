"""`voiceagent init`: write an agent to begin from."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import click

from voiceagent.cli.agent_template import Templates, write_files
from voiceagent.models.choice import STARTER
from voiceagent.models.fitness import LANGUAGE_NAMES
from voiceagent.models.registry import registry, size_text
from voiceagent.settings.agent import models_cache_dir

FOLDER = "my-agent"
TEMPLATE, LANGUAGE = "blank", "en"


@click.command(
    epilog="""\b
Examples:
  voiceagent init                                 asks for what is not named
  voiceagent init desk --template clinic --name "Doctor Weber"
  voiceagent init laden --language de --yes       takes what is usual for the rest
  voiceagent init --list                          the templates

Exit codes: 0 it is written, 1 it could not be, or would overwrite a file, 2 wrong usage."""
)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--template", default="", help="What to begin from: blank, clinic, orders or survey.")
@click.option("--name", default="", help="What the agent is called. Default: the template's own name.")
@click.option("--language", default="", help="What callers speak: en, de, es, fr, it, nl or pt.")
@click.option("--yes", "is_quiet", is_flag=True, help="Ask nothing. Without a terminal nothing is asked either.")
@click.option("--list", "is_list", is_flag=True, help="List the templates.")
@click.option("--json", "as_json", is_flag=True, help="Ask nothing, and print JSON.")
def init(folder: Path | None, template: str, name: str, language: str, is_quiet: bool, is_list: bool, as_json: bool) -> None:
    """Write an agent into FOLDER: its YAML explained line by line, its tools, a scenario that tries it, and latency budgets. No
    file is overwritten."""
    templates = Templates.shipped()
    if is_list:
        _list(templates, as_json=as_json)
        return
    asks = not (is_quiet or as_json) and sys.stdin.isatty()
    language = language or (click.prompt("Language of the callers", LANGUAGE, type=_codes(templates)) if asks else LANGUAGE)
    fitting = [one for one in templates.by_name if language in templates.languages(one)]
    if not template and asks and len(fitting) > 1:
        for one in fitting:
            click.echo(f"  {one:<8} {templates.by_name[one].says}")
        template = click.prompt("Template", TEMPLATE, type=click.Choice(fitting))
    template = template or TEMPLATE
    usual = templates.usual_name(template, language)
    name = name or (click.prompt("Name of the agent", usual) if asks else usual)
    folder = folder or (click.prompt("Folder", FOLDER, type=click.Path(path_type=Path)) if asks else Path(FOLDER))
    texts = templates.written(template, name, language, folder)
    write_files(folder, texts)
    if as_json:
        click.echo(json.dumps({"folder": str(folder), "files": list(texts)}, indent=2))
        return
    for file in texts:
        click.echo(f"wrote {folder / file}")
    _tell_next(folder, language, template)


def _codes(templates: Templates) -> click.Choice[str]:
    return click.Choice(list(dict.fromkeys(code for one in templates.by_name for code in templates.languages(one))))


def _list(templates: Templates, *, as_json: bool) -> None:
    found = [
        {"name": name, "says": template.says, "languages": list(templates.languages(name))}
        for name, template in templates.by_name.items()
    ]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for one in found:
        click.echo(f"{one['name']:<8} {one['says']} ({', '.join(one['languages'])})")


def _tell_next(folder: Path, language: str, template: str) -> None:
    """The commands that try, serve and change the agent, and what it lacks."""
    command, at = _command(), shlex.quote(folder.as_posix())
    click.echo("\nNext:")
    if language != LANGUAGE:
        spoken = LANGUAGE_NAMES[language]
        click.echo(f"  # no shipped voice speaks {spoken}: name one in {at}/models.yaml, then fetch the other models")
        click.echo(f"  {command} models pull --models {at}/models.yaml --profile own")
    elif missing := registry().missing(registry().profile(STARTER), models_cache_dir()):
        size = size_text(sum(model.size_bytes for model in missing))
        alone = "the bundled models pass it too" if template == TEMPLATE else "the bundled models cannot pass it"
        click.echo(f"  {command} models pull --profile {STARTER}    # {size}; {alone}")
    click.echo(f"  {command} eval {at}/scenarios --agent {at}/agent.yaml    # callers by a script try it, in seconds")
    click.echo(f"  {command} serve --config {at}/agent.yaml --reload --open    # call it; it follows what you change")
    click.echo(f"  Then change {at}/agent.yaml and {at}/tools.py, and say in {at}/scenarios what must come of it.")


def _command() -> str:
    """The words by which this program is called here."""
    if shutil.which("voiceagent"):
        return "voiceagent"
    called = Path(sys.argv[0])
    return shlex.quote(sys.argv[0]) if called.name == "voiceagent" else f"{shlex.quote(sys.executable)} -m voiceagent"
