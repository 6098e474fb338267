"""The demo: a real model server, Hornada in front of it, one file of requests in, every answer out."""

import json
import shutil
import signal
import socket
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from textwrap import shorten
from typing import Any

from demo.client import Client
from demo.process import Child

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "demo-data"
REQUESTS = HERE / "requests.jsonl"
RESULTS = DATA / "results.jsonl"
KEY = "sk-demo"
DEADLINE_S = 100
TERMINAL = {"completed", "failed", "expired", "cancelled"}
SHOWN_OF_EACH_KIND = 2


def main() -> int:
    """Runs it all; 0 when every line was answered."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir()
    with ExitStack() as stack:
        print("Starting a real model server (llama.cpp with SmolLM2-135M) ...", flush=True)
        llama = stack.enter_context(Child([sys.executable, "-m", "demo.llama_server"], DATA / "llama.log"))
        upstream = llama.until(lambda: listening(llama.log())) + "/v1"
        base = f"http://127.0.0.1:{free_port()}/v1"
        print(f"Starting hornada serve --upstream {upstream} ...", flush=True)
        hornada = stack.enter_context(
            Child(serve(upstream, base), DATA / "hornada.log", {"HORNADA_BOOTSTRAP_KEY": KEY})
        )
        client = Client(base, KEY)
        hornada.until(lambda: next(iter(client.models()), None))
        batch = run_batch(client)
        code = tell(client, batch)
    print(f"\nAll of it took {time.monotonic() - began:.0f} s. Both servers are stopped.")
    return code


def serve(upstream: str, base: str) -> list[str]:
    """The command that starts Hornada."""
    program = str(Path(sys.executable).with_name("hornada"))
    port = base.rpartition(":")[2].removesuffix("/v1")
    return [program, "serve", "--upstream", upstream, "--data", str(DATA), "--host", "127.0.0.1", "--port", port]


def listening(log: str) -> str | None:
    """The address that the model server says it listens on."""
    found = [line.split()[1] for line in log.splitlines() if line.startswith("listening ")]
    return found[0] if found else None


def free_port() -> int:
    """A port that the system chose."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_batch(client: Client) -> dict[str, Any]:
    """Uploads the file, creates the batch and follows it to its end."""
    file = client.upload(REQUESTS)
    batch = client.create(file["id"])
    print(f"Uploaded {REQUESTS.name} as {file['id']}; running {batch['id']}.\n", flush=True)
    deadline, drawn = time.monotonic() + DEADLINE_S, ""
    while batch["status"] not in TERMINAL:
        if time.monotonic() > deadline:
            raise SystemExit(f"The batch is still {batch['status']} after {DEADLINE_S} s; see {DATA}/*.log.")
        time.sleep(0.3)
        batch = client.batch(batch["id"])
        drawn = draw(batch, drawn)
    print(flush=True)
    return batch


def draw(batch: dict[str, Any], last: str) -> str:
    """The progress bar: redrawn on a terminal, elsewhere one line when it is another than the last."""
    counts, width = batch["request_counts"], 40
    done = counts["completed"] + counts["failed"]
    filled = width * done // counts["total"] if counts["total"] else 0
    bar = f"[{'#' * filled}{'.' * (width - filled)}] {done}/{counts['total']} {batch['status']}"
    if sys.stdout.isatty():
        print(f"\r{bar:<70}", end="", flush=True)
    elif bar != last:
        print(bar, flush=True)
    return bar


def tell(client: Client, batch: dict[str, Any]) -> int:
    """Shows a few answers, the counts and where everything lies; 1 when something is missing."""
    asked = {line["custom_id"]: line for line in lines(REQUESTS.read_bytes())}
    content = client.content(batch["output_file_id"]) if batch["output_file_id"] else b""
    RESULTS.write_bytes(content)
    answers = {line["custom_id"]: answer(line) for line in lines(content)}
    show(asked, answers)
    counts, usage = batch["request_counts"], batch.get("usage") or {}
    print(f"\n{counts['completed']} of {counts['total']} lines answered, {counts['failed']} failed", end="")
    print(f", {usage['total_tokens']} tokens." if usage.get("total_tokens") else ".")
    print(f"Results: {RESULTS}\nLedger:  {DATA / 'ledger.db'}\nFiles:   {DATA / 'blobs'}\nLogs:    {DATA}/*.log")
    missing = sorted(name for name in asked if not answers.get(name))
    if batch["status"] == "completed" and not missing:
        return 0
    errors = client.content(batch["error_file_id"]).decode() if batch["error_file_id"] else batch["errors"]
    print(f"The batch is {batch['status']}; no answer for {', '.join(missing) or 'none'}.\n{errors}", file=sys.stderr)
    return 1


def lines(content: bytes) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def answer(line: dict[str, Any]) -> str:
    """What the model said."""
    said: str = line["response"]["body"]["choices"][0]["message"]["content"]
    return said.strip()


def show(asked: dict[str, dict[str, Any]], answers: dict[str, str]) -> None:
    """A few questions of each kind with their answers."""
    kinds: dict[str, int] = {}
    for name, line in asked.items():
        kind = name.partition("-")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= SHOWN_OF_EACH_KIND:
            question = " ".join(line["body"]["messages"][-1]["content"].split())
            print(
                f"\n  {name}: {shorten(question, 110, placeholder=' ...')}\n    -> {answers.get(name, '(no answer)')}"
            )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        sys.exit(130)
