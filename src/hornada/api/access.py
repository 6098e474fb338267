"""The access log: one line for each call, without its query and without its key."""

import logging

from hornada.api.call import Call
from hornada.api.router import raw_path
from hornada.api.traffic import GONE

log = logging.getLogger("hornada.access")


def note(call: Call, seconds: float) -> None:
    """Logs a call that has ended, with the id of its key; ``-`` where there was none that is known."""
    principal = getattr(call, "principal", None)
    fields = {
        "method": call.scope["method"],
        "path": raw_path(call.scope),
        "status": call.send.status or GONE,
        "ms": round(seconds * 1000, 1),
        "request_id": call.id,
        "key_id": "-" if principal is None else principal.key or principal.role.value,
    }
    log.info("%s %s %d %.1f ms %s %s", *fields.values(), extra=fields)
