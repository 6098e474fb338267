"""The platform around batches, black box, against a real process: operators, organizations, keys, catalog."""
