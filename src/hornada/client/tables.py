"""Tables of people: rows of CSV, Parquet and JSONL files, read and written in bounded memory."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

import msgspec
from msgspec import Struct

from hornada.client.faults import BadInput
from hornada.core.answer import one_line

Row = dict[str, Any]

TEXT, WHOLE, NUMBER, TRUTH, JSON = "text", "whole", "number", "truth", "json"
_CSV = {".csv": ",", ".tsv": "\t"}
_PARQUET = {".parquet", ".pq"}
_GROUP = 5000
"""Rows of a Parquet file that are held at once."""
_MOST_FIELD = 1 << 30


class Column(Struct, frozen=True):
    """A column. ``kind`` is one of the words above, or the Arrow type of a Parquet file's column."""

    name: str
    kind: Any = TEXT


class Table(Protocol):
    """A file of rows; iterating reads it anew."""

    columns: list[Column]

    def __iter__(self) -> Iterator[Row]: ...


class RowWriter(Protocol):
    """Takes rows by column name."""

    def write(self, row: Mapping[str, Any]) -> None:
        """Adds a row; a column that it lacks stays empty."""
        ...

    def close(self) -> None:
        """Ends the file."""
        ...


def is_table(path: Path) -> bool:
    """Whether a file's name says that it holds a table, and so no requests as they are."""
    return path.suffix.lower() in {*_CSV, *_PARQUET}


def check_writable(path: Path) -> None:
    """Raises BadInput where what Parquet needs is missing."""
    if path.suffix.lower() in _PARQUET:
        _arrow(path)


