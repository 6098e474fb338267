"""Rows: the only room with SQL."""
