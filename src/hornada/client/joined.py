"""Results beside the rows that they answer: what a CSV, Parquet or JSONL file of results holds."""

from collections.abc import Iterable, Mapping
from typing import Any

from hornada.client.tables import TEXT, WHOLE, Column, Row
from hornada.core.result import Result

ANSWER, ERROR = "answer", "error"
_OWN = (
    Column(ANSWER, TEXT),
    Column("status_code", WHOLE),
    Column("input_tokens", WHOLE),
    Column("output_tokens", WHOLE),
    Column("error_code", TEXT),
    Column(ERROR, TEXT),
)


class Joint:
    """The columns of a table and of its results. A column of the table keeps its name: ours is ``answer_2`` then.

    Without a table the id stands for the row, in a column ``custom_id``.
    """

    def __init__(self, columns: Iterable[Column] = ()) -> None:
        given = list(columns) or [Column("custom_id")]
        taken = {column.name for column in given}
        self._names = {column.name: _free(column.name, taken) for column in _OWN}
        self.columns = [*given, *(Column(self._names[column.name], column.kind) for column in _OWN)]

    def row(self, row: Mapping[str, Any] | None, result: Result | None) -> Row:
        """A row with its result; ``row`` None: only its id is known. ``result`` None: it has none."""
        if row is None:
            row = {} if result is None else {"custom_id": result.custom_id}
        found = result or Result(custom_id="", error_code="no_result", error="The server gave no result for this line.")
        values = (
            found.text,
            found.status_code,
            found.input_tokens,
            found.output_tokens,
            found.error_code,
            found.error,
        )
        return {**row, **dict(zip(self._names.values(), values, strict=True))}

    def failed(self, row: Mapping[str, Any]) -> bool:
        """Whether a row that was written before is that of a line that failed."""
        return bool(row.get(self._names[ERROR]))


def _free(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
