"""Bytes: one protocol over a local folder and (later) any S3-compatible store."""
