"""The log of `voiceagent serve`, on standard error. Its own lines follow `--log-level`. Other libraries' lines do too, except
those of libraries that speak HTTP, which write addresses, headers and bodies at levels below a warning. Known secrets are removed
from every line. A line a turn is logged at the default level, too."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime
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


class JsonLines(Redacting):
    """Formats log records as one JSON object a line: `time` (ISO 8601, UTC), `level`, `logger`, `message`; `call` and `turn`
    where the message begins with them, and the `trace_id` of that turn; `worker` in one of several processes; `exception` for a
    traceback."""

    worker = 0
    """The number of this process among the workers of its server; 0: there are none."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        message = redacted(Redacting.mask(record.getMessage()))
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        found: dict[str, object] = {"time": at, "level": record.levelname, "logger": record.name, "message": message}
        if JsonLines.worker:
            found["worker"] = JsonLines.worker
        if about := _OF_CALL.match(message):
            found["call"] = about["call"]
            if about["turn"]:
                turn = int(about["turn"])
                found |= {"turn": turn, "trace_id": trace_id(about["call"], turn)}
        if record.exc_info:
            found["exception"] = redacted(self.formatException(record.exc_info))
        return json.dumps(found, ensure_ascii=False)


def trace_id(call_id: str, turn: int) -> str:
    """The id of a turn's trace by OpenTelemetry, so that log and trace are found by each other: 32 hexadecimal digits."""
    return hashlib.blake2b(f"{call_id} {turn}".encode(), digest_size=16).hexdigest()


FORMATS = {"text": Redacting, "json": JsonLines}
_OF_CALL = re.compile(r"call (?P<call>rtc_\w+)(?: turn (?P<turn>\d+))?")


def configure(level: str, form: str = "text", worker: int = 0) -> logging.Handler:
    """Log from `level` on, in a form of `FORMATS`, and turns at every level below ERROR; returns the handler that writes. The
    lines of a worker, one of several processes that serve together, have its number."""
    handler = logging.StreamHandler()
    JsonLines.worker = worker
    handler.setFormatter(FORMATS[form](LINE.replace("%(name)s", f"worker {worker} %(name)s") if worker else LINE))
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
