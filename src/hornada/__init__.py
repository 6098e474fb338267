"""Hornada: a self-hosted batch inference server that speaks OpenAI's Files and Batch API."""

__version__ = "0.1.0"
