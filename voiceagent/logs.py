"""What `voiceagent serve` logs, to standard error. Its own lines follow `--log-level`. Other libraries' lines do too, except
those of libraries that speak HTTP, which write addresses, headers and bodies at levels below a warning. Known secrets are removed
from every line."""

from __future__ import annotations

import logging

from voiceagent.redaction import redacted

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
SPEAKS_HTTP = ("httpx", "httpx2", "httpcore", "httpcore2", "openai", "mcp", "urllib3", "huggingface_hub")


class Redacting(logging.Formatter):
    """Formats log records, tracebacks included, without known secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        return redacted(super().format(record))


def configure(level: str) -> logging.Handler:
    """Log from `level` on; returns the handler that writes."""
    handler = logging.StreamHandler()
    handler.setFormatter(Redacting(LINE))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for name in SPEAKS_HTTP:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    return handler
