"""The header fields of an answer: kept as they came, joined by name when somebody asks for one."""

from collections.abc import Iterator, Mapping


class Fields(Mapping[str, str]):
    """Headers by their lower-case names; most answers end without anybody asking for one."""

    __slots__ = ("_joined", "_raw")

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        self._raw = raw
        self._joined: dict[str, str] | None = None

    def __getitem__(self, name: str) -> str:
        return self._by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())

    def _by_name(self) -> dict[str, str]:
        if self._joined is None:
            self._joined = joined(self._raw)
        return self._joined


def joined(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their lower-case names; the values of a repeated one are joined by commas (RFC 9110, 5.3)."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in raw:
        name, value = raw_name.lower().decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
