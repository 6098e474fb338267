"""P6 and P7: checking a big file, and taking it in and giving it out."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from bench import build, lines, procstat
from bench.client import granted
from bench.hornada import KEY, Hornada
from bench.report import Result
from bench.rows.control import Caller
from bench.setting import PATIENCE_S, Setting, percentile

LINES = 50_000
PIECE = 1 << 18


def validation(setting: Setting) -> list[Result]:
    """P6: create to in_progress, while a caller on one connection looks how long the event loop keeps it waiting."""
    path = setting.input(LINES, lines.BIG_CHARS)
    ours: list[float] = []
    bare: list[float] = []
    lags: list[float] = []
    grown: list[float] = []
    for _ in range(setting.pick(1, 3)):
        bare.append(msgspec_pass(path))
        setting.quiet(latency_ms=30_000)
        with setting.server(1) as server:
            file_id = str(server.client.upload(path).id)
            before = procstat.rss(server.pid)
            with procstat.Peak(server.pid) as peak, Caller(server, "/healthz", every=0.002) as caller:
                ours.append(checked(server, file_id))
            grown.append((peak.bytes - before) / procstat.MIB)
            lags += caller.waits
    took, alone, lag = median(ours), median(bare), percentile(lags, 0.99) * 1000
    return [
        Result(
            row="P6",
            work=f"check {LINES} lines, {path.stat().st_size / procstat.MIB:.1f} MiB",
            figure=f"{took:.2f} s, +{max(grown):.0f} MiB, loop p99 {lag:.1f} ms",
            yardstick=f"msgspec {alone:.2f} s",
            ratio=f"{took / alone:.2f} x",
            target="<= 1.5 x, +48 MiB, p99 <= 5 ms",
            met=took <= 1.5 * alone and max(grown) <= 48 and lag <= 5,
            less={"of msgspec": took / alone, "grown MiB": max(grown)},
            facts={"seconds": ours, "msgspec": bare, "grown_mib": grown, "calls": len(lags)},
        )
    ]


def checked(server: Hornada, file_id: str) -> float:
    """Seconds from create to a batch that is no longer validating."""
    began = time.perf_counter()
    batch_id = granted(server.client.create(file_id), "create")["id"]
    while server.client.batch(batch_id)["status"] == "validating":
        time.sleep(0.02)
    return time.perf_counter() - began


def msgspec_pass(path: Path) -> float:
    """Seconds of a bare decoding pass in a fresh process."""
    command: list[str | Path] = [sys.executable, build.HERE / "yardsticks" / "msgspec_pass.py", path]
    return float(subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S).stdout)


def copies(setting: Setting) -> list[Result]:
    """P7: upload and download of a file just under 100 MiB, beside a bare copy with SHA-256."""
    path = setting.input(LINES, lines.BIG_CHARS)
    script = build.HERE / "yardsticks" / "raw_copy.py"
    ours: dict[str, list[float]] = {"upload": [], "download": []}
    bare: dict[str, list[float]] = {"upload": [], "download": []}
    grown = 0.0
    with (
        setting.server(1) as server,
        setting.helper([sys.executable, script, "PORT", setting.folder / "copy.bin"]) as (helper, port),
    ):
        helper.until(lambda: listening(port), 10)
        before = procstat.rss(server.pid)
        with procstat.Peak(server.pid) as peak:
            for number in range(setting.pick(2, 4)):
                put_bare(port, path, bare["upload"])
                file_id = put(server, path, number, ours["upload"])
                get_bare(port, bare["download"])
                get(server, file_id, ours["download"])
        grown = (peak.bytes - before) / procstat.MIB
    return [copied(setting, path, kind, ours[kind], bare[kind], grown) for kind in ("upload", "download")]


def copied(setting: Setting, path: Path, kind: str, ours: list[float], bare: list[float], grown: float) -> Result:
    """One direction."""
    took, alone = min(ours), min(bare)
    return Result(
        row="P7",
        work=f"{kind} {path.stat().st_size / procstat.MIB:.1f} MiB",
        figure=f"{took:.2f} s, +{grown:.0f} MiB",
        yardstick=f"copy {alone:.2f} s",
        ratio=f"{took / alone:.2f} x",
        target="<= 1.5 x, +16 MiB",
        met=took <= 1.5 * alone and grown <= 16,
        less={f"{kind} of copy": took / alone, f"{kind} grown MiB": grown},
        facts={"seconds": ours, "copy": bare, "quick": setting.quick},
    )


def listening(port: int) -> bool:
    """Whether somebody answers there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def put_bare(port: int, path: Path, into: list[float]) -> None:
    """Times a bare upload."""
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port)) as connection, path.open("rb") as source:
        connection.sendall(b"P" + path.stat().st_size.to_bytes(8, "big"))
        while piece := source.read(PIECE):
            connection.sendall(piece)
        connection.recv(1)
    into.append(time.perf_counter() - began)


def get_bare(port: int, into: list[float]) -> None:
    """Times a bare download."""
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"G")
        while connection.recv(PIECE):
            pass
    into.append(time.perf_counter() - began)


def put(server: Hornada, path: Path, number: int, into: list[float]) -> str:
    """Times an upload; bytes differ each time, or it would be answered with the earlier file."""
    with path.open("r+b") as target:
        target.seek(len(b'{"custom_id": "line'))
        target.write(b"-+_~"[number : number + 1])
    began = time.perf_counter()
    answer = granted(server.client.upload(path), "upload")
    into.append(time.perf_counter() - began)
    return str(answer["id"])


def get(server: Hornada, file_id: str, into: list[float]) -> None:
    """Times a download that is read and thrown away."""
    client = server.client
    began = time.perf_counter()
    with socket.create_connection((client.host, client.port)) as connection:
        call = f"GET /v1/files/{file_id}/content HTTP/1.1\r\n"
        head = f"{call}Host: x\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        while connection.recv(PIECE):
            pass
    into.append(time.perf_counter() - began)
