"""Room on the disk: uploads are refused, then lines wait, and all goes on when there is room again."""

from pathlib import Path

import pytest

from hornada.core.errors import Code, Refusal, Unavailable
from hornada.core.limits import Limits
from hornada.engine.brake import Brake
from hornada.engine.room import Room

GIB = 1 << 30


class Disk:
    """A disk of 100 GiB, as the system would tell of it."""

    def __init__(self) -> None:
        self.free = 50 * GIB
        self.total = 100 * GIB
        self.brake = Brake()
        self.room = self.look(Limits())

    def look(self, limits: Limits) -> Room:
        return Room([Path("/here"), Path("/there")], limits, lambda: self.brake, self._measure)

    def _measure(self, path: Path) -> tuple[int, int, int]:
        return self.total, 0, self.free if path == Path("/there") else self.total

    async def at(self, free: int) -> tuple[bool, bool]:
        """Whether uploads are refused and whether lines wait, when so many bytes are free."""
        self.free = free
        await self.room.once()
        return bool(self.room.reasons), bool(self.brake.reasons)


async def test_uploads_are_refused_below_the_bound_and_lines_wait_below_half_of_it() -> None:
    disk = Disk()
    assert await disk.at(2 * GIB) == (False, False)
    assert await disk.at(2 * GIB - 1) == (True, False)
    assert await disk.at(GIB) == (True, False)
    assert await disk.at(GIB - 1) == (True, True)
    assert await disk.at(GIB) == (True, True), "lines wait until all of it is free"
    assert await disk.at(2 * GIB) == (False, False)


async def test_the_bound_is_a_gib_on_a_small_disk_and_what_the_operator_says() -> None:
    disk = Disk()
    disk.total = 10 * GIB
    assert await disk.at(GIB - 1) == (True, False)
    disk.room.adopt(Limits(min_free_bytes=1000))
    assert await disk.at(1000) == (False, False)
    assert await disk.at(499) == (True, True)
    disk.room.adopt(Limits(min_free_bytes=0))
    assert await disk.at(0) == (False, False)


async def test_a_refusal_says_how_much_is_free_and_how_much_must_be() -> None:
    disk = Disk()
    await disk.room.once()
    disk.room.check()
    await disk.at(123)
    with pytest.raises(Refusal, match=r"Nothing was stored: .* 123 bytes are free, 2,147,483,648 bytes") as told:
        disk.room.check()
    assert (told.value.code, told.value.retry_after) == (Code.STORAGE_LOW, 60)
    assert disk.brake.reasons == [
        "no line is started: the disk is almost full: 123 bytes are free, 2,147,483,648 bytes are to be kept free"
    ]


async def test_a_folder_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="No such file or directory"):
        await Room([tmp_path / "gone"], Limits(), Brake).once()
