"""The tests: rooms mirror src, beside them the cases, the crash suite and the clients."""
