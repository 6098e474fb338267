-- Operator, plans, catalog and money.

CREATE TABLE plan (
  name TEXT PRIMARY KEY,
  requests_per_minute BIGINT NOT NULL,
  active_batches BIGINT NOT NULL,
  queued_lines BIGINT NOT NULL,
  storage_bytes BIGINT NOT NULL,
  weight BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

-- An organization is erased piece by piece: from erasing_at on, until erased_at.
ALTER TABLE organization ADD COLUMN erasing_at BIGINT;
ALTER TABLE organization ADD COLUMN erased_at BIGINT;
ALTER TABLE api_key ADD COLUMN last_used_at BIGINT;
ALTER TABLE api_key ADD COLUMN requests_per_minute BIGINT;

-- An organization without a row has unlimited credit. The balance is amount minus the entries not yet folded into it.
CREATE TABLE balance (
  org TEXT PRIMARY KEY,
  amount BIGINT NOT NULL,
  credited BIGINT NOT NULL
);
ALTER TABLE ledger_entry ADD COLUMN folded BIGINT NOT NULL DEFAULT 0;
CREATE INDEX ledger_unfolded ON ledger_entry (org) WHERE folded = 0;

CREATE TABLE model (
  name TEXT PRIMARY KEY,
  spec TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  retired_at BIGINT
);

CREATE TABLE alias (
  name TEXT PRIMARY KEY,
  model TEXT NOT NULL,
  moved_at BIGINT NOT NULL
);

-- The names under which the lines of a batch ask for its model (JSON list of strings).
ALTER TABLE batch ADD COLUMN names TEXT;

-- What the lines of an ended batch cost, in micro-units.
ALTER TABLE batch ADD COLUMN cost BIGINT;

CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  org TEXT,
  target TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE INDEX audit_at ON audit (at);
