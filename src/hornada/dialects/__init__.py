"""Spelling: pure functions between nouns and JSON."""
