-- What several processes share: the capacity of models, and requests a minute. One process alone writes none of it.

-- What has been learned of a model. Whoever grants or takes slots of it holds its row.
CREATE TABLE capacity (
  model TEXT PRIMARY KEY,
  slots BIGINT NOT NULL,
  reason TEXT NOT NULL
);

CREATE TABLE slot_grant (
  model TEXT NOT NULL,
  worker TEXT NOT NULL,
  ground TEXT NOT NULL,
  slots BIGINT NOT NULL,
  in_use BIGINT NOT NULL,
  demand BIGINT NOT NULL,
  more BIGINT NOT NULL,
  refused_at BIGINT NOT NULL,
  late_at BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  reserved_until BIGINT NOT NULL,
  PRIMARY KEY (model, worker)
);
CREATE INDEX slot_grant_worker ON slot_grant (worker);

CREATE TABLE load (
  model TEXT NOT NULL,
  process TEXT NOT NULL,
  in_flight BIGINT NOT NULL,
  reserve BIGINT NOT NULL,
  pausing BIGINT NOT NULL,
  refused_at BIGINT NOT NULL,
  late_at BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (model, process)
);

-- Token buckets: what calls have used of one, as of a moment, and how many calls the last who asked was given.
CREATE TABLE rate (
  bucket TEXT PRIMARY KEY,
  used BIGINT NOT NULL,
  at BIGINT NOT NULL,
  taken BIGINT NOT NULL
);
