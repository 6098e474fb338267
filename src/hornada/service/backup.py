"""Copies an embedded installation, running or not, into a folder, and such a folder back."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hornada.blobs.durable import make_folder, private, sync_folder
from hornada.config import Config
from hornada.core.errors import Broken, Unavailable
from hornada.service.keeping import keeping
from hornada.service.lock import lock
from hornada.store.backup import Named, copy_ledger, named

LEDGER = "ledger.db"
BLOBS = "blobs"
_BLOCK = 1 << 20
_EMBEDDED = (
    "only a SQLite ledger and a folder of blobs are copied by this command; "
    "use pg_dump, then a copy of the bucket, and keep objects that are deleted meanwhile"
)


class Copied(NamedTuple):
    """How many blobs of how many bytes."""

    blobs: int
    bytes: int


class _Place(NamedTuple):
    ledger: Path
    blobs: Path


def backup(config: Config, target: Path) -> Copied:
    """Copies the ledger as it is at one moment, then every blob that this copy names, into an empty folder.

    A server may run meanwhile: it removes nothing until the copy is whole, and what it adds is not needed. Files are
    checked against their hashes. Raises ValueError for another shape or a folder that is not empty, Unavailable, and
    Broken when bytes are missing or are not what they were.
    """
    place = _place(config)
    if not place.ledger.exists():
        raise ValueError(f"there is no ledger at {place.ledger}")
    if target.exists() and any(target.iterdir()):
        raise ValueError(f"{target} is not empty")
    make_folder(target)
    with keeping(place.ledger.parent):
        part = target / f"{LEDGER}.part"
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        copy_ledger(place.ledger, part)
        copied = _copy(named(part), place.blobs, target / BLOBS)
        part.rename(target / LEDGER)
    sync_folder(target)
    return copied


def restore(config: Config, source: Path) -> Copied:
    """Copies a backup to where the configuration says, when nothing is there and no server runs.

    The ledger comes last, so one that was broken off leaves none. Raises as ``backup`` does, and Locked.
    """
    place = _place(config)
    if not (source / LEDGER).exists():
        raise ValueError(f"there is no whole backup in {source}")
    handle = lock(place.ledger.parent)
    try:
        if place.ledger.exists():
            raise ValueError(f"there is a ledger at {place.ledger} already")
        copied = _copy(named(source / LEDGER), source / BLOBS, place.blobs)
        make_folder(place.ledger.parent)
        part = place.ledger.with_name(f"{place.ledger.name}.part")
        _copy_file(source / LEDGER, part, (source / LEDGER).stat().st_size)
        for suffix in ("-wal", "-shm"):
            place.ledger.with_name(place.ledger.name + suffix).unlink(missing_ok=True)
        part.rename(place.ledger)
        sync_folder(place.ledger.parent)
    finally:
        os.close(handle)
    return copied


def _place(config: Config) -> _Place:
    ledger, blobs = config.storage.ledger, config.storage.folder
    if ledger is None or blobs is None:
        raise ValueError(_EMBEDDED)
    return _Place(ledger, blobs)


def _copy(blobs: Iterable[Named], source: Path, target: Path) -> Copied:
    number = size = 0
    for blob in blobs:
        make_folder((target / blob.key).parent)
        found = _copy_file(source / blob.key, target / blob.key, blob.size)
        if blob.sha256 is not None and found != blob.sha256:
            raise Broken(f"{blob.key} is not what was written: its SHA-256 is {found}, not {blob.sha256}")
        number, size = number + 1, size + blob.size
    make_folder(target)
    return Copied(number, size)


def _copy_file(source: Path, target: Path, size: int) -> str:
    """Copies the first ``size`` bytes, makes them durable, and gives their SHA-256."""
    digest = hashlib.sha256()
    try:
        with source.open("rb") as old, open(target, "wb", opener=private) as new:
            left = size
            while left and (block := old.read(min(_BLOCK, left))):
                digest.update(block)
                new.write(block)
                left -= len(block)
            new.flush()
            os.fsync(new.fileno())
    except FileNotFoundError as error:
        raise Broken(f"{source} is missing") from error
    except OSError as error:
        raise Unavailable(f"{source} cannot be copied to {target}: {error.strerror}") from error
    if left:
        raise Broken(f"{source} is {left} bytes short")
    sync_folder(target.parent)
    return digest.hexdigest()
