"""The chaos suite: a whole installation under random faults, held against every promise of the engine."""
