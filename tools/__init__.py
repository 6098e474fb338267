"""Programs for those who work on Hornada."""
