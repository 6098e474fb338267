"""The lines of the log."""

import json
import logging
import sys

from hornada.service.logs import JsonFormatter


def record(message: str, *values: object, **more: object) -> logging.LogRecord:
    made = logging.LogRecord("hornada", logging.WARNING, __file__, 1, message, values, None)
    made.__dict__.update(more)
    return made


def test_a_record_is_one_line_of_json_with_what_it_holds() -> None:
    line = JsonFormatter().format(record("%s\nfailed", "it", request_id="req_1", other="hidden"))
    assert "\n" not in line
    found = json.loads(line)
    assert found.pop("time").endswith("+00:00")
    assert found == {"level": "warning", "logger": "hornada", "message": "it\nfailed", "request_id": "req_1"}


def test_a_traceback_is_part_of_the_line() -> None:
    try:
        int("wrong")
    except ValueError:
        made = record("failed", exc_info=sys.exc_info())
    assert "ValueError: invalid literal" in json.loads(JsonFormatter().format(made))["exception"]


def test_what_is_no_unicode_does_not_stop_the_log() -> None:
    assert json.loads(JsonFormatter().format(record("\udcff")))["message"] == "\udcff"
