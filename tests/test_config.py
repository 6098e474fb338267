"""Settings: three sources, one tree, every fault told at once."""

import json
from pathlib import Path
from typing import Any

import pytest
import trustme

from hornada.config import Config, ConfigError, load
from hornada.config.settings import PLAN, SETTINGS, TABLED, TOP
from hornada.core.account import Plan
from hornada.core.catalog import Price, Server
from hornada.core.limits import Limits
from hornada.core.model_table import MODEL as MODEL_ROWS
from hornada.core.model_table import PRICE, UPSTREAM, write_model

MODEL = '[[models]]\nname = "m"\nupstream = "http://h:1/v1"\n'
NAMED = "a name of 1 to 256 printable characters other than ., .., aliases, capacity"

ROLE_FAULT = (
    'role: "worker" needs what several processes can share: storage.database = "postgresql://…" and '
    'storage.blobs = "s3://…"; otherwise one process does all'
)


def from_text(tmp_path: Path, text: str, environ: dict[str, str] | None = None, **flags: Any) -> Config:
    path = tmp_path / "hornada.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, environ or {}, {key.replace("__", "."): value for key, value in flags.items()})


def faults(tmp_path: Path, text: str, environ: dict[str, str] | None = None, **flags: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        from_text(tmp_path, text, environ, **flags)
    return caught.value.lines


def test_nothing_said_means_the_defaults_of_the_contract() -> None:
    config = load(None, {}, {})
    assert (config.server.host, config.server.port, config.server.batches) == ("127.0.0.1", 8080, True)
    assert config.server.dialects == {"/v1": "infernode", "/infernode/v1": "infernode", "/openai/v1": "novita"}
    assert config.storage.database == "sqlite:///hornada-data/ledger.db"
    assert config.storage.blobs == "file://hornada-data/blobs"
    assert config.limits == Limits()
    assert config.plans == {"default": Plan()}
    assert (config.models, config.aliases, config.upstream) == ((), {}, ())
    assert (config.bootstrap.organization, config.bootstrap.key, config.bootstrap.credit) == ("default", None, None)


def test_the_example_of_the_contract_is_read_whole(tmp_path: Path) -> None:
    config = from_text(
        tmp_path,
        """
        [server]
        host = "0.0.0.0"
        [server.dialects]
        "/v1" = "infernode"
        "/strict/v1" = "openai"
        [limits]
        lines = 5
        [[models]]
        name = "m-chat"
        upstream = "http://127.0.0.1:9099/v1"
        endpoints = ["/v1/chat/completions"]
        capacity = 64
        batch = true
        price = { input = 150000, cached_input = 75000, output = 600000 }
        [aliases]
        "Saptiva Turbo" = "m-chat"
        [plans.default]
        active_batches = 3
        [bootstrap]
        key = "sk-test"
        credit = 1000000000
        """,
    )
    assert config.server.dialects == {"/v1": "infernode", "/strict/v1": "openai"}
    assert config.limits == Limits(lines=5)
    (model,) = config.models
    assert (model.name, model.servers) == ("m-chat", (Server(url="http://127.0.0.1:9099/v1"),))
    assert (model.capacity, model.batch_slots) == (64, 64)
    assert model.endpoints == {"/v1/chat/completions"}
    assert model.price == Price(input=150_000, cached_input=75_000, output=600_000)
    assert config.aliases == {"Saptiva Turbo": "m-chat"}
    assert config.plans["default"] == Plan(active_batches=3)
    assert (config.bootstrap.key, config.bootstrap.credit) == ("sk-test", 1_000_000_000)


def test_flags_beat_environment_beats_file(tmp_path: Path) -> None:
    text = '[server]\nhost = "file"\nport = 1\nbatches = false\n'
    environ = {"HORNADA_SERVER_HOST": "environment", "HORNADA_SERVER_PORT": "2"}
    server = from_text(tmp_path, text, environ, server__port=3).server
    assert (server.host, server.port, server.batches) == ("environment", 3, False)


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("HORNADA_SERVER_PORT", "81", "server.port", 81),
        ("HORNADA_SERVER_BATCHES", "false", "server.batches", False),
        ("HORNADA_SERVER_DIALECTS", '{"/a": "openai"}', "server.dialects", {"/a": "openai"}),
        ("HORNADA_LIMITS_LINES", "7", "limits.lines", 7),
        ("HORNADA_LIMITS_UPSTREAM_TIMEOUT_S", "1.5", "limits.upstream_timeout_s", 1.5),
        ("HORNADA_STORAGE_DATABASE", "postgresql://u@h/d", "storage.database", "postgresql://u@h/d"),
        ("HORNADA_UPSTREAM", "http://a/v1, http://b/v1/", "upstream", ("http://a/v1", "http://b/v1")),
        ("HORNADA_BOOTSTRAP_KEY", "sk-x", "bootstrap.key", "sk-x"),
        ("HORNADA_DATA", "elsewhere", "storage.blobs", "file://elsewhere/blobs"),
        ("HORNADA_PLANS", '{"default": {"weight": 4}}', "plans", {"default": Plan(weight=4)}),
    ],
)
def test_a_setting_comes_from_the_environment(variable: str, text: str, key: str, value: object) -> None:
    found: Any = load(None, {variable: text}, {})
    for name in key.split("."):
        found = getattr(found, name)
    assert found == value


