"""The crash suite: the real process is killed and must lose nothing, repeat nothing that was committed."""
