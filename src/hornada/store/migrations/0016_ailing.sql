-- What a worker knows of a model that others cannot see: since when it is away, or leaves every call unanswered.
ALTER TABLE slot_grant ADD COLUMN away_at BIGINT;
ALTER TABLE slot_grant ADD COLUMN silent_at BIGINT;
