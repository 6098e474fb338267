-- What a worker holds.
CREATE INDEX {online} chunk_owner ON chunk (owner) WHERE state = 'leased';
