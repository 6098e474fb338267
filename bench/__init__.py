"""The proof kit: a stub model server, yardsticks and drivers that measure Hornada against them on loopback."""
