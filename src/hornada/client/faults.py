"""What may go wrong for a client.

ClientError
├── Refused      the server said no: its status, code and message
├── Unreached    no server, or none that could answer for as long as was waited
├── Garbled      what came is not what a batch server sends, or not what it said it sends
└── BadInput     a file, a table or an option of the caller's own
"""

from hornada.core.errors import HornadaError


class ClientError(HornadaError):
    """Any failure of a call; the message is for people."""


class Refused(ClientError):
    """The server said no. ``code`` and ``param`` as it spelled them, None where it did not."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(f"{message} ({code})" if code else message)
        self.status = status
        self.code = code
        self.param = param


class Unreached(ClientError):
    """There is no server at the address, or it cannot answer now; ``sent``: the request may have arrived."""

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


class Garbled(ClientError):
    """What answers is no batch server, or its bytes are not those that it promised."""


class BadInput(ClientError):
    """A file of the caller's that cannot be used; the message says which, where and why."""
