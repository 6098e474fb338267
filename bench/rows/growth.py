"""P14: whether a line costs the same in a small batch and a large one, beside others, and for many organizations."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from bench import lines, procstat
from bench.client import Client, granted
from bench.hornada import Hornada, model, table
from bench.hornada import settings as configuration
from bench.report import Result
from bench.rows.speed import LINES, SLOTS
from bench.setting import PATIENCE_S, Setting
from bench.stub import Stub

OPERATOR_KEY = "sk-operator-of-the-bench"
FLAT = 1.10
"""The most that a line may cost with much of something, of what it costs with little."""
SMALL, MANY_LINES = 1_000, 20_000
BACKLOG = 1_000
ORGANIZATIONS = 200
EACH = 100
"""Lines of one organization's batch."""

Clients = Sequence[Client]


def of_lines(setting: Setting) -> list[Result]:
    """The same number of lines, in one batch and in batches of a thousand one after the other."""
    count = setting.pick(MANY_LINES, LINES)
    with served(setting) as server:
        little = spent(server, lambda: in_turn(setting, server, SMALL, count // SMALL), count)
        much = spent(server, lambda: in_turn(setting, server, count, 1), count)
    return flat("a", f"{count // SMALL} batches of {SMALL} lines; one of {count}", little, much)


def of_batches(setting: Setting) -> list[Result]:
    """A batch alone, and beside a thousand live ones that wait for another model."""
    count = setting.pick(MANY_LINES, LINES)
    others = setting.pick(300, BACKLOG)
    slow = Stub(setting.folder / "slow.log", latency_ms=600_000)
    try:
        with served(setting, model("slow", slow.upstream, capacity=1)) as server:
            little = spent(server, lambda: in_turn(setting, server, count, 1), count)
            waiting(setting, server, others)
            much = spent(server, lambda: in_turn(setting, server, count, 1), count)
    finally:
        slow.kill()
    return flat("b", f"{count} lines beside no other live batch; beside {others}", little, much)


def of_organizations(setting: Setting) -> list[Result]:
    """The same batches at once, of one organization and of two hundred."""
    count = setting.pick(50, ORGANIZATIONS)
    with served(setting) as server:
        one = organizations(server, 1) * count
        all_ = organizations(server, count)
        little = spent(server, lambda: at_once(setting, one), count * EACH)
        much = spent(server, lambda: at_once(setting, all_), count * EACH)
    return flat("c", f"{count} batches of {EACH} lines of one organization; of {count}", little, much)


def flat(part: str, work: str, little: float, much: float) -> list[Result]:
    """The row: CPU seconds a line are compared."""
    return [
        Result(
            row=f"P14{part}",
            work=work,
            figure=f"{much * 1000:.3f} s CPU per 1,000 lines",
            yardstick=f"{little * 1000:.3f} s",
            ratio=f"{much / little:.2f} x",
            target=f"<= {FLAT:.2f} x",
            met=much <= FLAT * little,
            less={"growth": much / little},
            facts={"cpu_per_line": {"little": little, "much": much}},
        )
    ]


@contextmanager
def served(setting: Setting, *more: dict[str, Any]) -> Iterator[Hornada]:
    """A fresh server with an operator and the stub's model."""
    setting.quiet()
    models = [model(lines.MODEL, setting.stub.upstream, capacity=SLOTS), *more]
    with setting.configured(configuration(models) + table("[server]", {"operator_key": OPERATOR_KEY})) as server:
        yield server


def spent(server: Hornada, run: Callable[[], None], count: int) -> float:
    """CPU seconds a line, the middle one of three runs after one that warms up."""
    costs: list[float] = []
    for _ in range(4):
        used = procstat.cpu([server.pid])
        run()
        costs.append((procstat.cpu([server.pid]) - used) / count)
    return median(costs[1:])


def in_turn(setting: Setting, server: Hornada, count: int, times: int) -> None:
    """So many batches of so many lines, one after the other."""
    file_id = str(granted(server.client.upload(setting.input(count)), "upload")["id"])
    for _ in range(times):
        ended(server.client, created(server.client, file_id), 0.02)


def at_once(setting: Setting, clients: Clients) -> None:
    """A batch of each client, all live together."""
    made: list[tuple[Client, str]] = []
    for client in clients:
        file_id = str(granted(client.upload(setting.input(EACH)), "upload")["id"])
        made.append((client, created(client, file_id)))
    for client, batch_id in made:
        ended(client, batch_id, 0.05)


def waiting(setting: Setting, server: Hornada, count: int) -> None:
    """So many batches that stay live."""
    path = setting.folder / "slow.jsonl"
    path.write_text(setting.input(EACH).read_text().replace(lines.MODEL, "slow"))
    file_id = str(granted(server.client.upload(path), "upload")["id"])
    last = ""
    for _ in range(count):
        last = created(server.client, file_id)
    end = time.monotonic() + PATIENCE_S
    while server.client.batch(last)["status"] == "validating" and time.monotonic() < end:
        time.sleep(0.05)


def created(client: Client, file_id: str) -> str:
    """A batch unlike every other."""
    metadata = {"nonce": str(time.monotonic_ns())}
    return str(granted(client.create(file_id, metadata=metadata), "create")["id"])


def ended(client: Client, batch_id: str, poll: float) -> None:
    """Waits for a batch. Raises RuntimeError when it has not completed with every line."""
    batch = client.finish(batch_id, PATIENCE_S, poll)
    counts = batch["request_counts"]
    if batch["status"] != "completed" or counts["completed"] != counts["total"]:
        message = f"{batch_id} ended {batch['status']} with {counts}"
        raise RuntimeError(message)


def organizations(server: Hornada, count: int) -> list[Client]:
    """New organizations, each with a client that has its key."""
    operator = Client(f"http://127.0.0.1:{server.port}", OPERATOR_KEY)
    clients = []
    for number in range(count):
        name = f"org-{count}-{number}"
        made = granted(operator.call("POST", "/admin/organizations", {"name": name}), "organization")
        path = f"/admin/organizations/{made['id']}"
        member = granted(operator.call("POST", f"{path}/members", {"name": "bench", "role": "admin"}), "member")
        key = granted(operator.call("POST", f"{path}/keys", {"member_id": member["id"]}), "key")
        clients.append(Client(server.base, str(key["key"])))
    return clients
