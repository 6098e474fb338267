"""Azure's spelling: OpenAI's, but for where the paths lead."""

from hornada.core.errors import Code
from hornada.dialects import DIALECTS
from tests.dialects.nouns import DONE, FRESH, INPUT

azure, openai = DIALECTS["azure"], DIALECTS["openai"]


def test_everything_is_spelled_as_openai_spells_it() -> None:
    assert azure.file(INPUT) == openai.file(INPUT)
    assert [azure.batch(batch) for batch in (FRESH, DONE)] == [openai.batch(batch) for batch in (FRESH, DONE)]
    assert [(azure.code(code), azure.status(code)) for code in Code] == [
        (openai.code(code), openai.status(code)) for code in Code
    ]


def test_only_azure_takes_endpoints_without_a_version_and_models_in_the_path() -> None:
    assert [name for name, dialect in DIALECTS.items() if dialect.deployments] == ["azure"]
    assert [name for name, dialect in DIALECTS.items() if dialect.rules.unversioned] == ["azure"]
