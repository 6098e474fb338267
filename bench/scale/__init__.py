"""Measures the ledger at the size of a large installation: ``python -m bench.scale``."""
