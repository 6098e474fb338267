"""Verbs: every write goes through here."""
