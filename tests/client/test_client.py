"""Submit, watch, results, retry, cancel, list: the same in every spelling of the server."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.hornada import KEY, Hornada
from hornada.client import BadInput, Client, NotEnded, Refused
from tests.cli.model_server import ModelServer
from tests.client.conftest import line, write

NUMBERS = itertools.count()


@pytest.fixture
def word() -> str:
    """A text that no other test sends, so that nothing is deduplicated."""
    return f"word{next(NUMBERS)}"


@pytest.fixture
def held(models: ModelServer) -> Iterator[None]:
    """While a test runs, model calls wait."""
    models.gate.clear()
    models.free = len(models.asked)
    yield
    models.gate.set()


def test_every_line_comes_back_in_the_order_of_the_input(client: Client, word: str, tmp_path: Path) -> None:
    batch = client.submit(write(tmp_path / "in.jsonl", word, "refuse", "b", "c"), metadata={"project": "atlas"})
    assert batch.metadata["project"] == "atlas"
    seen = list(client.watch(batch.id, interval_s=0.05))
    assert (seen[-1].status, seen[-1].total, seen[-1].completed, seen[-1].failed) == ("completed", 4, 3, 1)
    assert not seen[-1].ok
    found = list(client.results(batch.id))
    assert [each.custom_id for each in found] == [f"0-{word}", "1-refuse", "2-b", "3-c"]
    assert [each.text for each in found] == [word.upper(), None, "B", "C"]
    assert [each.ok for each in found] == [True, False, True, True]
    assert (found[0].input_tokens, found[0].output_tokens) == (1, 1)
    assert (found[1].status_code, found[1].error) == (400, "no")
    assert [each.custom_id for each in client.results(batch.id, failed_only=True)] == ["1-refuse"]


def test_a_batch_is_followed_by_its_events_or_by_asking(client: Client, word: str, tmp_path: Path) -> None:
    batch = client.submit(write(tmp_path / "in.jsonl", *(f"{word}-{i}" for i in range(30))))
    seen = list(client.watch(batch.id))
    assert (seen[-1].status, seen[-1].completed, seen[-1].total) == ("completed", 30, 30)
    done = [each.completed for each in seen]
    assert done == sorted(done)
    assert [each.id for each in seen] == [batch.id] * len(seen)


def test_a_retry_runs_only_what_failed(client: Client, word: str, tmp_path: Path) -> None:
    batch = client.wait(client.submit(write(tmp_path / "in.jsonl", word, "refuse")).id, interval_s=0.05)
    again = client.wait(client.retry(batch.id).id, interval_s=0.05)
    assert again.id != batch.id
    assert [each.custom_id for each in client.results(again.id)] == ["1-refuse"]


def test_a_retry_runs_the_lines_that_are_named(client: Client, word: str, tmp_path: Path) -> None:
    batch = client.wait(client.submit(write(tmp_path / "in.jsonl", word, "refuse", "c", "refuse")).id, interval_s=0.05)
    again = client.wait(client.retry(batch.id, custom_ids=["3-refuse"]).id, interval_s=0.05)
    assert [each.custom_id for each in client.results(again.id)] == ["3-refuse"]
    again = client.wait(client.retry(batch.id, custom_ids=["2-c", "1-refuse"], answered=True).id, interval_s=0.05)
    assert [each.custom_id for each in client.results(again.id)] == ["1-refuse", "2-c"]
    again = client.wait(client.retry(batch.id, only=[400]).id, interval_s=0.05)
    assert [each.custom_id for each in client.results(again.id)] == ["1-refuse", "3-refuse"]
    with pytest.raises(BadInput, match=r"no line with the custom_id '9', 'x'\."):
        client.retry(batch.id, custom_ids=["1-refuse", "x", "9"])
    with pytest.raises(BadInput, match=r"answer to the line with the custom_id '2-c'"):
        client.retry(batch.id, custom_ids=["1-refuse", "2-c"])
    with pytest.raises(BadInput, match="503"):
        client.retry(batch.id, only=[503])
    for wrong in ({"only": [400], "custom_ids": ["1-refuse"]}, {"answered": True}):
        with pytest.raises(BadInput, match="ids"):
            client.retry(batch.id, **wrong)  # type: ignore[arg-type]


def test_more_ids_than_a_call_takes_are_found_here(home: Client, word: str, tmp_path: Path) -> None:
    ids = [f"{word}-{i:03}-{'x' * 500}" for i in range(2200)]
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"".join(line(each, "refuse") + b"\n" for each in ids))
    batch = home.wait(home.submit(path).id)
    again = home.retry(batch.id, custom_ids=ids[1:])
    assert home.wait(again.id).total == len(ids) - 1


def test_there_is_nothing_to_retry_where_every_line_was_answered(client: Client, word: str, tmp_path: Path) -> None:
    batch = client.wait(client.submit(write(tmp_path / "in.jsonl", word)).id, interval_s=0.05)
    with pytest.raises(BadInput):
        client.retry(batch.id)


def test_a_file_is_checked_by_the_server_that_would_run_it_or_here(client: Client, word: str, tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", word, "b")
    found = client.check(path)
    assert (found.ok, found.lines, found.model) == (True, 2, "m")
    assert found.by_server is ("strict" not in client.base_url)
    path.write_bytes(line("a", word).replace(b'"m"', b'"none"') + b"\n{}\n")
    found = client.check(path)
    codes = [(fault.line, fault.code) for fault in found.faults]
    missing = [(2, "missing_required_parameter")] * 2
    assert codes == ([(1, "model_not_found"), *missing] if found.by_server else missing)
    assert (found.ok, found.found) == (False, len(codes))


def test_a_cancelled_batch_gives_what_was_done_and_its_retry_the_rest(
    client: Client, word: str, held: None, models: ModelServer, tmp_path: Path
) -> None:
    batch = client.submit(write(tmp_path / "in.jsonl", *(f"{word}-{i}" for i in range(20))))
    while client.get(batch.id).status == "validating":
        pass
    if "strict" in client.base_url:
        with pytest.raises(NotEnded, match="its results come when it has ended"):
            list(client.results(batch.id))
    else:
        assert list(client.results(batch.id)) == []
    assert client.cancel(batch.id).status in {"cancelling", "cancelled"}
    models.gate.set()
    ended = client.wait(batch.id, interval_s=0.05)
    assert ended.status == "cancelled"
    found = list(client.results(batch.id))
    assert [each.custom_id for each in found] == [f"{i}-{word}-{i}" for i in range(20)]
    stopped = [each for each in found if not each.ok]
    assert stopped
    assert {each.error_code for each in stopped} == {"batch_cancelled"}
    again = client.wait(client.retry(batch.id).id, interval_s=0.05)
    assert [each.custom_id for each in client.results(again.id)] == [each.custom_id for each in stopped]


def test_the_faults_of_a_file_are_on_its_batch(client: Client, word: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(line("a", word) + b"\n{}\n")
    batch = client.wait(client.submit(path).id, interval_s=0.05)
    assert batch.status == "failed"
    assert {fault.line for fault in batch.faults} == {2}
    assert "custom_id" in batch.faults[0].message


def test_an_idempotent_submission_gives_the_batch_that_there_is(client: Client, word: str, tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", word)
    first = client.submit(path, idempotent=True)
    assert client.submit(path, idempotent=True).id == first.id
    client.wait(first.id, interval_s=0.05)
    assert client.submit(path, idempotent=True).id == first.id
    assert client.submit(write(path, word, "b"), idempotent=True).id != first.id


def test_an_idempotent_submission_tries_again_after_a_failure(client: Client, word: str, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(line("a", word).replace(b'"m"', b'"none"'))
    first = client.wait(client.submit(path, idempotent=True).id, interval_s=0.05)
    assert first.status == "failed"
    assert client.submit(path, idempotent=True).id != first.id


def test_batches_are_listed_newest_first_each_once(client: Client, word: str, tmp_path: Path) -> None:
    made = [client.submit(write(tmp_path / "in.jsonl", f"{word}-{i}")).id for i in range(3)]
    assert [batch.id for batch in client.list(limit=3)] == made[::-1]
    everything = [batch.id for batch in client.list()]
    assert everything[:3] == made[::-1]
    assert len(set(everything)) == len(everything)


def test_a_batch_that_is_not_there_is_refused_with_its_code(client: Client) -> None:
    with pytest.raises(Refused, match="batch_") as caught:
        client.get("batch_none")
    assert (caught.value.status, caught.value.code) == (404, "batch_not_found")


def test_a_key_that_is_wrong_is_refused(server: Hornada) -> None:
    with pytest.raises(Refused) as caught:
        list(Client(server.base, "sk-wrong").list())
    assert caught.value.status == 401


def test_the_server_and_the_key_come_from_the_environment(server: Hornada, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert Client().base_url == "http://127.0.0.1:1/v1"
    monkeypatch.setenv("HORNADA_BASE_URL", server.base + "/")
    assert Client().base_url == server.base
    assert isinstance(list(Client().list(limit=1)), list)


def test_a_file_that_is_not_there_is_bad_input(home: Client, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none.jsonl cannot be read"):
        home.submit(tmp_path / "none.jsonl")


def test_files_are_stored_listed_and_deleted_but_not_while_a_batch_reads_them(
    client: Client, word: str, held: None, tmp_path: Path
) -> None:
    path = write(tmp_path / f"{word}.jsonl", word)
    file = client.upload(path, lifetime_s=3_600)
    assert (file.name, file.purpose, file.bytes) == (path.name, "batch", path.stat().st_size)
    assert file.created_at is not None
    assert file.expires_at == file.created_at + 3_600
    assert list(client.files(purpose="batch", limit=1)) == [client.file(file.id)] == [file]
    assert file.id in {each.id for each in client.files()}
    assert file.id not in {each.id for each in client.files(purpose="batch_output")}
    client.delete_file(file.id)
    with pytest.raises(Refused, match="file"):
        client.file(file.id)
    batch = client.submit(write(path, word, "b"))
    assert batch.input_file_id in client.in_use()
    assert file.id not in client.in_use()
    with pytest.raises(Refused, match="has not ended"):
        client.delete_file(batch.input_file_id or "")
