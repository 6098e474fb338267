"""Two settings of the interpreter for a process whose event loop must never wait long."""

import gc
import sys

_SWITCH_S = 0.0002
_YOUNG = 20_000


def tune() -> None:
    """Call it when everything is loaded and wired.

    A thread that has a database's answer waits for the loop's thread to give up the interpreter: 5 ms by default, once
    for each trip to the database. And the oldest objects, modules and classes, are taken out of what the garbage
    collector walks: a pass over them stops the loop for tens of milliseconds.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 50)
