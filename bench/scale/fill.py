"""Fills a ledger: organizations, keys, files, running batches and their ready chunks, all for one model."""

import asyncpg

MODEL = "m-chat"
CHUNK_LINES = 100
_NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
_DAY = 86_400_000_000
_EACH = "FROM generate_series(1, $1::int) i ON CONFLICT DO NOTHING"
_PLAN = (
    "INSERT INTO plan (name, requests_per_minute, active_batches, queued_lines, storage_bytes, weight, created_at)"
    " VALUES ('default', 1000, 1000, 1000000000, 1000000000000, 1, 0) ON CONFLICT DO NOTHING"
)
_KEY = "'k' || i, 'o' || i, 'u' || i, 'k', 'h' || i"
_ORGANIZATIONS = (
    f"INSERT INTO organization (id, name, plan, created_at) SELECT 'o' || i, 'o' || i, 'default', 0 {_EACH}",
    f"INSERT INTO member (id, org, name, role, created_at) SELECT 'u' || i, 'o' || i, 'u', 'admin', 0 {_EACH}",
    f"INSERT INTO api_key (id, org, member, name, hash, created_at) SELECT {_KEY}, 0 {_EACH}",
)
_FILES = (
    "INSERT INTO file (id, org, member, key, purpose, name, bytes, sha256, object, requests, created_at)"
    " SELECT 'f' || i, 'o' || (i % $1::int + 1), 'u', 'k' || (i % $1::int + 1), 'batch', 'in.jsonl', 100000000,"
    " md5(i::text) || md5(i::text), 'input/' || md5(i::text), $3::bigint, 0"
    " FROM generate_series(0, $2::int - 1) i"
)
_BATCHES = (
    "INSERT INTO batch (id, org, member, key, dialect, endpoint, completion_window, model, input_file, status, checked,"  # noqa: S608
    " created_at, expires_at, updated_at, in_progress_at, total, n_ok, n_failed, stage_epoch, stage_until, stage_tries)"
    " SELECT md5('b' || i), 'o' || (i % $1::int + 1), 'u', 'k' || (i % $1::int + 1), 'infernode',"
    f" '/v1/chat/completions', '24h', '{MODEL}', 'f' || i, 'in_progress', 1, {_NOW}, {_NOW} + {_DAY} + i * 1000,"
    f" {_NOW}, {_NOW}, $3::bigint, 0, 0, 0, 0, 0 FROM generate_series(0, $2::int - 1) i"
)
_CHUNKS = (
    "INSERT INTO chunk (batch, idx, org, model, first_line, n, byte_off, byte_len, state, epoch, lease_until,"  # noqa: S608
    f" not_before, done, n_ok, n_failed) SELECT md5('b' || i), c, 'o' || (i % $1::int + 1), '{MODEL}',"
    f" c * {CHUNK_LINES}, {CHUNK_LINES}, c * 200000, 200000, 'ready', 0, 0, 0, decode(repeat('00', 13), 'hex'), 0, 0"
    " FROM generate_series($2::int, $3::int - 1) i, generate_series(0, $4::int - 1) c"
)
_STEP = 500


async def fill(url: str, organizations: int, batches: int, chunks: int) -> None:
    """``chunks`` of them in each of so many batches, which the organizations hold by turns; statistics are fresh."""
    connection = await asyncpg.connect(url, command_timeout=1800)
    try:
        await connection.execute("SET synchronous_commit = off")
        await connection.execute(_PLAN)
        for statement in _ORGANIZATIONS:
            await connection.execute(statement, organizations)
        lines = chunks * CHUNK_LINES
        await connection.execute(_FILES, organizations, batches, lines)
        await connection.execute(_BATCHES, organizations, batches, lines)
        for first in range(0, batches, _STEP):
            await connection.execute(_CHUNKS, organizations, first, min(first + _STEP, batches), chunks)
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def empty(url: str) -> None:
    """Removes every row of the ledger."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        names = ", ".join(row["tablename"] for row in rows if not row["tablename"].startswith("schema_"))
        await connection.execute(f"TRUNCATE {names}")
    finally:
        await connection.close()
