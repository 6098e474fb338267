"""Reads the configuration again while the server runs: on SIGHUP, and when its file has changed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hornada.config import Config, ConfigError, Origin

log = logging.getLogger("hornada")

LOOK_S = 2.0
"""How often the file is looked at, in seconds."""
LIVE = ("models", "aliases", "plans", "limits", "upstream", "upstream_api_key", "upstream_ca_file", "server.log_level")
"""What takes effect at once; ``limits``: for whatever begins from then on."""
_ONCE = "bootstrap"
"""Means something only to an empty ledger."""

Stamp = tuple[int, int, int]


class Reloader:
    """``apply`` is given each configuration that is whole and differs; one with faults changes nothing and is told."""

    def __init__(self, config: Config, origin: Origin, apply: Callable[[Config], Awaitable[None]]) -> None:
        self._running = config
        self._origin = origin
        self._apply = apply
        self._seen = stamp(origin.file)
        self._asked = False

    def ask(self) -> None:
        """Has ``once`` read it even if the file looks the same."""
        self._asked = True

    async def once(self) -> bool:
        """Reads the configuration if it may have changed; never more to do at once."""
        seen = stamp(self._origin.file)
        if self._asked or (seen is not None and seen != self._seen):  # an editor may be about to put it in its place
            self._seen, asked, self._asked = seen, self._asked, False
            await self._read(asked=asked)
        return False

    async def _read(self, *, asked: bool) -> None:
        try:
            found = await asyncio.to_thread(self._origin.load)
        except ConfigError as error:
            log.error("the configuration is wrong and stays as it was:\n  %s", "\n  ".join(error.lines))  # noqa: TRY400 - no traceback
            return
        keys = [key for key in changed(self._running, found) if not key.startswith(_ONCE)]
        live = [key for key in keys if _is_live(key)]
        late = [key for key in keys if not _is_live(key)]
        if live:
            self._running = _live(self._running, found)
            await self._apply(self._running)
            log.info("the configuration was read again; in force now: %s", ", ".join(live))
        elif asked and not late:
            log.info("the configuration was read again; nothing has changed")
        if late:
            log.warning("a restart is needed for the change of %s", ", ".join(late))


def changed(old: Config, new: Config) -> Iterator[str]:
    """The keys of what differs; of tables with free names, such as ``models``, the table's."""
    for name in Config.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if isinstance(before, Struct):
            yield from (
                f"{name}.{key}" for key in before.__struct_fields__ if getattr(before, key) != getattr(after, key)
            )
        else:
            yield name


def _is_live(key: str) -> bool:
    return key in LIVE or key.partition(".")[0] in LIVE


def _live(running: Config, found: Config) -> Config:
    """What runs, with everything that can change now as it was found."""
    whole = {key: getattr(found, key) for key in LIVE if "." not in key}
    server = replace(running.server, log_level=found.server.log_level)
    return replace(running, server=server, **whole)


def stamp(file: Path | None) -> Stamp | None:
    """What tells one state of a file from another; None while there is none."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
