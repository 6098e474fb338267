"""Settings: file, then environment, then flags, merged raw and parsed once into a frozen tree."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hornada.config.certificates import check_certificates
from hornada.config.parse import parse
from hornada.config.sources import FILE_VARIABLE, ConfigError, merge, read_environment, read_file, read_flags
from hornada.config.tree import BootstrapSettings, Config, EngineSettings, ProcessRole, ServerSettings, StorageSettings
from hornada.core.table import Problems

__all__ = [
    "BootstrapSettings",
    "Config",
    "ConfigError",
    "EngineSettings",
    "Origin",
    "ProcessRole",
    "ServerSettings",
    "StorageSettings",
    "load",
]


class Origin(Struct, frozen=True):
    """Where a configuration came from, so that it can be read again."""

    path: Path | None
    environ: Mapping[str, str]
    flags: Mapping[str, Any]

    @property
    def file(self) -> Path | None:
        """The file that is read, if any."""
        return _file(self.path, self.environ)

    def load(self) -> Config:
        """Reads it; raises ConfigError."""
        return load(self.path, self.environ, self.flags)


def load(path: Path | None, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    """Reads the whole configuration.

    ``path``: the TOML file, else what ``HORNADA_CONFIG`` names, else none. ``flags``: values by dotted key, such as
    ``server.port``; None where a flag was not given. Raises ConfigError with every fault that was found.
    """
    problems = Problems()
    raw = read_file(_file(path, environ), problems)
    raw = merge(raw, read_environment(environ, problems))
    raw = merge(raw, read_flags(flags, problems))
    config = parse(raw, problems)
    if config is not None:
        check_certificates(config, problems)
    if config is None or problems.lines:
        raise ConfigError(problems.lines)
    return config


def _file(path: Path | None, environ: Mapping[str, str]) -> Path | None:
    named = environ.get(FILE_VARIABLE)
    return path or (Path(named) if named else None)
