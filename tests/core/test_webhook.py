"""Which addresses and URLs webhooks may go to, and what their secrets are."""

import base64
from ipaddress import ip_address, ip_network

import pytest

from hornada.core.network import is_open
from hornada.core.webhook import URL_LENGTH, WebhookRules, fault_of_url, new_webhook_secret

STRICT = WebhookRules()
CLOSED = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),  # noqa: S104 - not to bind
    *("169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "198.51.100.1"),
    *("203.0.113.1", "192.88.99.1"),
    *("::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fec0::1", "ff02::1", "ff0e::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:c0a8:101::1"),
    *("2001::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1"),
]
OPEN = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "2a00:1450:4001::1"]
OPEN_INSIDE = ["::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]


@pytest.mark.parametrize("address", CLOSED)
def test_what_the_internet_cannot_reach_is_closed(address: str) -> None:
    assert not is_open(ip_address(address))


@pytest.mark.parametrize("address", [*OPEN, *OPEN_INSIDE])
def test_public_addresses_are_open(address: str) -> None:
    assert is_open(ip_address(address))


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203"])
def test_the_operator_opens_networks(address: str) -> None:
    networks = (ip_network("10.0.0.0/8"),)
    assert is_open(ip_address(address), networks)
    assert not is_open(ip_address("192.168.1.1"), networks)


@pytest.mark.parametrize("address", CLOSED)
def test_the_operator_opens_everything(address: str) -> None:
    assert is_open(ip_address(address), WebhookRules(allow_private=True).networks)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "HTTPS://Example.COM:8443/a/b?c=d&e=%20",
        "https://xn--ao-xja.example/",
        "https://a_b.example.com./x",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]:443/x",
        "https://example.com/" + "x" * (URL_LENGTH - 20),
    ],
)
def test_urls_that_will_do(url: str) -> None:
    assert fault_of_url(url, STRICT) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.com/", "https://"),
        ("ftp://example.com/", "https://"),
        ("file:///etc/passwd", "https://"),
        ("javascript:alert(1)", "https://"),
        ("example.com", "https://"),
        ("", "visible"),
        ("https://", "no host"),
        ("https:///x", "no host"),
        ("https://:80/", "no host"),
        ("https://ana:secret@example.com/", "user name"),
        ("https://ana@example.com/", "user name"),
        ("https://@example.com/", "user name"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com/#", "fragment"),
        ("https://example.com:0/", "port 0"),
        ("https://example.com:99999/", "port"),
        ("https://example.com:x/", "port"),
        ("https://exa mple.com/", "visible"),
        ("https://example.com/a\r\nX: y", "visible"),
        ("https://example.com/\x00", "visible"),
        ("https://año.example/", "visible"),
        ("https://example.com\\@127.0.0.1/", "visible"),
        ("https://example.com/" + "x" * (URL_LENGTH - 19), "2049"),
        ("https://127.0.0.1/", "public"),
        ("https://[::1]/", "public"),
        ("https://[::ffff:7f00:1]/", "public"),
        ("https://[fe80::1%25eth0]/", "interface"),
        ("https://169.254.169.254/latest/meta-data/", "public"),
        ("https://localhost/", "machine"),
        ("https://LOCALHOST./", "machine"),
        ("https://a.localhost/", "machine"),
        ("https://2130706433/", "numbers"),
        ("https://127.1/", "numbers"),
        ("https://0x7f.1/", "numbers"),
        ("https://0x7f000001/", "numbers"),
        ("https://0177.0.0.1/", "numbers"),
        ("https://127.0.0.1./", "numbers"),
        ("https://[example]/", "read"),
        ("https://[v1.a]/", "no host"),
        ("https://-example.com/", "no host"),
        ("https://example..com/", "no host"),
    ],
)
def test_urls_that_will_not_do_are_told_why(url: str, words: str) -> None:
    assert words in (fault_of_url(url, STRICT) or "accepted")


def test_what_is_allowed_is_taken() -> None:
    rules = WebhookRules(allow_http=True, allow_networks=("127.0.0.0/8",))
    for url in ("http://127.0.0.1:8080/hook", "http://localhost:1/"):
        assert fault_of_url(url, rules) is None
    assert "public" in (fault_of_url("http://10.0.0.1/", rules) or "")
    assert fault_of_url("https://10.0.0.1/", WebhookRules(allow_private=True)) is None


def test_a_secret_is_long_random_and_usable_as_text() -> None:
    first, second = new_webhook_secret(), new_webhook_secret()
    assert first != second
    prefix, key = first[:6], base64.b64decode(first[6:], validate=True)
    assert (prefix, 24 <= len(key) <= 64, key.decode().isprintable()) == ("whsec_", True, True)
