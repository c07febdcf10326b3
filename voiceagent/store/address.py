"""The place where a server keeps what it knows of calls: a SQLite file, or a PostgreSQL database by its URL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from voiceagent.addresses import shown
from voiceagent.errors import ConfigError

VARIABLE = "VOICEAGENT_STORE"
FILE_NAME = "calls.sqlite3"
SCHEMES = ("postgresql", "postgres")


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A file, or a URL where there is one."""

    file: Path
    url: str = ""

    def __str__(self) -> str:
        """The address for messages, without a password."""
        return shown(self.url) if self.url else str(self.file)


def local_store(data_dir: Path) -> StoreAddress:
    """The SQLite file inside the data folder."""
    return StoreAddress(data_dir / FILE_NAME)


def chosen_store(url: str, data_dir: Path) -> StoreAddress:
    """The database at the URL, or else the file inside the data folder. Raises ConfigError."""
    if not url:
        return local_store(data_dir)
    try:
        parts = urlsplit(url)
        fits = parts.scheme in SCHEMES and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        what = "a value with an @ in it" if "@" in url else repr(shown(url)[:80])
        raise ConfigError(
            f"${VARIABLE} is {what}, expected postgresql://USER:PASSWORD@HOST/DATABASE, or nothing for a file in $VOICEAGENT_DATA"
        )
    return StoreAddress(data_dir / FILE_NAME, url)