def open_table(path: Path) -> Table:
    """The table of a file, by its name. Raises BadInput for one that cannot be read."""
    suffix = path.suffix.lower()
    try:
        if suffix in _PARQUET:
            return _Parquet(path)
        return _Csv(path, _CSV[suffix]) if suffix in _CSV else _Records(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.") from None


def open_writer(path: Path, columns: list[Column], like: Path | None = None) -> RowWriter:
    """Writes rows to ``path`` in the format that the name of ``like`` says, or its own."""
    suffix = (like or path).suffix.lower()
    if suffix in _PARQUET:
        return _ParquetWriter(path, columns)
    return _CsvWriter(path, columns, _CSV[suffix]) if suffix in _CSV else _RecordWriter(path, columns)


class _Csv:
    def __init__(self, path: Path, delimiter: str) -> None:
        self._path = path
        csv.field_size_limit(_MOST_FIELD)
        with self._open() as source:
            try:
                first = source.readline()
            except UnicodeDecodeError as error:
                raise BadInput(_not_utf8(path, error)) from None
            if delimiter == "," and ";" in first and "," not in first:
                delimiter = ";"
            source.seek(0)
            self._delimiter = delimiter
            names = next(self._reader(source), [])
        if not any(names):
            raise BadInput(f"{path} has no header: its first line must name the columns.")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise BadInput(f"{path} names the column {twice!r} twice.")
        self.columns = [Column(name) for name in names]

    def _open(self) -> TextIO:
        return self._path.open(encoding="utf-8-sig", newline="")

    def _reader(self, source: TextIO) -> Iterator[list[str]]:
        return csv.reader(source, delimiter=self._delimiter, strict=True)

    def __iter__(self) -> Iterator[Row]:
        names = [column.name for column in self.columns]
        number = 0
        with self._open() as source:
            reader = self._reader(source)
            try:
                next(reader)
                for cells in reader:
                    if not cells:
                        continue
                    number += 1
                    if len(cells) != len(names):
                        counted = f"row {number} has {len(cells)} cells, but the header names {len(names)} columns"
                        raise BadInput(f"{self._path}: {counted}.")
                    yield dict(zip(names, cells, strict=True))
            except UnicodeDecodeError as error:
                raise BadInput(_not_utf8(self._path, error)) from None
            except csv.Error as error:
                raise BadInput(f"{self._path}: row {number + 1} is not CSV: {error}.") from None


class _Records:
    """JSONL of plain records; a first pass finds the columns and what they hold."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kinds: dict[str, str | None] = {}
        for row in self:
            for name, value in row.items():
                kinds[name] = _joined(kinds.get(name), _kind(value))
        self.columns = [Column(name, kind or TEXT) for name, kind in kinds.items()]

    def __iter__(self) -> Iterator[Row]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        with self._path.open("rb") as source:
            for number, line in enumerate(source, 1):
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if not text.strip():
                    continue
                try:
                    yield decode(text)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise BadInput(f"{self._path}:{number}: This line is no JSON object: {error}") from None


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._path = path
        with _arrow(path).ParquetFile(path) as file:
            self.columns = [Column(field.name, field.type) for field in file.schema_arrow]

    def __iter__(self) -> Iterator[Row]:
        with _arrow(self._path).ParquetFile(self._path) as file:
            for group in file.iter_batches(batch_size=_GROUP):
                yield from group.to_pylist()


class _CsvWriter:
    def __init__(self, path: Path, columns: list[Column], delimiter: str) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._names = [column.name for column in columns]
        self._csv = csv.writer(self._file, delimiter=delimiter, lineterminator="\n")
        self._csv.writerow(self._names)

    def write(self, row: Mapping[str, Any]) -> None:
        self._csv.writerow([_cell(row.get(name)) for name in self._names])

    def close(self) -> None:
        self._file.close()


class _RecordWriter:
    def __init__(self, path: Path, columns: list[Column]) -> None:
        self._file = path.open("wb")
        self._names = [column.name for column in columns]

    def write(self, row: Mapping[str, Any]) -> None:
        self._file.write(one_line(msgspec.json.encode({name: row.get(name) for name in self._names})) + b"\n")

    def close(self) -> None:
        self._file.close()


class _ParquetWriter:
    def __init__(self, path: Path, columns: list[Column]) -> None:
        parquet = _arrow(path)
        import pyarrow as pa

        kinds = {TEXT: pa.string(), JSON: pa.string(), WHOLE: pa.int64(), NUMBER: pa.float64()}
        kinds[TRUTH] = pa.bool_()
        self._arrow = pa
        self._schema = pa.schema([(c.name, kinds[c.kind] if isinstance(c.kind, str) else c.kind) for c in columns])
        self._json = [c.name for c in columns if c.kind == JSON]
        self._file = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []

    def write(self, row: Mapping[str, Any]) -> None:
        cells = {name: _cell(row.get(name)) if name in self._json else row.get(name) for name in self._schema.names}
        self._rows.append(cells)
        if len(self._rows) == _GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        self._file.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []


def _arrow(path: Path) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise BadInput(f"{path.name}: Parquet needs pyarrow: pip install 'hornada[tables]', or use CSV.") from None

    def opened(path: Path) -> Any:
        try:
            return parquet.ParquetFile(path)
        except ArrowException as error:
            raise BadInput(f"{path} is no Parquet file: {error}") from None

    return _Arrow(opened, parquet.ParquetWriter)


class _Arrow(Struct, frozen=True):
    ParquetFile: Any
    ParquetWriter: Any


def _not_utf8(path: Path, error: UnicodeDecodeError) -> str:
    return f"{path} is not UTF-8 ({error.reason} at byte {error.start}): save it as UTF-8."


def _cell(value: Any) -> str:
    """A value as a cell of text."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool() | dict() | list():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value)


def _kind(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return TRUTH
        case int():
            return WHOLE if -(1 << 63) <= value < 1 << 63 else JSON
        case float():
            return NUMBER
        case str():
            return TEXT
        case _:
            return JSON


def _joined(one: str | None, other: str | None) -> str | None:
    """What a column is that holds both."""
    if one is None or other is None or one == other:
        return one or other
    return NUMBER if {one, other} == {WHOLE, NUMBER} else JSON
