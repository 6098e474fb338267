"""Bytes: one protocol over a local folder and (later) any S3-compatible store."""

from pathlib import Path

from hornada.blobs.protocol import Blobs


def open_blobs(url: str) -> Blobs:
    """Opens ``file://relative/folder`` or ``file:///absolute/folder``, creating it where it is missing.

    The path is taken as it is written, without percent-decoding. Raises ValueError for any other kind of address and
    Unavailable when the folder cannot be made.
    """
    scheme, found, folder = url.partition("://")
    if scheme == "s3" and found:
        raise ValueError("blobs: s3:// is not supported yet; use file://FOLDER")
    if scheme != "file" or not folder:
        raise ValueError(f"blobs: expected file://FOLDER, got {url!r}")

    from hornada.blobs.local import LocalBlobs

    return LocalBlobs(Path(folder))
