"""InferNode's dialect: OpenAI's contract with InferNode's own codes, headers and deduplication."""

from hornada.core.limits import DialectRules
from hornada.dialects.spelling import Spelling


class InferNode(Spelling):
    """The first seed. Every code is spelled as in ``core.errors``."""

    name = "infernode"
    rules = DialectRules(name="infernode", deduplicate=True)
    sha_header = "X-Saptiva-Content-SHA256"
    dedup_header = "X-Saptiva-Deduplicated-From"
