"""Bytes: one protocol over a local folder and any S3-compatible store."""

from pathlib import Path

from hornada.blobs.protocol import Blobs


def open_blobs(url: str) -> Blobs:
    """Opens ``file://relative/folder``, ``file:///absolute/folder`` or ``s3://bucket/prefix?endpoint=…&region=…``.

    A folder is created where it is missing; its path is taken as it is written, without percent-decoding. Raises
    ValueError for any other kind of address and Unavailable when the folder cannot be made.
    """
    scheme, found, folder = url.partition("://")
    if scheme == "s3" and found:
        return _s3(url)
    if scheme != "file" or not folder:
        raise ValueError(f"blobs: expected file://FOLDER or s3://BUCKET/PREFIX, got {url!r}")

    from hornada.blobs.local import LocalBlobs

    return LocalBlobs(Path(folder))


def _s3(url: str) -> Blobs:
    try:
        from hornada.blobs.s3 import open_s3
    except ModuleNotFoundError as error:
        raise ValueError(f"blobs: s3:// needs the extra s3, pip install 'hornada[s3]': {error}") from error
    return open_s3(url)
