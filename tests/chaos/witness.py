"""Looks into the ledger and the bucket every second while everything goes on, and holds them to their promises."""

import asyncio
import hashlib
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import asyncpg

from hornada.blobs import open_blobs
from hornada.core.errors import Broken, Unavailable
from tests.chaos.findings import Findings
from tests.chaos.weather import Weather
from tests.crash import ledger

Row = dict[str, Any]
TABLES = ("file", "batch", "chunk", "segment", "ledger_entry", "slot_grant", "worker")
_AWAY = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)  # TimeoutError too
_PROOFS = 6
"""Segments whose bytes are read back at each look."""
SLOWLY_S = 4.0
"""So much later than promised a dead worker's chunks may be free on a machine that is busy with other things."""
LOOKS_S = 1.5
"""How often workers look for others that died."""


class Witness:
    """``limit``: slots of each model; ``ttl_s``: of leases."""

    def __init__(
        self,
        database: str,
        bucket: str,
        weather: Weather,
        findings: Findings,
        *,
        limit: int,
        ttl_s: float,
        workers: Sequence[str],
    ) -> None:
        self._database = database
        self._bucket = bucket
        self._weather = weather
        self._findings = findings
        self._limit = limit
        self._ttl_s = ttl_s
        self._workers = workers
        self._chance = random.Random()
        self._last: ledger.Snapshot | None = None
        self._proven: set[tuple[Any, ...]] = set()
        self.committed: dict[tuple[str, int], float] = {}
        """When (monotonic) a line (batch, number) was first seen to have a result."""
        self.looks = 0
        self.expired_early: set[str] = set()

    def look(self) -> bool:
        """One look; False when the ledger is away."""
        try:
            tables, now = asyncio.run(self._read())
        except _AWAY:
            return False
        self.looks += 1
        self._judge(tables, now)
        with suppress(Unavailable):
            asyncio.run(self._prove(tables["segment"], _PROOFS))
        return True

    def all_lies(self) -> int:
        """Every segment and file that a row names lies in the bucket; how many."""
        tables, _ = asyncio.run(self._read())
        asyncio.run(self._prove(tables["segment"], None))
        return asyncio.run(self._files(tables["file"]))

    def tables(self) -> dict[str, list[Row]]:
        """All rows now."""
        return asyncio.run(self._read())[0]

    async def _read(self) -> tuple[dict[str, list[Row]], int]:
        connection = await asyncpg.connect(self._database, timeout=3, command_timeout=20)
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                now = await connection.fetchval("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT")
                rows = {name: await connection.fetch(f"SELECT * FROM {name}") for name in TABLES}  # noqa: S608
        finally:
            connection.terminate()
        return {name: [dict(row) for row in found] for name, found in rows.items()}, int(now)

    # ---------------------------------------------------------------- what the rows say

    def _judge(self, tables: dict[str, list[Row]], now: int) -> None:
        chunks = {(row["batch"], row["idx"]): row for row in tables["chunk"]}
        found = ledger.Snapshot(tables["file"], tables["batch"], chunks, tables["segment"], tables["ledger_entry"])
        self._hold("2 bits", lambda: ledger.check_bits(found))
        self._hold("10 billing", lambda: ledger.check_entries(found))
        if self._last is not None:
            self._growth(self._last, found)
        self._last = found
        self._note_committed(found)
        self._grants(tables["slot_grant"], now)
        self._deadlines(tables["batch"], now)
        self._dead(tables, now)

    def _hold(self, promise: str, check: Any) -> None:
        self._findings.looked(promise)
        try:
            check()
        except AssertionError as error:
            self._findings.broke(promise, str(error))

    def _growth(self, before: ledger.Snapshot, after: ledger.Snapshot) -> None:
        self._findings.looked("3 epochs")
        stages = {row["id"]: row["stage_epoch"] for row in after.batches}
        for row in before.batches:
            if stages[row["id"]] < row["stage_epoch"]:
                self._findings.broke("3 epochs", f"the stage epoch of {row['id']} fell")
        for key, row in after.chunks.items():
            then = before.chunks.get(key)
            if then is None:
                continue
            if row["epoch"] < then["epoch"]:
                self._findings.broke("3 epochs", f"the epoch of {key} fell from {then['epoch']} to {row['epoch']}")
            if any(old & ~new for old, new in zip(then["done"], row["done"], strict=True)):
                self._findings.broke("3 epochs", f"a committed line of {key} lost its bit")
        sources = {row["source"] for row in after.entries}
        if gone := {row["source"] for row in before.entries} - sources:
            self._findings.broke("10 billing", f"ledger entries are gone: {sorted(gone)[:3]}")

    def _note_committed(self, found: ledger.Snapshot) -> None:
        seen = time.monotonic()
        for (batch, _), row in found.chunks.items():
            for bit in range(row["n"]):
                if row["done"][bit // 8] >> bit % 8 & 1:
                    self.committed.setdefault((batch, row["first_line"] + bit), seen)

    def _grants(self, rows: list[Row], now: int) -> None:
        self._findings.looked("7 grants")
        slots: dict[str, int] = defaultdict(int)
        for row in rows:
            if row["reserved_until"] > now:
                slots[row["model"]] += row["slots"]
        for model, n in slots.items():
            if n > self._limit:
                self._findings.broke("7 grants", f"{n} slots of {model} are granted, {self._limit} there are: {rows}")

    def _deadlines(self, batches: list[Row], now: int) -> None:
        """Whoever's clock is wrong, no batch runs out of time before it has."""
        self._findings.looked("15 clocks")
        for row in batches:
            if row["stop"] == "expired" and now < row["expires_at"] and row["id"] not in self.expired_early:
                self.expired_early.add(row["id"])
                early = (row["expires_at"] - now) / 1e6
                self._findings.broke("15 clocks", f"{row['id']} was ended {early:.1f} s before its time")
            stamps = [row[f"{name}_at"] for name in ("created", "in_progress", "finalizing") if row[f"{name}_at"]]
            if stamps != sorted(stamps) or stamps[-1] > now + 2_000_000:
                self._findings.broke("15 clocks", f"the stamps of {row['id']} are {stamps}, it is {now}")

    def _dead(self, tables: dict[str, list[Row]], now: int) -> None:
        """What a worker held that died is free within the lease and one look of the others, where they could look."""
        bound = 2 * self._ttl_s + LOOKS_S + SLOWLY_S
        moment = time.monotonic()
        troubles = self._weather.among(moment - bound, moment)
        struck = {trouble.partition(" ")[2] for trouble in troubles}
        if {"ledger", "bucket"} & set(troubles) or not set(self._workers) - struck:
            return
        self._findings.looked("11 the dead")
        until = {row["id"]: row["ended_at"] or row["lease_until"] for row in tables["worker"]}
        for row in tables["chunk"]:
            late = (now - until.get(row["owner"], 0)) / 1e6
            if row["state"] == "leased" and late > bound:
                self._findings.broke("11 the dead", f"chunk {row['batch']}.{row['idx']} is held by a dead worker")

    # ---------------------------------------------------------------- what the bucket says

    async def _prove(self, segments: list[Row], most: int | None) -> None:
        fresh = [row for row in segments if _key(row) not in self._proven]
        chosen = fresh if most is None else self._chance.sample(fresh, min(most, len(fresh)))
        blobs = open_blobs(self._bucket)
        for row in chosen:
            self._findings.looked("4 segments")
            try:
                data = await blobs.read(row["object"], row["byte_off"], row["byte_len"])
            except Broken as error:
                await self._missing(row, str(error))
                continue
            if hashlib.sha256(data).hexdigest() != row["sha256"]:
                self._findings.broke("4 segments", f"{row['object']} at {row['byte_off']} has another hash")
            self._proven.add(_key(row))

    async def _missing(self, row: Row, why: str) -> None:
        """Its batch may have ended meanwhile: then the row is gone too, a moment after the bytes."""
        with suppress(*_AWAY):
            tables, _ = await self._read()
            ended = {
                batch["id"]
                for batch in tables["batch"]
                if batch["completed_at"] or batch["cancelled_at"] or batch["expired_at"]
            }
            if row["batch"] not in ended:
                self._findings.broke("4 segments", f"{row['object']} is committed and cannot be read: {why}")

    async def _files(self, files: list[Row]) -> int:
        blobs = open_blobs(self._bucket)
        there = [row for row in files if row["deleted_at"] is None]
        for row in there:
            self._findings.looked("17 bytes")
            digest = hashlib.sha256()
            try:
                async for piece in blobs.stream(row["object"], 0, row["bytes"]):
                    digest.update(piece)
            except Broken as error:
                self._findings.broke("17 bytes", f"file {row['id']} cannot be read: {error}")
                continue
            if digest.hexdigest() != row["sha256"]:
                self._findings.broke("17 bytes", f"file {row['id']} has another hash")
        return len(there)


def _key(row: Row) -> tuple[Any, ...]:
    return row["batch"], row["idx"], row["epoch"], row["seq"]
