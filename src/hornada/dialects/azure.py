"""Azure's dialect: OpenAI's, for clients of Azure OpenAI, who leave ``/v1`` out and name the model in the path."""

from hornada.core.limits import DialectRules
from hornada.dialects.openai import OpenAI


class Azure(OpenAI):
    """Mounted at ``/openai`` it answers ``AzureOpenAI(azure_endpoint=...)``.

    ``/chat/completions`` is taken for ``/v1/chat/completions``, in a create and in lines. What it answers is OpenAI's:
    lower-case statuses, whole seconds, counts that are never null.
    """

    name = "azure"
    rules = DialectRules(name="azure", deduplicate=False, unversioned=True)
    deployments = True
