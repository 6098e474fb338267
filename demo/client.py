"""The four steps of a batch over plain HTTP: upload, create, look, download."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

BOUNDARY = "hornada-demo-boundary"


class Client:
    """Calls a batch server. ``base`` ends in ``/v1``."""

    def __init__(self, base: str, key: str) -> None:
        self._base, self._key = base, key

    def call(self, path: str, body: bytes | None = None, media: str = "application/json") -> bytes:
        """GET, or POST with a body; SystemExit with the server's words when it refuses."""
        headers = {"authorization": f"Bearer {self._key}", "content-type": media}
        request = urllib.request.Request(self._base + path, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {error.code} {error.read().decode(errors='replace')}") from None

    def models(self) -> list[str]:
        """Names of the models; none while the server does not answer."""
        try:
            return [model["id"] for model in json.loads(self.call("/models"))["data"]]
        except urllib.error.URLError:
            return []

    def upload(self, path: Path) -> dict[str, Any]:
        """The file object."""
        head = 'Content-Disposition: form-data; name="{}"{}\r\n\r\n'
        purpose = f"--{BOUNDARY}\r\n{head.format('purpose', '')}batch\r\n".encode()
        name = f'; filename="{path.name}"'
        content = f"--{BOUNDARY}\r\n{head.format('file', name)}".encode() + path.read_bytes()
        body = purpose + content + f"\r\n--{BOUNDARY}--\r\n".encode()
        return self._object(self.call("/files", body, f"multipart/form-data; boundary={BOUNDARY}"))

    def create(self, file: str) -> dict[str, Any]:
        """The batch object."""
        asked = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        return self._object(self.call("/batches", json.dumps(asked).encode()))

    def batch(self, batch: str) -> dict[str, Any]:
        """The batch object as it is now."""
        return self._object(self.call(f"/batches/{batch}"))

    def content(self, file: str) -> bytes:
        """The bytes of a file."""
        return self.call(f"/files/{file}/content")

    @staticmethod
    def _object(content: bytes) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(content)
        return found