def test_an_empty_variable_counts_as_absent() -> None:
    assert load(None, {"HORNADA_SERVER_PORT": "", "HORNADA_CONFIG": ""}, {}).server.port == 8080


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text("[server]\nport = 9\n")
    assert load(None, {"HORNADA_CONFIG": str(path)}, {}).server.port == 9


def test_the_data_folder_moves_both_defaults_and_nothing_else(tmp_path: Path) -> None:
    storage = from_text(tmp_path, "", data="/d").storage
    assert (storage.database, storage.blobs) == ("sqlite:////d/ledger.db", "file:///d/blobs")
    storage = from_text(tmp_path, '[storage]\nblobs = "file://b"\n', data="/d").storage
    assert (storage.database, storage.blobs) == ("sqlite:////d/ledger.db", "file://b")


@pytest.mark.parametrize(
    ("upstream", "servers"),
    [
        ('"http://a/v1/"', [Server(url="http://a/v1")]),
        ('["http://a/v1", "https://b/v1"]', [Server(url="http://a/v1"), Server(url="https://b/v1")]),
        (
            '[{url = "http://a/v1", api_key = "k", model = "n", weight = 2}]',
            [Server(url="http://a/v1", api_key="k", model="n", weight=2)],
        ),
        ('{url = "http://a/v1"}', [Server(url="http://a/v1")]),
    ],
)
def test_a_models_upstream_takes_any_of_its_forms(tmp_path: Path, upstream: str, servers: list[Server]) -> None:
    config = from_text(tmp_path, f'[[models]]\nname = "m"\nupstream = {upstream}\n')
    assert config.models[0].servers == tuple(servers)


@pytest.mark.parametrize(("batch", "slots"), [("true", 8), ("false", 0), ("3", 3), ("0", 0)])
def test_batch_says_how_many_slots_lines_may_use(tmp_path: Path, batch: str, slots: int) -> None:
    assert from_text(tmp_path, f"{MODEL}batch = {batch}\n").models[0].batch_slots == slots


