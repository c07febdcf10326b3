"""The log of `voiceagent serve`, on standard error. Its own lines follow `--log-level`. Other libraries' lines do too, except
those of libraries that speak HTTP, which write addresses, headers and bodies at levels below a warning. Known secrets are removed
from every line. A line a turn is logged at the default level, too."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType

from typing_extensions import override

from voiceagent.redaction import redacted

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
TURNS = "voiceagent.turns"
"""The logger of the lines about turns: one a turn, at the level INFO, or WARNING if something was wrong."""
SPEAKS_HTTP = ("httpx", "httpx2", "httpcore", "httpcore2", "openai", "mcp", "urllib3", "huggingface_hub")


_ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Redacting(logging.Formatter):
    """Formats log records, tracebacks included, without known secrets and without what `mask` takes out."""

    mask: Callable[[str], str] = str
    """Takes out the personal data that the operator does not keep."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = Redacting.mask(record.message)
        return super().formatMessage(record)

    @override
    def formatException(self, ei: _ExceptionInfo) -> str:
        return Redacting.mask(super().formatException(ei))


def configure(level: str) -> logging.Handler:
    """Log from `level` on, and turns at every level below ERROR; returns the handler that writes."""
    handler = logging.StreamHandler()
    handler.setFormatter(Redacting(LINE))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if level.upper() == "WARNING":
        logging.getLogger(TURNS).setLevel(logging.INFO)
    for name in SPEAKS_HTTP:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    return handler


def replace(handler: logging.Handler, by: logging.Handler) -> None:
    """Give all lines to another handler from now on."""
    logging.getLogger().removeHandler(handler)
    logging.getLogger().addHandler(by)
