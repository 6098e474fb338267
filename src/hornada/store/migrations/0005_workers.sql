-- Processes that share a ledger. One is alive until lease_until (the database's clock); what it leased is its own for as
-- long. Its row stays for a while after its end, so that whatever it was still writing is found.

CREATE TABLE worker (
  id TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  host TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  ended_at BIGINT
);

-- How many workers in a row died with a chunk and no line of it done.
ALTER TABLE chunk ADD COLUMN deaths BIGINT NOT NULL DEFAULT 0;
