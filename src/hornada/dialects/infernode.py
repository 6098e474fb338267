"""InferNode's dialect: OpenAI's contract with InferNode's own codes, headers and deduplication."""

from hornada.core.batch import TERMINAL, Batch
from hornada.core.limits import DialectRules
from hornada.core.progress import Progress
from hornada.dialects.protocol import Json
from hornada.dialects.spelling import Spelling


class InferNode(Spelling):
    """InferNode's. Every code is spelled as in ``core.errors``."""

    name = "infernode"
    rules = DialectRules(name="infernode", deduplicate=True)
    sha_headers = ("X-Saptiva-Content-SHA256", *Spelling.sha_headers)
    dedup_headers = ("X-Saptiva-Deduplicated-From", *Spelling.dedup_headers)

    def outlook(self, batch: Batch, progress: Progress) -> Json:
        """A key of our own."""
        return {"hornada": self.progress(batch, progress)}

    def batch(self, batch: Batch) -> Json:
        """OpenAI's Batch object; once it has ended, with our own ``cost`` in micro-units."""
        spelled = super().batch(batch)
        return spelled | {"cost": batch.cost or 0} if batch.status in TERMINAL else spelled