@pytest.mark.parametrize(("batch", "slots"), [("true", 1024), ("false", 0), ("30", 30)])
def test_an_automatic_capacity_begins_with_eight_and_may_become_whatever_the_server_takes(
    tmp_path: Path, batch: str, slots: int
) -> None:
    model = from_text(tmp_path, f'{MODEL}capacity = "auto"\nbatch = {batch}\n').models[0]
    assert (model.auto, model.capacity, model.batch_slots) == (True, 8, slots)
    assert write_model(model)["capacity"] == "auto"
    assert write_model(model)["batch"] == {"true": True, "false": 0, "30": 30}[batch]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("sever = 1\n", 'sever: unknown setting; did you mean "server"?'),
        ("port = 80\n", 'port: unknown setting; did you mean "server.port"?'),
        ("[server]\nprot = 1\n", 'server.prot: unknown setting; did you mean "port"?'),
        ("[limits]\nline = 1\n", 'limits.line: unknown setting; did you mean "lines"?'),
        ("[plans.gold]\nweigth = 1\n", 'plans.gold.weigth: unknown setting; did you mean "weight"?'),
        (f"{MODEL}capacty = 1\n", 'models[0].capacty: unknown setting; did you mean "capacity"?'),
        (
            '[[models]]\nname = "m"\nupstream = [{url = "http://h", api_ky = "k"}]\n',
            'models[0].upstream[0].api_ky: unknown setting; did you mean "api_key"?',
        ),
        ("[server]\nport = 70000\n", "server.port: must be a whole number from 0 to 65535, not 70000"),
        ('[server]\nport = "80"\n', 'server.port: must be a whole number from 0 to 65535, not "80"'),
        ("[server]\nport = true\n", "server.port: must be a whole number from 0 to 65535, not true"),
        ("[server]\nbatches = 1\n", "server.batches: must be true or false, not 1"),
        ("[limits]\nlines = -1\n", "limits.lines: must be a whole number from 1 to 9007199254740992, not -1"),
        (
            "[limits]\nupstream_timeout_s = nan\n",
            "limits.upstream_timeout_s: must be a number of seconds from 0.001 to 1000000000, not NaN",
        ),
        ("server = 1\n", "server: must be a table, not 1"),
        ("models = 1\n", "models: must be a list of tables ([[models]]), not 1"),
        (
            '[server.dialects]\nv1 = "infernode"\n',
            'server.dialects.v1: must be a path that starts with "/" and does not end with it, such as "/v1"',
        ),
        (
            '[server.dialects]\n"/v1" = "infernod"\n',
            'server.dialects."/v1": unknown dialect "infernod"; did you mean "infernode"?',
        ),
        (MODEL + MODEL, 'models[1].name: two models are named "m"'),
        (f'{MODEL}[aliases]\nfast = "n"\n', 'aliases.fast: unknown model "n"; known: m'),
        (
            f'{MODEL}[aliases]\nm = "m"\n',
            "aliases.m: is also the name of a model; an alias must have a name of its own",
        ),
        (f"{MODEL}[aliases]\na = [1]\n", "aliases.a: must be the name of a model, not [1]"),
        (MODEL.replace('"m"', '"capacity"'), f'models[0].name: must be {NAMED}, not "capacity"'),
        (f'{MODEL}[aliases]\naliases = "m"\n', f'aliases: an alias must be {NAMED}, not "aliases"'),
        ('[[models]]\nname = "m"\n', "models[0].upstream: is missing"),
        ('[[models]]\nupstream = "http://h"\n', "models[0].name: is missing"),
        (
            '[[models]]\nname = "m"\nupstream = "h:80/v1"\n',
            'models[0].upstream: must be a URL with its scheme, such as "http://127.0.0.1:11434/v1", not "h:80/v1"',
        ),
        (
            f"{MODEL}batch = 9\n",
            "models[0].batch: must be true, false or a number of slots from 0 to the capacity, 8, not 9",
        ),
        (
            f"{MODEL}price = {{input = -1}}\n",
            "models[0].price.input: must be a whole number from 0 to 1000000000000, not -1",
        ),
        *(
            (
                f"{MODEL}price = {{{name} = {10**24}}}\n",
                f"models[0].price.{name}: must be a whole number from 0 to 1000000000000, not {10**24}",
            )
            for name in ("input", "cached_input", "output")
        ),
        (
            "[bootstrap]\ncredit = 99999999999999999999\n",
            "bootstrap.credit: must be a whole number from 0 to 1000000000000000, not 99999999999999999999",
        ),
        (
            f"[plans.a]\nweight = {2**63}\n",
            f"plans.a.weight: must be a whole number from 1 to 9007199254740992, not {2**63}",
        ),
        (
            f"[limits]\nfile_lifetime_s = {2**53}\n",
            f"limits.file_lifetime_s: must be a whole number from 1 to 1000000000, not {2**53}",
        ),
        (
            f"{MODEL}capacity = {2**63}\n",
            f'models[0].capacity: must be a whole number from 1 to 9007199254740992, or "auto", not {2**63}',
        ),
        (
            '[storage]\ndatabase = "mysql://h/d"\n',
            'storage.database: must be "sqlite:///PATH" or "postgresql://USER@HOST/NAME", not "mysql://h/d"',
        ),
        (
            "[bootstrap]\nkey = 12345\n",
            "bootstrap.key: must be a text of visible ASCII characters without spaces, not ***",
        ),
        (
            'role = "worker"\n',
            ROLE_FAULT,
        ),
    ],
)
def test_a_fault_names_key_limit_and_value(tmp_path: Path, text: str, fault: str) -> None:
    assert faults(tmp_path, text) == (fault,)


