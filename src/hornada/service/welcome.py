"""What is printed when the server listens: where, and at the very first start the key and how to use it."""

import socket
import sys

_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - not to bind


def address(host: str, port: int, *, secure: bool = False) -> str:
    """Where a client on this machine reaches a listener; ``secure``: over TLS."""
    shown = _ANYWHERE.get(host) or (f"[{host}]" if ":" in host else host)
    return f"{_scheme(secure)}://{shown}:{port}"


def announce(host: str, port: int, key: str | None, *, secure: bool = False, dashboard: bool = True) -> None:
    """Prints it; ``key`` is the one that was made at the first start, ``dashboard`` whether there is one."""
    at = address(host, port, secure=secure)
    elsewhere = (
        f" (from other machines: {_scheme(secure)}://{socket.gethostname()}:{port})" if host in _ANYWHERE else ""
    )
    sys.stdout.write(f"Hornada listens on {at}{elsewhere}\n")
    if key is not None:
        login = _LOGIN.format(at=at) if dashboard else ""
        sys.stdout.write(_WELCOME.format(at=at, key=key, login=login))
    sys.stdout.flush()


def _scheme(secure: bool) -> str:  # noqa: FBT001 - what it is called for is its name
    return "https" if secure else "http"


_LOGIN = """
Log in to the dashboard with it:

    {at}/ui/
"""
_WELCOME = """
This is the first start: here is a key. It is shown only now.

    {key}
{login}
See which models there are:

    curl {at}/v1/models -H "Authorization: Bearer {key}"

Run a file of requests as a batch, from Python (pip install openai):

    import time
    from openai import OpenAI

    client = OpenAI(base_url="{at}/v1", api_key="{key}")
    file = client.files.create(file=open("requests.jsonl", "rb"), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    while batch.status not in ("completed", "failed", "expired", "cancelled"):
        time.sleep(2)
        batch = client.batches.retrieve(batch.id)
    print(batch.status, batch.errors or "")
    for result in (batch.output_file_id, batch.error_file_id):
        if result:
            print(client.files.content(result).text)

"""
