-- The ledger. Times are microseconds since 1970 (BIGINT); JSON is TEXT; {blob} is BLOB or BYTEA.

CREATE TABLE organization (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  suspended_at BIGINT,
  created_at BIGINT NOT NULL
);

CREATE TABLE member (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL REFERENCES organization (id),
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  removed_at BIGINT,
  created_at BIGINT NOT NULL
);

CREATE TABLE api_key (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL REFERENCES organization (id),
  member TEXT NOT NULL REFERENCES member (id),
  name TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  models TEXT,
  expires_at BIGINT,
  revoked_at BIGINT,
  created_at BIGINT NOT NULL
);

CREATE TABLE file (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL,
  member TEXT NOT NULL,
  key TEXT NOT NULL,
  purpose TEXT NOT NULL,
  name TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  object TEXT NOT NULL UNIQUE,
  requests BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  deleted_at BIGINT
);
CREATE INDEX file_list ON file (org, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX file_twin ON file (org, sha256) WHERE deleted_at IS NULL;
CREATE INDEX file_expiry ON file (expires_at) WHERE deleted_at IS NULL;
CREATE INDEX file_gone ON file (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE batch (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL,
  member TEXT NOT NULL,
  key TEXT NOT NULL,
  dialect TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  completion_window TEXT NOT NULL,
  model TEXT,
  input_file TEXT NOT NULL,
  twin TEXT,
  status TEXT NOT NULL,
  stop TEXT,
  checked BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  in_progress_at BIGINT,
  finalizing_at BIGINT,
  completed_at BIGINT,
  failed_at BIGINT,
  cancelling_at BIGINT,
  cancelled_at BIGINT,
  expired_at BIGINT,
  total BIGINT NOT NULL,
  n_ok BIGINT NOT NULL,
  n_failed BIGINT NOT NULL,
  output_file TEXT,
  error_file TEXT,
  output_lifetime_s BIGINT,
  metadata TEXT,
  errors TEXT,
  usage TEXT,
  stage_owner TEXT,
  stage_epoch BIGINT NOT NULL,
  stage_until BIGINT NOT NULL,
  stage_tries BIGINT NOT NULL
);
CREATE UNIQUE INDEX batch_twin ON batch (org, twin)
  WHERE twin IS NOT NULL AND status IN ('validating', 'in_progress', 'finalizing');
CREATE INDEX batch_list ON batch (org, created_at, id);
CREATE INDEX batch_live ON batch (status, stage_until)
  WHERE status IN ('validating', 'in_progress', 'finalizing', 'cancelling');
CREATE INDEX batch_claim ON batch (model, expires_at, id) WHERE status = 'in_progress';
CREATE INDEX batch_deadline ON batch (expires_at) WHERE status IN ('validating', 'in_progress');
CREATE INDEX batch_input ON batch (input_file)
  WHERE status IN ('validating', 'in_progress', 'finalizing', 'cancelling');

CREATE TABLE chunk (
  batch TEXT NOT NULL,
  idx BIGINT NOT NULL,
  org TEXT NOT NULL,
  model TEXT NOT NULL,
  first_line BIGINT NOT NULL,
  n BIGINT NOT NULL,
  byte_off BIGINT NOT NULL,
  byte_len BIGINT NOT NULL,
  state TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  owner TEXT,
  lease_until BIGINT NOT NULL,
  not_before BIGINT NOT NULL,
  done {blob} NOT NULL,
  n_ok BIGINT NOT NULL,
  n_failed BIGINT NOT NULL,
  PRIMARY KEY (batch, idx)
);
CREATE INDEX chunk_ready ON chunk (batch, idx) WHERE state = 'ready';
CREATE INDEX chunk_leased ON chunk (lease_until) WHERE state = 'leased';
CREATE INDEX chunk_open ON chunk (batch) WHERE state <> 'done';

CREATE TABLE segment (
  batch TEXT NOT NULL,
  idx BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  object TEXT NOT NULL,
  byte_off BIGINT NOT NULL,
  byte_len BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  model TEXT NOT NULL,
  n_ok BIGINT NOT NULL,
  n_failed BIGINT NOT NULL,
  lines {blob} NOT NULL,
  PRIMARY KEY (batch, idx, epoch, seq)
);

CREATE TABLE ledger_entry (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL UNIQUE,
  org TEXT NOT NULL,
  key TEXT NOT NULL,
  batch TEXT,
  model TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  lines BIGINT NOT NULL,
  input BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  output BIGINT NOT NULL,
  reasoning BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  estimated BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX ledger_org ON ledger_entry (org, created_at);
CREATE INDEX ledger_batch ON ledger_entry (batch) WHERE batch IS NOT NULL;

CREATE TABLE idempotency (
  org TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  answer TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (org, route, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);
