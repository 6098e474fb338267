"""A bare copy between a socket and a file with SHA-256: what an upload and a download must cost at least.

Arguments: PORT FILE. A connection that sends ``P`` and 8 bytes of length uploads to FILE, which is
synced before ``!`` is answered; one that sends ``G`` downloads it.
"""

import hashlib
import os
import socket
import sys
from pathlib import Path

PIECE = 1 << 18


def receive(connection: socket.socket, path: Path) -> None:
    """Socket to file."""
    left = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
    digest, buffer = hashlib.sha256(), memoryview(bytearray(PIECE))
    with path.open("wb", buffering=0) as output:
        while left:
            size = connection.recv_into(buffer, min(left, PIECE))
            digest.update(buffer[:size])
            output.write(buffer[:size])
            left -= size
        os.fsync(output.fileno())
    connection.sendall(b"!")


def give(connection: socket.socket, path: Path) -> None:
    """File to socket."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(PIECE))
    with path.open("rb", buffering=0) as source:
        while size := source.readinto(buffer):
            digest.update(buffer[:size])
            connection.sendall(buffer[:size])


def main(port: int, path: Path) -> None:
    """Serves one connection after the other until it is killed."""
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                kind = connection.recv(1)
                if kind == b"P":
                    receive(connection, path)
                elif kind == b"G":
                    give(connection, path)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
