"""Settings: file, then environment, then flags, merged raw and parsed once into a frozen tree."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hornada.config.parse import parse
from hornada.config.sources import FILE_VARIABLE, ConfigError, merge, read_environment, read_file, read_flags
from hornada.config.tree import BootstrapSettings, Config, ProcessRole, ServerSettings, StorageSettings
from hornada.core.table import Problems

__all__ = ["BootstrapSettings", "Config", "ConfigError", "ProcessRole", "ServerSettings", "StorageSettings", "load"]


def load(path: Path | None, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    """Reads the whole configuration (contract 10).

    ``path``: the TOML file, else what ``HORNADA_CONFIG`` names, else none. ``flags``: values by dotted key, such as
    ``server.port``; None where a flag was not given. Raises ConfigError with every fault that was found.
    """
    problems = Problems()
    named = environ.get(FILE_VARIABLE)
    raw = read_file(path or (Path(named) if named else None), problems)
    raw = merge(raw, read_environment(environ, problems))
    raw = merge(raw, read_flags(flags, problems))
    config = parse(raw, problems)
    if config is None or problems.lines:
        raise ConfigError(problems.lines)
    return config
