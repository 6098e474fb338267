"""The kit's own checks."""