def test_an_endpoint_that_no_model_offers_is_told_with_those_that_are(tmp_path: Path) -> None:
    (line,) = faults(tmp_path, f'{MODEL}endpoints = ["/v1/chat"]\n')
    assert line.startswith('models[0].endpoints: must be a list of endpoints, each one of "/v1/chat/completions", ')
    assert line.endswith('not ["/v1/chat"]')


def test_an_alias_may_name_a_model_that_is_yet_to_be_discovered(tmp_path: Path) -> None:
    assert from_text(tmp_path, '[aliases]\nfast = "n"\n', upstream=["http://h/v1"]).aliases == {"fast": "n"}


def test_all_faults_are_told_together(tmp_path: Path) -> None:
    lines = faults(tmp_path, "[server]\nprot = 1\n[limits]\nlines = 0\n", {"HORNADA_LIMITS_BYTES": "1"})
    assert [line.partition(":")[0] for line in lines] == ["HORNADA_LIMITS_BYTES", "server.prot", "limits.lines"]


def test_an_unknown_variable_is_a_fault_with_the_nearest_known_one(tmp_path: Path) -> None:
    (line,) = faults(tmp_path, "", {"HORNADA_SERVER_PROT": "1"})
    assert line == 'HORNADA_SERVER_PROT: unknown environment variable; did you mean "HORNADA_SERVER_PORT"?'


@pytest.mark.parametrize("key", ["sk a", "sk-a\\n", "\\tsk-a", "sk\\u0000a", "sk-a\\u007f", "", "llavé"])
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('upstream_api_key = "KEY"\n', "upstream_api_key"),
        ('[server]\noperator_key = "KEY"\n', "server.operator_key"),
        ('[bootstrap]\nkey = "KEY"\n', "bootstrap.key"),
        (
            '[[models]]\nname = "m"\nupstream = [{url = "http://h", api_key = "KEY"}]\n',
            "models[0].upstream[0].api_key",
        ),
    ],
)
def test_a_key_that_no_header_can_hold_is_a_fault_and_is_not_shown(
    tmp_path: Path, text: str, where: str, key: str
) -> None:
    expected = f"{where}: must be a text of visible ASCII characters without spaces, not ***"
    assert faults(tmp_path, text.replace("KEY", key)) == (expected,)


