"""What only the file database does."""

import asyncio
import logging
import os
import sqlite3
from pathlib import Path

import pytest

from hornada.core.errors import Broken, Unavailable
from hornada.store import connect
from hornada.store.database import Tx
from tests.conftest import Hands
from tests.store.test_database import add, names, put


async def test_a_relative_file_lies_in_the_working_directory(
    tmp_path: Path, clock: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    db = await connect("sqlite:///some folder/ledger?1.db", clock)
    await db.close()
    assert (tmp_path / "some folder" / "ledger?1.db").exists()


async def test_what_was_committed_is_there_when_the_file_is_opened_again(tmp_path: Path, clock: Hands) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    db = await connect(url, clock)
    await db.migrate()
    await put(db, "a")
    await db.close()
    db = await connect(url, clock)
    assert await names(db) == ["a"]
    await db.close()


async def test_commits_are_made_durable_in_a_write_ahead_log(tmp_path: Path, clock: Hands) -> None:
    db = await connect(f"sqlite:///{tmp_path}/ledger.db", clock)
    async with db.write() as tx:
        found = [await tx.row(f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "foreign_keys")]
    await db.close()
    assert [next(iter(dict(row).values())) for row in found] == ["wal", 2, 1]


async def test_work_on_the_database_s_thread_that_waits_for_something_else_is_undone(
    tmp_path: Path, clock: Hands
) -> None:
    db = await connect(f"sqlite:///{tmp_path}/ledger.db", clock)
    await db.migrate()

    async def work(tx: Tx) -> None:
        await add(tx, "a")
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waited for something else"):
        await db.transact(work)
    assert await names(db) == []
    await db.close()


async def test_a_full_disk_is_an_outage_and_passes(tmp_path: Path, clock: Hands) -> None:
    db = await connect(f"sqlite:///{tmp_path}/ledger.db", clock)
    await db.migrate()
    async with db.write() as tx:
        await tx.rows("PRAGMA max_page_count = 1")  # as small as the file is now
    with pytest.raises(Unavailable, match="full"):
        async with db.write() as tx:
            await tx.run(
                "INSERT INTO organization (id, name, plan, created_at) VALUES ('a', :name, '', 0)", name="x" * 100_000
            )
    async with db.write() as tx:
        await tx.rows("PRAGMA max_page_count = 100000")
    await put(db, "b")
    assert await names(db) == ["b"]
    await db.close()


async def test_a_file_that_cannot_be_opened_is_an_outage(tmp_path: Path, clock: Hands) -> None:
    (tmp_path / "ledger.db").mkdir()
    with pytest.raises(Unavailable, match="unable to open"):
        await connect(f"sqlite:///{tmp_path}/ledger.db", clock)


async def test_a_file_that_is_no_database_is_broken(tmp_path: Path, clock: Hands) -> None:
    (tmp_path / "ledger.db").write_bytes(os.urandom(8192))
    with pytest.raises(Broken, match="not a database"):
        await connect(f"sqlite:///{tmp_path}/ledger.db", clock)


async def test_another_program_can_read_along(tmp_path: Path, clock: Hands) -> None:
    db = await connect(f"sqlite:///{tmp_path}/ledger.db", clock)
    await db.migrate()
    async with db.write() as tx:
        await tx.run("INSERT INTO organization (id, name, plan, created_at) VALUES ('a', 'a', '', 0)")
        other = sqlite3.connect(tmp_path / "ledger.db")
        assert other.execute("SELECT count(*) FROM organization").fetchone() == (0,)
    assert other.execute("SELECT count(*) FROM organization").fetchone() == (1,)
    other.close()
    await db.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "mysql://host/db", "ledger.db"])
async def test_any_other_url_is_refused(url: str, clock: Hands) -> None:
    with pytest.raises(ValueError, match="sqlite:///file"):
        await connect(url, clock)


async def test_a_new_ledger_is_this_user_s_alone_and_told_once(
    tmp_path: Path, clock: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = tmp_path / "new" / "ledger.db"
    for _ in range(2):
        db = await connect(f"sqlite:///{path}", clock)
        await db.migrate()
        made = [path.parent, *path.parent.iterdir()]
        assert {each.name for each in made} == {"new", "ledger.db", "ledger.db-wal", "ledger.db-shm"}
        assert [each for each in made if each.stat().st_mode & 0o077] == []
        await db.close()
    assert [record.getMessage() for record in caplog.records] == [f"new ledger at {path}"]


async def test_a_ledger_that_cannot_be_made_is_named(tmp_path: Path, clock: Hands) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match=f"the ledger {tmp_path}/file/ledger.db cannot be made"):
        await connect(f"sqlite:///{tmp_path}/file/ledger.db", clock)
