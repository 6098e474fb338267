-- Webhooks: where events go, and the outbox with its log. Secrets stand in clear, for they sign.

CREATE TABLE webhook_endpoint (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_secret_until BIGINT,
  status TEXT NOT NULL,
  why_disabled TEXT,
  failing_since BIGINT,
  last_failed_at BIGINT,
  not_before BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX webhook_endpoint_org ON webhook_endpoint (org, created_at, id);

CREATE TABLE webhook_delivery (
  id TEXT PRIMARY KEY,
  org TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  event TEXT NOT NULL,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  next_at BIGINT NOT NULL,
  until BIGINT NOT NULL,
  tried_at BIGINT,
  code BIGINT,
  took_ms BIGINT,
  error TEXT,
  created_at BIGINT NOT NULL,
  ended_at BIGINT,
  trial BIGINT NOT NULL
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (endpoint, next_at) WHERE status = 'pending';
CREATE INDEX webhook_delivery_late ON webhook_delivery (until) WHERE status = 'pending';
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX webhook_delivery_log ON webhook_delivery (endpoint, created_at, id);