@pytest.mark.parametrize("name", ["a\\nb", "a\\u0000", "\\u001b[31mred", "m" * 257, " "])
def test_a_name_that_cannot_be_seen_whole_is_a_fault(tmp_path: Path, name: str) -> None:
    (line,) = faults(tmp_path, MODEL.replace('"m"', f'"{name}"'))
    assert line.startswith(f"models[0].name: must be {NAMED}, not ")
    (line,) = faults(tmp_path, f'{MODEL}[aliases]\n"{name}" = "m"\n')
    assert line.startswith(f"aliases: an alias must be {NAMED}, not ")
    assert len(line) < 200
    assert line.isprintable()


def test_a_name_may_be_long_and_in_any_script(tmp_path: Path) -> None:
    name = "模型 ñ/" + "m" * 251
    assert from_text(tmp_path, MODEL.replace('"m"', f'"{name}"')).models[0].name == name


def test_a_number_of_thousands_of_digits_is_a_fault_of_the_file(tmp_path: Path) -> None:
    (line,) = faults(tmp_path, f"[limits]\nlines = 1{'0' * 5000}\n")
    assert line.startswith(f"{tmp_path / 'hornada.toml'}: is not TOML: ")


def test_every_number_of_the_configuration_fits_a_database() -> None:
    numbers = [
        setting for setting in (*SETTINGS, *PLAN, *MODEL_ROWS, *PRICE, *UPSTREAM) if "number" in setting.kind.words
    ]
    assert len(numbers) > 20
    for setting in numbers:
        for value in (2**63, 10**24, float("inf")):
            with pytest.raises(ValueError, match=r"^$"):
                setting.kind.read(value)


@pytest.mark.parametrize("text", ["0", "nine", "1e3"])
def test_a_wrong_variable_is_named(tmp_path: Path, text: str) -> None:
    (line,) = faults(tmp_path, "", {"HORNADA_LIMITS_LINES": text})
    assert "HORNADA_LIMITS_LINES" in line
    assert "must be a whole number from 1 to 9007199254740992" in line


def test_a_variable_that_is_no_json_does_not_show_its_text(tmp_path: Path) -> None:
    (line,) = faults(tmp_path, "", {"HORNADA_MODELS": '[{"api_key": "hidden"'})
    assert line.startswith("HORNADA_MODELS: must be a list of tables in JSON")
    assert "hidden" not in line


@pytest.mark.parametrize(
    ("content", "words"), [(b"\xff", "is not UTF-8"), (b"a = ", "is not TOML"), (None, "cannot be read")]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path, {}, {})
    assert str(path) in caught.value.lines[0]
    assert words in caught.value.lines[0]


def test_every_limit_and_every_plan_value_is_a_setting() -> None:
    keys = {setting.key for setting in SETTINGS}
    assert {f"limits.{name}" for name in Limits.__struct_fields__} <= keys
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)


def test_the_defaults_of_the_table_are_those_of_the_tree() -> None:
    given = json.loads(json.dumps({s.key: s.default for s in SETTINGS if s not in (*TOP, *TABLED)}))
    plain = {key: value for key, value in given.items() if value is not None and not key.startswith("storage.")}
    assert load(None, {}, plain) == load(None, {}, {})


def test_an_alias_of_no_model_is_told_among_the_other_faults(tmp_path: Path) -> None:
    text = 'port = 80\n[aliases]\nx = "nothing"\n[[models]]\nname = "m"\nupstream = "nonsense"\n'
    assert [line.partition(":")[0] for line in faults(tmp_path, text)] == ["port", "models[0].upstream", "aliases.x"]


