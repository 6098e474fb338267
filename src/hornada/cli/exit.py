"""What a command's exit code says."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    SOME_FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130
