"""A batch's life: the table of transitions in ``core/batch.py``."""

from hornada.core.batch import STAMPS, TERMINAL, TRANSITIONS, Event, Status, StopReason, after
from tools.reference.markdown import code, table


def transitions() -> str:
    """From, event, to, and the column stamped on arrival; below it, which statuses are the end."""
    rows = [(code(status), event.value, _target(status, event), _stamp(status, event)) for status, event in TRANSITIONS]
    ends = ", ".join(code(status) for status in Status if status in TERMINAL)
    return f"{table(('From', 'Event', 'To', 'Stamps'), rows)}\n\nEnds: {ends}. What is not in the table cannot happen."


def _target(status: Status, event: Event) -> str:
    plain, late = after(status, event), after(status, event, StopReason.EXPIRED)
    return code(plain) if plain is late else f"{code(plain)}, or {code(late)} when its time ran out"


def _stamp(status: Status, event: Event) -> str:
    target = TRANSITIONS[status, event]
    return code(STAMPS[target]) if target is not status else ""
