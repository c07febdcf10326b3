"""Where a model's shape comes from: the table of well-known ones (`models.yaml`), or a folder with a `config.json`."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import msgspec

from voiceagent.capacity.shape import ModelShape, read_shape
from voiceagent.errors import ConfigError, UnknownNameError
from voiceagent.settings_file import did_you_mean

MAX_CONFIG_BYTES = 4_000_000


class KnownModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A well-known model."""

    repository: str
    config: dict[str, object]
    """The values of its `config.json` on which its shape depends."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model whose shape was found."""

    shape: ModelShape
    source: str
    """Where it was found: a repository or a file."""
    file_bytes: int
    """The size of its weights' files, which is what a server keeps in memory; 0: they are not here, or are to be quantised
    anew."""


@functools.cache
def known_models() -> dict[str, KnownModel]:
    """The table, by name."""
    return msgspec.yaml.decode((Path(__file__).parent / "models.yaml").read_bytes(), type=dict[str, KnownModel])


def find_model(name: str, folder: Path | None = None, weights: str = "") -> FoundModel:
    """A model by its name, its repository, its folder or its `config.json`. `folder` is where the registry keeps a model of that
    name. With `weights`, its layers are planned in that type. Raises ConfigError, which names the known models."""
    place = folder if folder is not None else Path(name)
    if (place / "config.json").is_file():
        place /= "config.json"
    if place.is_file():
        shape = read_shape(name, _read_config(place), weights)
        files = 0 if weights else sum(file.stat().st_size for file in place.parent.glob("*.safetensors"))
        return FoundModel(shape, str(place), files)
    for known, model in known_models().items():
        if name.lower() in (known, model.repository.lower()):
            return FoundModel(read_shape(known, model.config, weights), model.repository, 0)
    raise UnknownNameError(
        f"there is no model {name!r:.80}; expected a folder with a config.json in Hugging Face format, "
        f"or one of {', '.join(known_models())}{did_you_mean(name, known_models())}"
    )


def _read_config(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(MAX_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}: cannot be read ({' '.join(str(error).split())[:80]}); expected a model's config.json"
        ) from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: holds {type(data).__name__}, expected a model's configuration, a JSON object")
    return data
