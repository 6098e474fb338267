"""Looks at the certificates that a configuration names, so that a wrong file is told at once and not at a call."""

import ssl
from collections.abc import Iterator

from hornada.config.tree import Config, ServerSettings
from hornada.core.table import Problems


def check_certificates(config: Config, problems: Problems) -> None:
    """Notes every file that is missing, unreadable or no PEM of its kind, and a certificate without its key."""
    for key, path in _authorities(config):
        try:
            ssl.create_default_context(cafile=path)
        except OSError as error:  # an SSLError is one
            problems.add(key, f"{path} cannot be used as a PEM file of authorities: {_why(error)}")
    _check_pair(config.server, problems)


def _authorities(config: Config) -> Iterator[tuple[str, str]]:
    if config.upstream_ca_file is not None:
        yield "upstream_ca_file", config.upstream_ca_file
    for index, model in enumerate(config.models):
        for server in model.servers:
            if server.ca_file is not None:
                yield f"models[{index}].upstream.ca_file", server.ca_file


def _check_pair(server: ServerSettings, problems: Problems) -> None:
    certificate, key = server.tls_certificate, server.tls_key
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        given, missing = ("tls_certificate", "tls_key") if key is None else ("tls_key", "tls_certificate")
        problems.add(f"server.{missing}", f"is missing; it belongs to server.{given}")
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, no_passphrase)
    except (OSError, ValueError) as error:
        problems.add("server.tls_certificate", f"{certificate} and {key} cannot be used together: {_why(error)}")


def no_passphrase() -> str:
    """Stands in for whoever would be asked for one. Raises ValueError."""
    raise ValueError("the key is locked with a passphrase")


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
