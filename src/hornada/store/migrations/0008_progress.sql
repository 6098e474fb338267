-- How batches get on while they run: lines and cost by worker and 5 seconds, failed lines by worker and code.
-- Both are summed up on the batch when it ends.

CREATE TABLE progress (
  batch TEXT NOT NULL,
  worker TEXT NOT NULL,
  at BIGINT NOT NULL,
  n BIGINT NOT NULL,
  cost BIGINT NOT NULL,
  PRIMARY KEY (batch, worker, at)
);

CREATE TABLE failure (
  batch TEXT NOT NULL,
  worker TEXT NOT NULL,
  code TEXT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (batch, worker, code)
);

ALTER TABLE batch ADD COLUMN failures TEXT;
ALTER TABLE batch ADD COLUMN retry_of TEXT;
