"""The log: one line for people or one JSON object for machines, on stderr."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from hornada.config import ServerSettings

TEXT = "%(asctime)s %(levelname)s %(message)s"
FIELDS = ("request_id", "key_id", "method", "path", "status", "ms", "endpoint_id", "delivery_id")
"""What a record may hold beside its message."""


class JsonFormatter(logging.Formatter):
    """One object a line: ``time`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, and FIELDS where there are any.

    ``exception`` holds a traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def start(settings: ServerSettings) -> None:
    """Sends every logger of the process, those of libraries too, to stderr as the settings say."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