def test_an_alias_where_there_are_no_models_says_so(tmp_path: Path) -> None:
    assert faults(tmp_path, '[aliases]\nx = "nothing"\n') == ('aliases.x: unknown model "nothing"; known: none',)


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem, cert.pem and key.pem, and text.pem that is none."""
    folder, authority = tmp_path_factory.mktemp("pems"), trustme.CA()
    made = authority.issue_cert("localhost")
    (folder / "ca.pem").write_bytes(authority.cert_pem.bytes())
    (folder / "cert.pem").write_bytes(made.cert_chain_pems[0].bytes())
    (folder / "key.pem").write_bytes(made.private_key_pem.bytes())
    (folder / "text.pem").write_text("no certificate")
    return folder


def test_certificates_are_read_where_they_are_named(pems: Path, tmp_path: Path) -> None:
    text = f"""
    upstream = ["https://h:1/v1"]
    upstream_ca_file = "{pems}/ca.pem"
    [server]
    tls_certificate = "{pems}/cert.pem"
    tls_key = "{pems}/key.pem"
    cors_origins = ["https://App.example.com:8443", "*"]
    [[models]]
    name = "m"
    upstream = [{{url = "https://h:1/v1", ca_file = "{pems}/ca.pem"}}]
    """
    config = from_text(tmp_path, text)
    assert config.upstream_ca_file == config.models[0].servers[0].ca_file == f"{pems}/ca.pem"
    assert config.server.cors_origins == ("https://app.example.com:8443", "*")
    assert write_model(config.models[0])["upstream"][0]["ca_file"] == f"{pems}/ca.pem"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            'upstream_ca_file = "DIR/none.pem"\n',
            "upstream_ca_file: DIR/none.pem cannot be used as a PEM file of authorities: No such file or directory",
        ),
        (
            '[[models]]\nname = "m"\nupstream = {url = "https://h", ca_file = "DIR/text.pem"}\n',
            (
                "models[0].upstream.ca_file: DIR/text.pem cannot be used as a PEM file of authorities: "
                "no certificate or crl found"
            ),
        ),
        (
            '[server]\ntls_certificate = "DIR/cert.pem"\n',
            "server.tls_key: is missing; it belongs to server.tls_certificate",
        ),
        ('[server]\ntls_key = "DIR/key.pem"\n', "server.tls_certificate: is missing; it belongs to server.tls_key"),
        (
            '[server]\ntls_certificate = "DIR/cert.pem"\ntls_key = "DIR/none.pem"\n',
            "server.tls_certificate: DIR/cert.pem and DIR/none.pem cannot be used together: No such file or directory",
        ),
        (
            '[server]\ncors_origins = ["https://app.example.com/path"]\n',
            (
                'server.cors_origins: must be a list of origins, each an origin such as "https://app.example.com", '
                'or "*", not ["https://app.example.com/path"]'
            ),
        ),
    ],
)
def test_a_certificate_that_cannot_be_used_is_a_fault(pems: Path, tmp_path: Path, text: str, fault: str) -> None:
    assert faults(tmp_path, text.replace("DIR", str(pems))) == (fault.replace("DIR", str(pems)),)


@pytest.mark.parametrize("role", ["api", "worker"])
def test_a_process_may_do_a_part_where_others_can_do_the_rest(tmp_path: Path, role: str) -> None:
    storage = '[storage]\ndatabase = "postgresql://h/d"\nblobs = "s3://bucket"\n'
    path = tmp_path / "hornada.toml"
    path.write_text(f'role = "{role}"\n{storage}[engine]\nlease_ttl_s = 2\n')
    config = load(path, {}, {})
    assert (config.role, config.engine.lease_ttl_s, config.storage.shared) == (role, 2, True)


@pytest.mark.parametrize(
    ("database", "blobs"),
    [("sqlite:///l.db", "s3://bucket"), ("postgresql://h/d", "file:///b"), ("sqlite:///l.db", "file:///b")],
)
def test_a_folder_is_for_one_process_that_does_all(tmp_path: Path, database: str, blobs: str) -> None:
    path = tmp_path / "hornada.toml"
    path.write_text(f'role = "api"\n[storage]\ndatabase = "{database}"\nblobs = "{blobs}"\n')
    with pytest.raises(ConfigError, match="one process does all"):
        load(path, {}, {})
