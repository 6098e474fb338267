"""Real clients in front of a real server in front of a real model."""
