-- Uploads in parts. The parts of an upload that is no longer pending are garbage.

CREATE TABLE upload (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL,
  member TEXT NOT NULL,
  key TEXT NOT NULL,
  name TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  lifetime_s BIGINT,
  status TEXT NOT NULL,
  file TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX upload_org ON upload (org);
CREATE INDEX upload_pending ON upload (expires_at) WHERE status = 'pending';
CREATE INDEX upload_ended ON upload (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE upload_part (
  id TEXT PRIMARY KEY,
  upload TEXT NOT NULL,
  org TEXT NOT NULL,
  bytes BIGINT NOT NULL,
  object TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);
CREATE INDEX upload_part_of ON upload_part (upload);
CREATE INDEX upload_part_org ON upload_part (org);
