"""Spelling: pure functions between nouns and JSON, one module per dialect."""

from hornada.dialects.azure import Azure
from hornada.dialects.infernode import InferNode
from hornada.dialects.novita import Novita
from hornada.dialects.openai import OpenAI
from hornada.dialects.protocol import Dialect

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (InferNode(), Novita(), OpenAI(), Azure())}
"""Every dialect by the name that configuration and the batch row use."""
