"""OpenAI's contract to the letter: its rules by number, every answer as a strict client reads it, its SDK's calls."""
