"""Nouns and rules: standard library and msgspec only, no input or output, no clock of its own."""
