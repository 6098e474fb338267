"""``hornada serve``: the server."""

import os

import typer

from hornada.cli.settings import ConfigFlag, DataFlag, HostFlag, PortFlag, RoleFlag, UpstreamFlag, settings


def serve(
    config: ConfigFlag = None,
    host: HostFlag = None,
    port: PortFlag = None,
    data: DataFlag = None,
    upstream: UpstreamFlag = None,
    role: RoleFlag = None,
) -> None:
    """Serve the API and run batches until stopped."""
    flags = {"server.host": host, "server.port": port, "data": data, "upstream": upstream, "role": role}
    found = settings(config, flags)
    from hornada.config import Origin
    from hornada.service import serve as start

    raise typer.Exit(start(found, Origin(config, os.environ, flags)))
