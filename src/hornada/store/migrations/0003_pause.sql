-- Models of which no line starts, and batches none of whose lines start, until somebody says so.

CREATE TABLE paused (
  model TEXT PRIMARY KEY,
  paused_at BIGINT NOT NULL
);

ALTER TABLE batch ADD COLUMN paused_at BIGINT;
