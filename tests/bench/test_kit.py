"""The kit measures what it says: the stub counts, the clients run, the verdict sees every kind of fault."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import build, lines, procstat, verify
from bench.process import NotReady, Process
from bench.report import Result, save, table
from bench.rows import MEASURES, wanted
from bench.setting import TOKENS, Setting, percentile
from bench.streams import Reader, at_once

COUNT = 200


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    found = Setting(tmp_path_factory.mktemp("kit"), quick=True)
    yield found
    found.close()


def row(number: int, *, answer: int | None = None, status: int = 200) -> str:
    body = {"choices": [{"message": {"content": f"[[{number if answer is None else answer}]] word"}}]}
    return json.dumps({"custom_id": f"line-{number}", "response": {"status_code": status, "body": body}}) + "\n"


def judged(setting: Setting, *rows: str) -> verify.Verdict:
    results = setting.folder / "judged.jsonl"
    results.write_text("".join(rows))
    return verify.check(setting.input(3), results)


def test_sound_results_are_sound(setting: Setting) -> None:
    found = judged(setting, row(2), row(0), row(1))
    assert found.sound
    assert (found.lines, found.ok) == (3, 3)


def test_a_lost_line_is_counted(setting: Setting) -> None:
    found = judged(setting, row(0), row(1))
    assert (found.lost, found.sound) == (1, False)


def test_a_repeated_line_is_counted(setting: Setting) -> None:
    found = judged(setting, row(0), row(1), row(2), row(2))
    assert (found.repeated, found.sound) == (1, False)


def test_a_mixed_up_line_is_counted(setting: Setting) -> None:
    found = judged(setting, row(0, answer=1), row(1), row(2))
    assert (found.mixed, found.sound) == (1, False)


def test_an_unknown_and_a_broken_line_are_counted(setting: Setting) -> None:
    found = judged(setting, row(0), row(1), row(2), row(3), "{\n")
    assert (found.unknown, found.broken, found.sound) == (1, 1, False)


def test_a_failed_line_is_counted_and_is_no_fault(setting: Setting) -> None:
    found = judged(setting, row(0), row(1), row(2, status=400))
    assert (found.failed, found.sound) == (1, True)


@pytest.mark.parametrize("name", ["aiohttp_client", "protocol_client"])
def test_a_yardstick_client_sends_every_line_once(setting: Setting, name: str) -> None:
    setting.quiet()
    path = setting.input(COUNT)
    alone = setting.alone(name, path, 8)
    assert alone.lines == COUNT
    assert verify.check(path, setting.folder / "alone.jsonl").ok == COUNT
    assert setting.stub.answered(COUNT) == set(range(COUNT))
    assert setting.stub.stats()["requests"] == COUNT


def test_the_c_client_counts_and_times_every_call(setting: Setting) -> None:
    setting.quiet(latency_ms=5)
    found = setting.blast(setting.input(COUNT), setting.stub.root, 8, "sk-test")
    assert (found["n"], found["bad"]) == (COUNT, 0)
    assert found["p50_ms"] >= 5
    assert setting.stub.stats()["with_auth"] == COUNT


def test_the_stub_refuses_what_is_over_its_capacity(setting: Setting) -> None:
    setting.quiet(latency_ms=20, max_inflight=2)
    found = setting.blast(setting.input(20), setting.stub.root, 4)
    stats = setting.stub.stats()
    assert stats["max_inflight"] == 2
    assert found["bad"] == stats["r429"] > 0


def test_the_stub_streams_as_many_events_as_told_each_in_its_time(setting: Setting) -> None:
    setting.quiet(sse_events=4, sse_gap_ms=20)
    with Reader(setting.stub.root, "sk-test") as reader:
        first, second = reader.read(), reader.read()
    assert (first.whole, second.whole) == (True, True)
    assert (len(first.events), len(second.events)) == (4, 4)
    assert second.events[3] >= 0.06, "the fourth event is three gaps behind the first"
    assert setting.stub.stats()["ok"] == 2


def test_a_slot_of_the_stub_is_taken_until_its_stream_has_ended(setting: Setting) -> None:
    setting.quiet(max_inflight=1, queue=1, sse_events=2, sse_gap_ms=10)
    found = at_once(setting.stub.root, "sk-test", 3)
    assert [stream.whole for stream in found] == [True] * 3
    stats = setting.stub.stats()
    assert stats["max_inflight"] == 1
    assert stats["avg_inflight"] * stats["span_s"] >= 0.055, "three streams of two gaps, one after the other"


def test_without_a_number_of_events_a_stream_comes_as_the_tokens_say(setting: Setting) -> None:
    setting.quiet()
    with Reader(setting.stub.root, "sk-test") as reader:
        found = reader.read()
    assert found.whole
    assert len(found.events) == TOKENS


def test_the_stubs_clock_is_ours(setting: Setting) -> None:
    setting.quiet()
    before = time.monotonic()
    setting.blast(setting.input(3), setting.stub.root, 1)
    stats = setting.stub.stats()
    assert before <= stats["first_s"] <= stats["last_s"] <= time.monotonic()


def test_the_msgspec_pass_reads_every_kind_of_line(setting: Setting) -> None:
    command: list[str | Path] = [sys.executable, build.HERE / "yardsticks" / "msgspec_pass.py"]
    run = subprocess.run([*command, setting.input(COUNT)], check=True, capture_output=True)
    assert float(run.stdout) > 0


def test_a_big_file_is_just_under_the_limit(setting: Setting) -> None:
    path = setting.input(100, lines.BIG_CHARS)
    assert 95 * procstat.MIB < path.stat().st_size * 500 < 100 * procstat.MIB


def test_a_process_that_ends_early_is_not_ready_and_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such setting'); exit(2)"]
    with (
        Process(command, tmp_path / "log") as process,
        pytest.raises(NotReady, match=r"ended with 2 .*\nno such setting"),
    ):
        process.until(lambda: False, 20)


def test_leaving_a_process_ends_its_children_too(tmp_path: Path) -> None:
    code = "import subprocess, time; print(subprocess.Popen(['sleep', '100']).pid, flush=True); time.sleep(100)"
    with Process([sys.executable, "-c", code], tmp_path / "log") as process:
        process.until(lambda: b"\n" in process.log.read_bytes(), 20)
        child = int(process.tail())
        assert set(procstat.tree(process.pid)) == {process.pid, child}
    end = time.monotonic() + 10
    while (found := procstat.stat(child)) and found.pages and time.monotonic() < end:
        time.sleep(0.01)
    assert found is None or not found.pages, "the child still lives"


def test_every_row_is_measured_by_one_function_and_can_be_asked_for() -> None:
    rows = [row for given in MEASURES for row in given]
    assert len(rows) == len(set(rows))
    assert wanted(["P8"]) == [MEASURES["P1", "P2", "P8a", "P9"], MEASURES["P8b",]]
    assert wanted([]) == list(MEASURES.values())


def test_the_report_keeps_every_row(tmp_path: Path) -> None:
    results = [Result("P2", "CPU", "0.09 s", "<= 0.10 s", met=True, facts={"runs": [0.09]})]
    save(results, tmp_path / "report.json", quick=True)
    kept = json.loads((tmp_path / "report.json").read_text())
    assert kept["rows"][0]["verdict"] == "met"
    assert kept["rows"][0]["facts"] == {"runs": [0.09]}
    assert table(results).splitlines()[1].startswith("P2   CPU")


def test_a_percentile_of_nothing_is_nothing() -> None:
    assert percentile([], 0.99) == 0
    assert percentile([3, 1, 2], 0.99) == 3
