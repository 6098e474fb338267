-- Which organizations wait for a model, and with which batches: walked from one organization to the next.
CREATE INDEX {online} batch_turn ON batch (model, org, expires_at, id) WHERE status = 'in_progress';

-- What a worker that has ended was checking or assembling.
CREATE INDEX {online} batch_stage ON batch (stage_owner) WHERE stage_owner IS NOT NULL;
