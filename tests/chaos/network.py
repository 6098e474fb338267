"""A network of one process's own (a namespace), with one wire to the database that can be cut and one to all else."""

import os
import subprocess
from types import TracebackType
from typing import Self

_HOST_NET, _OWN_NET, _HOST_DB, _OWN_DB = 1, 2, 5, 6


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)


def permitted() -> str | None:
    """None where namespaces may be made, else why not."""
    name = f"hx{os.getpid():x}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except (OSError, subprocess.SubprocessError) as error:
        return str(getattr(error, "stderr", "") or error).strip()
    return None


class Wires:
    """``number``: which of several on this machine. Cutting is silent, as when a switch dies: nothing is refused."""

    def __init__(self, number: int) -> None:
        self.name = f"hc{number:x}"
        self._subnet = f"10.{200 + number % 50}.{number // 50 % 250}"

    @property
    def gate(self) -> str:
        """The machine as it is seen from inside, on the wire that is never cut."""
        return f"{self._subnet}.{_HOST_NET}"

    @property
    def database(self) -> str:
        """The same, on the wire that is cut."""
        return f"{self._subnet}.{_HOST_DB}"

    @property
    def inside(self) -> str:
        """Where the process inside is reached."""
        return f"{self._subnet}.{_OWN_NET}"

    @property
    def network(self) -> str:
        """All of it."""
        return f"{self._subnet}.0/24"

    def within(self) -> list[str]:
        """What to write before a command that is to run inside."""
        return ["ip", "netns", "exec", self.name]

    def cut(self) -> None:
        """From here on nothing passes between the process and the database."""
        _ip("link", "set", f"{self.name}d", "down")

    def mend(self) -> None:
        """All is as it was."""
        _ip("link", "set", f"{self.name}d", "up")

    def __enter__(self) -> Self:
        _ip("netns", "add", self.name)
        _ip("-n", self.name, "link", "set", "lo", "up")
        for kind, outer, inner in (("n", _HOST_NET, _OWN_NET), ("d", _HOST_DB, _OWN_DB)):
            here, there = f"{self.name}{kind}", f"{self.name}{kind}i"
            _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", self.name)
            _ip("addr", "add", f"{self._subnet}.{outer}/30", "dev", here)
            _ip("link", "set", here, "up")
            _ip("-n", self.name, "addr", "add", f"{self._subnet}.{inner}/30", "dev", there)
            _ip("-n", self.name, "link", "set", there, "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _ip("netns", "del", self.name)
