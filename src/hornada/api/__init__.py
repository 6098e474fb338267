"""HTTP: parse, one engine call, render."""
