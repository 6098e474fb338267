-- The oldest entries that are not yet folded into one a day.
CREATE INDEX {online} ledger_age ON ledger_entry (created_at) WHERE folded IN (1, 2);
