"""What `voiceagent serve` logs, to standard error: our own lines by `--log-level`, other libraries' too but for those that speak
HTTP, which write addresses, headers and bodies at levels below a warning. Known secrets are taken out of every line."""

from __future__ import annotations

import logging

from voiceagent.redaction import redacted

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
SPEAKS_HTTP = ("httpx", "httpx2", "httpcore", "httpcore2", "openai", "mcp", "urllib3", "huggingface_hub")


class Redacting(logging.Formatter):
    """Formats without what is known to be secret, tracebacks too."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        return redacted(super().format(record))


def configure(level: str) -> logging.Handler:
    """Log from `level` on; the handler that writes."""
    handler = logging.StreamHandler()
    handler.setFormatter(Redacting(LINE))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for name in SPEAKS_HTTP:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    return handler
